/** A small HTTP server that receives callbacks and records them. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Callback {
  method: string;
  contentType: string;
  /** The token of the header `Authorization: Bearer`. */
  token: string | undefined;
  /** The JSON body; undefined if it is not JSON. */
  body: { type?: unknown; data?: unknown; id?: unknown; timestamp?: unknown } | undefined;
}

type Answer = number | { status: number; headers?: Record<string, string> };

export interface CallbackReceiver {
  url: string;
  received: Callback[];
  /** Returns the status and headers of the response. Tests can replace it; the default returns 202. */
  answer: (callback: Callback) => Answer | Promise<Answer>;
  close(): Promise<void>;
}

export async function openCallbackReceiver(
  listen: { host?: string; port?: number; publicUrl?: string } = {},
): Promise<CallbackReceiver> {
  const host = listen.host ?? "127.0.0.1";
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const callback: Callback = {
      method: request.method ?? "",
      contentType: request.headers["content-type"] ?? "",
      token: /^Bearer (.+)$/i.exec(request.headers.authorization ?? "")?.[1],
      body: parseJson(Buffer.concat(chunks).toString()),
    };
    receiver.received.push(callback);
    const answer = await receiver.answer(callback);
    const { status, headers = {} } = typeof answer === "number" ? { status: answer } : answer;
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify({ ok: status < 300 }));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(listen.port ?? 0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const receiver: CallbackReceiver = {
    url: listen.publicUrl ?? `http://${host}:${port}/callback`,
    received: [],
    answer: () => 202,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

function parseJson(text: string): Callback["body"] {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
