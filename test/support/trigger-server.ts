/**
 * A stand-in for MCP servers of the published trigger package, on loopback. It speaks the wire that was
 * observed on a real server (the section "Observed" of the contract): see stories/trigger-wire.test.ts.
 * Started as a program, it is a separate process that a test can kill. A second HTTP port controls it.
 */
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type JsonObject = Record<string, unknown>;

/** What happens to the next calls of `TRIGGER_CONFIGURE`, or of `TRIGGER_LIST` for `check`. */
export interface Switches {
  /** `no`: `{ success: false }`. `error`: `isError`. */
  answer: "yes" | "no" | "error";
  /** Holds the response until the switch changes: before or after the call took effect, or the check. */
  hold: "never" | "check" | "before" | "after";
  /** Ends the process, without a response. */
  crash: "never" | "before" | "after";
  /** Only calls for this type are affected; all if undefined. */
  type?: string;
}

export interface ReceivedCall {
  connection: string | undefined;
  arguments: JsonObject;
}

interface Credentials {
  callbackUrl: string;
  callbackToken: string;
}

/** What the server keeps for a connection. */
interface Kept {
  credentials?: Credentials;
  types: string[];
  /** Only for servers with `perSubscription`. */
  subscriptions: Record<string, Credentials & { type: string; params: Record<string, string> }>;
}

export interface ControlState {
  kept: Record<string, Kept>;
  calls: ReceivedCall[];
  /** The calls of the tool COUNT. */
  counted: { n: unknown; key: unknown }[];
  /** The number of requests whose responses are held. */
  held: number;
}

export interface SentCallback {
  status: number;
  body: unknown;
}

export interface TriggerServerOptions {
  port?: number;
  /** A file that keeps the state. Without it, a restart forgets everything. */
  file?: string | undefined;
  /** Accept `subscriptionId`, and filter by type and params. */
  perSubscription?: boolean;
  types?: readonly string[];
}

const TYPES = ["issue.opened", "issue.closed"];
const ALWAYS: Switches = { answer: "yes", hold: "never", crash: "never" };

export async function openTriggerServer(options: TriggerServerOptions = {}) {
  const { port = 0, file, perSubscription = false, types = TYPES } = options;
  const kept = new Map<string, Kept>(file ? readState(file) : []);
  const calls: ReceivedCall[] = [];
  const counted: ControlState["counted"] = [];
  let switches = ALWAYS;
  const held = new Set<() => void>();

  const hold = async (point: Switches["hold"], type?: string): Promise<void> => {
    while (switches.hold === point && isAffected(type))
      await new Promise<void>((resolve) => held.add(resolve));
  };
  const isAffected = (type: string | undefined) =>
    switches.type === undefined || switches.type === type;
  const crash = (point: Switches["crash"], type: string) => {
    if (switches.crash === point && isAffected(type)) process.kill(process.pid, "SIGKILL");
  };

  const configure = async (connection: string, args: JsonObject): Promise<JsonObject> => {
    const type = String(args.type);
    await hold("before", type);
    crash("before", type);
    if (isAffected(type) && switches.answer === "error")
      return toolError("The quota of webhooks is used up.");
    if (isAffected(type) && switches.answer === "no") return toolResult({ success: false });
    keep(connection, args, type);
    if (file) writeFileSync(file, JSON.stringify([...kept]));
    crash("after", type);
    await hold("after", type);
    return toolResult({ success: true });
  };
  const keep = (connection: string, args: JsonObject, type: string) => {
    const { callbackUrl, callbackToken, enabled, subscriptionId, params } = args;
    const found = kept.get(connection) ?? { types: [], subscriptions: {} };
    kept.set(connection, found);
    const given = callbackUrl && callbackToken;
    const credentials = { callbackUrl: String(callbackUrl), callbackToken: String(callbackToken) };
    if (perSubscription && subscriptionId !== undefined) {
      const id = String(subscriptionId);
      if (!enabled) delete found.subscriptions[id];
      else
        found.subscriptions[id] = {
          ...(given ? credentials : (found.subscriptions[id] as Credentials)),
          type,
          params: params as Record<string, string>,
        };
      return;
    }
    // One credential per connection: the last one replaces the former.
    if (enabled && given) found.credentials = credentials;
    found.types = found.types.filter((one) => one !== type);
    if (enabled) found.types.push(type);
    if (found.types.length === 0) kept.delete(connection);
  };

  const callTool = (connection: string | undefined, params: JsonObject) => {
    const args = (params.arguments ?? {}) as JsonObject;
    if (params.name === "TRIGGER_LIST") return toolResult({ triggers: types.map(offer) });
    if (params.name === "COUNT") {
      const meta = (params._meta ?? {}) as JsonObject;
      counted.push({ n: args.n, key: meta["signalbox/idempotency-key"] });
      return toolResult({ count: counted.length });
    }
    if (params.name !== "TRIGGER_CONFIGURE")
      return toolError(`MCP error -32602: Tool ${params.name} not found`);
    calls.push({ connection, arguments: args });
    const problem = problemOf(args);
    if (problem)
      return toolError(
        `MCP error -32602: Input validation error: Invalid arguments for tool TRIGGER_CONFIGURE: ${problem}`,
      );
    if (connection === undefined) return toolError("Connection ID not available");
    return configure(connection, args);
  };

  const mcp = createServer((request, response) => {
    serveMcp(request, response).catch((error: Error) => {
      response.writeHead(500, { "content-type": "text/plain" }).end(String(error.message));
    });
  });
  const serveMcp = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const connection = connectionOf(request.headers["x-mesh-token"]);
    const { id, method, params = {} } = JSON.parse(await readText(request));
    if (id === undefined) return void response.writeHead(202).end();
    const answer = async (): Promise<JsonObject> => {
      switch (method) {
        case "initialize":
          return {
            result: {
              protocolVersion: params.protocolVersion ?? "2025-06-18",
              capabilities: { tools: {} },
              serverInfo: { name: "stand-in", version: "1.6.0" },
            },
          };
        case "ping":
          return { result: {} };
        case "tools/list":
          await hold("check");
          return { result: { tools: tools(perSubscription) } };
        case "tools/call":
          return { result: await callTool(connection, params) };
        default:
          return { error: { code: -32601, message: "Method not found" } };
      }
    };
    const message = { jsonrpc: "2.0", id, ...(await answer()) };
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    response.end(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  };

  /**
   * Sends an event to every connection, as the package does: no id, no filter, no retry. Servers with
   * `subscriptionId` send an id, the same to all subscriptions.
   */
  const notify = async (type: string, data: JsonObject): Promise<SentCallback[]> => {
    const receivers = [...kept.values()].flatMap(({ credentials, subscriptions }) => [
      ...(credentials ? [credentials] : []),
      ...Object.values(subscriptions).filter(
        (one) =>
          one.type === type &&
          Object.entries(one.params).every(([name, value]) => String(data[name]) === value),
      ),
    ]);
    const id = perSubscription ? { id: randomUUID() } : {};
    return Promise.all(
      receivers.map(async ({ callbackUrl, callbackToken }) => {
        const response = await fetch(callbackUrl, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            authorization: `Bearer ${callbackToken}`,
          },
          body: JSON.stringify({ type, data, ...id }),
        });
        const text = await response.text();
        return { status: response.status, body: text === "" ? null : JSON.parse(text) };
      }),
    );
  };
  const control = createServer((request, response) => {
    const serve = async (): Promise<unknown> => {
      const body = JSON.parse((await readText(request)) || "{}");
      if (request.url === "/notify") return notify(body.type, body.data);
      if (request.url === "/switch") {
        switches = { ...ALWAYS, ...body };
        for (const resume of held) resume();
        held.clear();
      }
      if (request.url === "/forget") kept.clear();
      return {
        kept: Object.fromEntries(kept),
        calls,
        counted,
        held: held.size,
      } satisfies ControlState;
    };
    serve().then(
      (result) => response.end(JSON.stringify(result)),
      (error: Error) => response.writeHead(500).end(String(error.stack)),
    );
  });

  const url = `${await listen(mcp, port)}/mcp`;
  return {
    url,
    controlUrl: await listen(control, 0),
    close() {
      for (const server of [mcp, control]) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

const toolResult = (structuredContent: JsonObject): JsonObject => ({
  content: [{ type: "text", text: JSON.stringify(structuredContent) }],
  structuredContent,
});
const toolError = (text: string): JsonObject => ({
  isError: true,
  content: [{ type: "text", text }],
});

const offer = (type: string) => ({
  type,
  description: `Fires when ${type} happens.`,
  paramsSchema: {
    repo: { type: "string", description: "Only this repository." },
    // An optional enum with a description: the package loses both.
    label: { type: "string" },
  },
});

const tools = (perSubscription: boolean) => [
  {
    name: "COUNT",
    description: "Counts its calls.",
    inputSchema: { type: "object", properties: { n: {} } },
  },
  {
    name: "TRIGGER_LIST",
    description: "Lists the triggers.",
    inputSchema: { type: "object", properties: {} },
  },
  {
    name: "TRIGGER_CONFIGURE",
    description: "Configures a trigger.",
    inputSchema: {
      type: "object",
      properties: {
        type: { type: "string" },
        params: { type: "object", additionalProperties: { type: "string" } },
        enabled: { type: "boolean" },
        callbackUrl: { type: "string", format: "uri" },
        callbackToken: { type: "string", minLength: 1 },
        ...(perSubscription && { subscriptionId: { type: "string" } }),
      },
      required: ["type", "params", "enabled"],
    },
  },
];

function problemOf({ type, params, enabled, callbackUrl, callbackToken }: JsonObject) {
  if (typeof type !== "string") return "type: expected string";
  if (typeof params !== "object" || params === null) return "params: expected record";
  for (const [name, value] of Object.entries(params))
    if (typeof value !== "string") return `params.${name}: expected string`;
  if (typeof enabled !== "boolean") return "enabled: expected boolean";
  if (callbackUrl !== undefined && !URL.canParse(String(callbackUrl)))
    return "callbackUrl: Invalid URL";
  return callbackToken === "" ? "callbackToken: too short" : undefined;
}

/** The token is decoded, not verified. A value that is no JWT fails the request. */
function connectionOf(token: string | string[] | undefined): string | undefined {
  if (token === undefined) return undefined;
  const payload = String(token).split(".")[1];
  if (payload === undefined) throw new Error("Invalid JWT");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
  return claims.connectionId ?? claims.metadata?.connectionId;
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function readState(file: string): [string, Kept][] {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return [];
  }
}

async function listen(server: Server, port: number): Promise<string> {
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

if (import.meta.main) {
  const { url, controlUrl } = await openTriggerServer(JSON.parse(process.argv[2] ?? "{}"));
  console.log(JSON.stringify({ url, controlUrl }));
}
