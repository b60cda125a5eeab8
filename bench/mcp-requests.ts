/**
 * MCP requests exactly as the SDK's client sends them. A proxy records the bytes of one call; the
 * load generator replays them with other ids and arguments.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { LoadPlan } from "./load.ts";

const PROTOCOL_VERSION = "2026-07-28";
/** Eight characters, which the load generator replaces. */
const ID = "00000000";

export interface ToolCall {
  name: string;
  arguments: Record<string, unknown>;
}

export interface RecordedCall {
  /** The request of the call itself, without the handshake. */
  head: string;
  body: string;
  result: Awaited<ReturnType<Client["callTool"]>>;
}

export async function recordCall(
  port: number,
  token: string,
  call: ToolCall,
  path = "/mcp",
): Promise<RecordedCall> {
  let sent = "";
  const proxy = createServer((socket) => {
    const server = connect(port, "127.0.0.1");
    socket.on("data", (chunk) => {
      sent += chunk.toString("latin1");
    });
    socket.pipe(server).pipe(socket);
    for (const side of [socket, server]) side.on("error", () => socket.destroy());
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const proxyPort = (proxy.address() as AddressInfo).port;
  const client = new Client(
    { name: "bench", version: "1" },
    { versionNegotiation: { mode: { pin: PROTOCOL_VERSION } } },
  );
  try {
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${proxyPort}${path}`), {
        requestInit: { headers: { authorization: `Bearer ${token}` } },
      }),
    );
    await client.listTools(); // otherwise the client lists the tools during the call
    sent = "";
    const result = await client.callTool(call);
    if (result.isError) throw new Error(`${call.name} returned ${JSON.stringify(result)}`);
    const at = sent.indexOf("POST /mcp");
    const end = sent.indexOf("\r\n\r\n", at);
    const head = sent.slice(at, end).replaceAll(`127.0.0.1:${proxyPort}`, `127.0.0.1:${port}`);
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1]);
    return { head, body: sent.slice(end + 4, end + 4 + length), result };
  } finally {
    await client.close();
    proxy.close();
  }
}

/** Returns one request for each set of arguments. The load generator replaces its id. */
export function toTemplates(
  { head, body }: Pick<RecordedCall, "head" | "body">,
  argumentLists: readonly ToolCall["arguments"][],
): LoadPlan["templates"] {
  const message = JSON.parse(body) as { id: unknown; params: ToolCall };
  return argumentLists.map((args) => {
    const changedBody = JSON.stringify({
      ...message,
      id: ID,
      params: { ...message.params, arguments: args },
    });
    const request = `${head.replace(/(\r\ncontent-length: *)\d+/i, `$1${changedBody.length}`)}\r\n\r\n${changedBody}`;
    return { request: Buffer.from(request, "latin1"), idAt: request.indexOf(`"${ID}"`) + 1 };
  });
}
