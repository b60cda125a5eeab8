/** The contract kit: checks the triggers of any MCP server over its wire. */
import { isObject } from "../json.ts";
import { messageOf } from "../trigger-error.ts";
import { type Callback, type CallbackReceiver, openCallbackReceiver } from "./callback-receiver.ts";
import { assert, type CheckContext, type Connection, checks, Skip } from "./checks.ts";
import { exampleParams, type ListedTrigger, readTrigger, type Values } from "./listed-trigger.ts";
import { type McpCalls, openMcpCalls } from "./mcp-calls.ts";

export interface TestTriggersOptions {
  /**
   * Makes the server send an event to a connection, of this type and with these values. Without it,
   * callbacks are not checked.
   */
  fire?: (event: { connectionId: string; type: string; params: Values }) => unknown;
  /** The trigger to test; default: the first one of TRIGGER_LIST. */
  type?: string;
  /** Values of its params that an event can have; default: examples of the required ones. */
  params?: Values;
  /** Headers of each request, such as `authorization`. */
  headers?: Record<string, string>;
  /** Where callbacks are received; default: a free port of 127.0.0.1. */
  callback?: { host?: string; port?: number; publicUrl?: string };
  /** How long an expected callback may take; default 10 s. */
  waitMs?: number;
  /** How long an unexpected callback is waited for; default 1 s. */
  quietMs?: number;
  /** Gets each line of the report; default: the console. */
  print?: (line: string) => void;
}

export interface CheckResult {
  name: string;
  status: "passed" | "failed" | "skipped";
  /** Why it failed or was skipped. */
  message?: string;
}

export interface TriggersReport {
  /** Whether no check failed. */
  ok: boolean;
  checks: CheckResult[];
}

const SIGNS = { passed: "✓", failed: "✗", skipped: "–" };

/** `url` is the MCP endpoint, such as `http://127.0.0.1:3000/mcp`. */
export async function testTriggers(
  url: string,
  options: TestTriggersOptions = {},
): Promise<TriggersReport> {
  const { print = console.log } = options;
  const receiver = await openCallbackReceiver(options.callback);
  const results: CheckResult[] = [];
  const report = (result: CheckResult) => {
    results.push(result);
    print(`${SIGNS[result.status]} ${result.name}${result.message ? `: ${result.message}` : ""}`);
  };
  try {
    const server = await inspect(url, options);
    for (const { name, needsFire, run } of checks) {
      if (needsFire && !options.fire) {
        report({ name, status: "skipped", message: "pass `fire` to check callbacks" });
        continue;
      }
      const { context, end } = prepare(server, receiver, options);
      try {
        await run(context);
        report({ name, status: "passed" });
      } catch (error) {
        const status = error instanceof Skip ? "skipped" : "failed";
        report({ name, status, message: messageOf(error) });
      } finally {
        await end();
      }
    }
  } catch (error) {
    report({ name: "answers MCP requests", status: "failed", message: messageOf(error) });
  } finally {
    await receiver.close();
  }
  const count = (status: CheckResult["status"]) =>
    results.filter((result) => result.status === status).length;
  print(`${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`);
  return { ok: count("failed") === 0, checks: results };
}

type Server = Pick<
  CheckContext,
  "tools" | "list" | "trigger" | "triggers" | "params" | "acceptsIds"
> & { mcp: McpCalls };

async function inspect(url: string, options: TestTriggersOptions): Promise<Server> {
  const mcp = await openMcpCalls(url, options.headers ?? {});
  const tools = await mcp.listTools();
  const list = await mcp.callTool("TRIGGER_LIST", {}, { "x-mesh-token": token("test") });
  const triggers = readTriggers(list.result.triggers);
  const trigger = options.type ? triggers.find(({ type }) => type === options.type) : triggers[0];
  if (options.type) assert(trigger, `TRIGGER_LIST has no type "${options.type}"`);
  const found = trigger ?? { type: "unknown", description: "", params: [], sample: undefined };
  const input = tools.find(({ name }) => name === "TRIGGER_CONFIGURE")?.inputSchema.properties;
  return {
    mcp,
    tools,
    list,
    triggers,
    trigger: found,
    params: { ...exampleParams(found), ...options.params },
    acceptsIds: isObject(input) && "subscriptionId" in input,
  };
}

/** Only those that have the form of the contract; a check reports the others. */
const readTriggers = (entries: unknown): ListedTrigger[] =>
  (Array.isArray(entries) ? entries : []).flatMap((entry) => {
    try {
      return [readTrigger(entry)];
    } catch {
      return [];
    }
  });

/** An unsigned JWT: servers decode the token, and do not verify it. */
const token = (connectionId: string): string => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "HS256", typ: "JWT" })}.${part({ connectionId })}.test`;
};

/** A context with connections and tokens of its own; `end` disables what the check has enabled. */
function prepare(
  { mcp, ...server }: Server,
  receiver: CallbackReceiver,
  { fire, waitMs = 10_000, quietMs = 1000 }: TestTriggersOptions,
): { context: CheckContext; end(): Promise<void> } {
  const { trigger, params } = server;
  const prefix = crypto.randomUUID();
  const isOwn = (callback: Callback) => callback.token?.startsWith(`${prefix}-`) === true;
  receiver.received.length = 0;
  receiver.answer = (callback) => (isOwn(callback) ? 202 : 410);
  const received = () => receiver.received.filter(isOwn);
  const cleanups: (() => Promise<void>)[] = [];
  /** How many callbacks the check has waited for. */
  let expected = 0;

  const connect = (name: string): Connection => {
    const connectionId = `test-${name}-${prefix}`;
    const configure: Connection["configure"] = (change, headers) =>
      mcp.callTool(
        "TRIGGER_CONFIGURE",
        {
          type: trigger.type,
          params,
          enabled: true,
          callbackUrl: receiver.url,
          callbackToken: `${prefix}-main`,
          ...(server.acceptsIds ? { subscriptionId: "main" } : {}),
          ...change,
        },
        { "x-mesh-token": token(connectionId), ...headers },
      );
    const succeed = async (change: object) => {
      const { isError, text, result } = await configure(change);
      assert(!isError, `TRIGGER_CONFIGURE failed: ${text}`);
      assert(result.success === true, `TRIGGER_CONFIGURE returned ${text}, not {"success":true}`);
    };
    const disable: Connection["disable"] = (change = {}) =>
      succeed({ callbackUrl: undefined, callbackToken: undefined, ...change, enabled: false });
    return {
      configure,
      disable,
      async enable(change = {}) {
        cleanups.push(() => disable(change));
        await succeed(change);
      },
      async fire() {
        await fire?.({ connectionId, type: trigger.type, params });
      },
    };
  };

  const wait = async (condition: () => boolean, ms: number): Promise<boolean> => {
    const until = Date.now() + ms;
    while (!condition()) {
      if (Date.now() > until) return false;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return true;
  };
  const context: CheckContext = {
    ...server,
    connection: connect("a"),
    otherConnection: connect("b"),
    token: (name) => `${prefix}-${name}`,
    received,
    strays: () => receiver.received.filter((callback) => !isOwn(callback)),
    answer(status) {
      receiver.answer = (callback) => (isOwn(callback) ? status(callback) : 410);
    },
    async arrived(count, wanted) {
      const found = () => received().filter((one) => wanted === undefined || one.token === wanted);
      const isThere = await wait(() => found().length >= count, waitMs);
      assert(isThere, `callback ${count} did not arrive within ${waitMs / 1000} s`);
      expected = received().length;
      return found();
    },
    async quiet(problem) {
      const isThere = await wait(
        () => receiver.received.filter((one) => isOwn(one) || !one.token).length > expected,
        quietMs,
      );
      assert(!isThere, problem);
    },
  };
  return {
    context,
    async end() {
      receiver.answer = () => 410;
      for (const cleanup of cleanups) await cleanup().catch(() => {});
    },
  };
}
