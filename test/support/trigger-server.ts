/**
 * A stand-in, on the loopback address, for MCP servers that use the published trigger package. Its protocol is
 * that of a real server: see stories/trigger-wire.test.ts. It can run as a program, which a test can kill. A
 * test controls it over a second HTTP port.
 */
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type JsonObject = Record<string, unknown>;

/** How the server handles the next calls of `TRIGGER_CONFIGURE`. Only `hold: "check"` affects `tools/list`. */
export interface Switches {
  /** `no` returns `{ success: false }`. `error` returns a result with `isError`. */
  answer: "yes" | "no" | "error";
  /**
   * Holds back a response until the switches change: `before` or `after` the call takes effect, or the response
   * to `tools/list`, with which a `check` of a connection starts.
   */
  hold: "never" | "check" | "before" | "after";
  /** Ends the process without a response, before or after the call takes effect. */
  crash: "never" | "before" | "after";
  /** Affects only calls for this trigger type. If undefined, all calls are affected. */
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

/** The state that the server stores for a connection. */
interface ConnectionState {
  credentials?: Credentials;
  types: string[];
  /** Only for servers with `perSubscription`. */
  subscriptions: Record<string, Credentials & { type: string; params: Record<string, string> }>;
}

export interface ControlState {
  connections: Record<string, ConnectionState>;
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
  /** A file that stores the state. Without it, a restart loses the state. */
  file?: string | undefined;
  /** Whether the server accepts `subscriptionId`, and filters events by type and params. */
  perSubscription?: boolean;
  types?: readonly string[];
  /** Whether the server says that it stores its subscriptions. */
  reportsStored?: boolean;
}

const TYPES = ["issue.opened", "issue.closed"];
const DEFAULT_SWITCHES: Switches = { answer: "yes", hold: "never", crash: "never" };

export async function openTriggerServer(options: TriggerServerOptions = {}) {
  const { port = 0, file, perSubscription = false, types = TYPES, reportsStored } = options;
  const connections = new Map<string, ConnectionState>(file ? readState(file) : []);
  const calls: ReceivedCall[] = [];
  const counted: ControlState["counted"] = [];
  let switches = DEFAULT_SWITCHES;
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
    storeSubscription(connection, args, type);
    if (file) writeFileSync(file, JSON.stringify([...connections]));
    crash("after", type);
    await hold("after", type);
    return toolResult({ success: true, ...(reportsStored && { stored: true }) });
  };
  const storeSubscription = (connection: string, args: JsonObject, type: string) => {
    const { callbackUrl, callbackToken, enabled, subscriptionId, params } = args;
    const state = connections.get(connection) ?? { types: [], subscriptions: {} };
    connections.set(connection, state);
    const hasCredentials = callbackUrl && callbackToken;
    const credentials = { callbackUrl: String(callbackUrl), callbackToken: String(callbackToken) };
    if (perSubscription && subscriptionId !== undefined) {
      const id = String(subscriptionId);
      if (!enabled) delete state.subscriptions[id];
      else
        state.subscriptions[id] = {
          ...(hasCredentials ? credentials : (state.subscriptions[id] as Credentials)),
          type,
          params: params as Record<string, string>,
        };
      return;
    }
    // A connection has one credential. A new one replaces it.
    if (enabled && hasCredentials) state.credentials = credentials;
    state.types = state.types.filter((storedType) => storedType !== type);
    if (enabled) state.types.push(type);
    if (state.types.length === 0) connections.delete(connection);
  };

  const callTool = (connection: string | undefined, params: JsonObject) => {
    const args = (params.arguments ?? {}) as JsonObject;
    if (params.name === "TRIGGER_LIST") return toolResult({ triggers: types.map(describeTrigger) });
    if (params.name === "COUNT") {
      const meta = (params._meta ?? {}) as JsonObject;
      counted.push({ n: args.n, key: meta["signalbox/idempotency-key"] });
      return toolResult({ count: counted.length });
    }
    if (params.name !== "TRIGGER_CONFIGURE")
      return toolError(`MCP error -32602: Tool ${params.name} not state`);
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
          return { result: { tools: listTools(perSubscription) } };
        case "tools/call":
          return { result: await callTool(connection, params) };
        default:
          return { error: { code: -32601, message: "Method not state" } };
      }
    };
    const message = { jsonrpc: "2.0", id, ...(await answer()) };
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    response.end(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  };

  /**
   * Sends an event to every connection, as the package does: without an id, a filter or a retry. With
   * `perSubscription`, sends it to the matching subscriptions, with an id that is the same for all of them.
   */
  const notify = async (type: string, data: JsonObject): Promise<SentCallback[]> => {
    const receivers = [...connections.values()].flatMap(({ credentials, subscriptions }) => [
      ...(credentials ? [credentials] : []),
      ...Object.values(subscriptions).filter(
        (subscription) =>
          subscription.type === type &&
          Object.entries(subscription.params).every(
            ([name, value]) => String(data[name]) === value,
          ),
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
        switches = { ...DEFAULT_SWITCHES, ...body };
        for (const resume of held) resume();
        held.clear();
      }
      if (request.url === "/forget") connections.clear();
      return {
        connections: Object.fromEntries(connections),
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

const describeTrigger = (type: string) => ({
  type,
  description: `Fires when ${type} happens.`,
  paramsSchema: {
    repo: { type: "string", description: "Only this repository." },
    // Declared as an optional enum with a description, which the package reduces to a string.
    label: { type: "string" },
  },
});

const listTools = (perSubscription: boolean) => [
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

/** The token is decoded, not verified. A value that is not a JWT fails the request. */
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

function readState(file: string): [string, ConnectionState][] {
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
