/** Checks the triggers of any MCP server, over HTTP. */
import { isObject } from "../json.ts";
import { messageOf } from "../trigger-error.ts";
import { type Callback, type CallbackReceiver, openCallbackReceiver } from "./callback-receiver.ts";
import { assert, type CheckContext, type Connection, checks, Skip } from "./checks.ts";
import { exampleParams, type ListedTrigger, readTrigger, type Values } from "./listed-trigger.ts";
import { type McpCalls, openMcpCalls } from "./mcp-calls.ts";

export interface TestTriggersOptions {
  /**
   * Makes the server send an event of this type, with these values in its data, to a connection.
   * Without `fire`, callbacks are not checked. The checks wait for the promise that it returns.
   */
  fire?: (event: { connectionId: string; type: string; params: Values }) => unknown;
  /** The trigger to test; default: the first one of TRIGGER_LIST. */
  type?: string;
  /** Values of the trigger's params; default: example values of the required params. */
  params?: Values;
  /** Headers of each request, such as `authorization`. */
  headers?: Record<string, string>;
  /** The address at which callbacks are received; default: a free port of 127.0.0.1. */
  callback?: { host?: string; port?: number; publicUrl?: string };
  /** How long `fire` and an expected callback may take; default 10 s. */
  waitMs?: number;
  /** How long a check waits to be sure that no callback arrives; default 1 s. */
  quietMs?: number;
  /** Called with each line of the report; default: `console.log`. */
  print?: (line: string) => void;
}

export interface CheckResult {
  name: string;
  status: "passed" | "failed" | "skipped";
  /** The reason why the check failed or was skipped. */
  message?: string;
}

export interface TriggersReport {
  /** True if no check failed. */
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
    const server = await inspectServer(url, options);
    for (const { name, needsFire, run } of checks) {
      if (needsFire && !options.fire) {
        report({ name, status: "skipped", message: "pass `fire` to check callbacks" });
        continue;
      }
      const { context, end } = createCheckContext(server, receiver, options);
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
    report({ name: "responds to MCP requests", status: "failed", message: messageOf(error) });
  } finally {
    await receiver.close();
  }
  const count = (status: CheckResult["status"]) =>
    results.filter((result) => result.status === status).length;
  print(`${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`);
  return { ok: count("failed") === 0, checks: results };
}

type InspectedServer = Pick<
  CheckContext,
  "tools" | "list" | "trigger" | "triggers" | "params" | "acceptsSubscriptionIds"
> & { mcp: McpCalls };

async function inspectServer(url: string, options: TestTriggersOptions): Promise<InspectedServer> {
  const mcp = await openMcpCalls(url, options.headers ?? {});
  const tools = await mcp.listTools();
  const list = await mcp.callTool("TRIGGER_LIST", {}, { "x-mesh-token": meshToken("test") });
  const triggers = readTriggers(list.result.triggers);
  const listed = options.type ? triggers.find(({ type }) => type === options.type) : triggers[0];
  if (options.type) assert(listed, `TRIGGER_LIST has no type "${options.type}"`);
  // Without triggers, the check of TRIGGER_LIST reports the problem.
  const trigger = listed ?? { type: "unknown", description: "", params: [], sample: undefined };
  const inputProperties = tools.find(({ name }) => name === "TRIGGER_CONFIGURE")?.inputSchema
    .properties;
  return {
    mcp,
    tools,
    list,
    triggers,
    trigger,
    params: { ...exampleParams(trigger), ...options.params },
    acceptsSubscriptionIds: isObject(inputProperties) && "subscriptionId" in inputProperties,
  };
}

/** Parses the entries that have the format of the contract. A check reports the others. */
const readTriggers = (entries: unknown): ListedTrigger[] =>
  (Array.isArray(entries) ? entries : []).flatMap((entry) => {
    try {
      return [readTrigger(entry)];
    } catch {
      return [];
    }
  });

/** Returns a JWT without a valid signature: servers decode the token, and do not verify it. */
const meshToken = (connectionId: string): string => {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${encode({ alg: "HS256", typ: "JWT" })}.${encode({ connectionId })}.test`;
};

/** Each check gets a context with new connections and tokens. `end` disables what it has enabled. */
function createCheckContext(
  { mcp, ...server }: InspectedServer,
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
  let expectedCount = 0;
  let fireError: Error | undefined;

  const startFire = (connectionId: string) => {
    let hasEnded = false;
    const call = async () => fire?.({ connectionId, type: trigger.type, params });
    call()
      .catch((error) => {
        fireError = new Error(`fire failed: ${messageOf(error)}`, { cause: error });
      })
      .finally(() => {
        hasEnded = true;
      });
    return async () => {
      await waitFor(() => hasEnded, waitMs);
      if (fireError) throw fireError;
      assert(hasEnded, describeFireTimeout());
    };
  };
  const describeFireTimeout = () => {
    const { length } = received();
    const cause =
      length === 0
        ? `no callback arrived: if \`fire\` waits for the delivery, the server may be unable to reach ${receiver.url} (see the option \`callback\`)`
        : `the number of callbacks that arrived is ${length}: \`fire\` may wait for a callback that this check has not accepted, or for something else`;
    return `the promise of \`fire\` did not resolve within ${waitMs / 1000} s, and ${cause}`;
  };

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
          ...(server.acceptsSubscriptionIds ? { subscriptionId: "main" } : {}),
          ...change,
        },
        { "x-mesh-token": meshToken(connectionId), ...headers },
      );
    const configureSuccessfully = async (change: object) => {
      const { isError, text, result } = await configure(change);
      assert(!isError, `TRIGGER_CONFIGURE failed: ${text}`);
      assert(result.success === true, `TRIGGER_CONFIGURE returned ${text}, not {"success":true}`);
    };
    const disable: Connection["disable"] = (change = {}) =>
      configureSuccessfully({
        callbackUrl: undefined,
        callbackToken: undefined,
        ...change,
        enabled: false,
      });
    return {
      configure,
      disable,
      async enable(change = {}) {
        cleanups.push(() => disable(change));
        await configureSuccessfully(change);
      },
      fire: () => startFire(connectionId)(),
      startFire: () => startFire(connectionId),
    };
  };

  /** Returns false if the condition is still false after `ms`. */
  const waitFor = async (condition: () => boolean, ms: number): Promise<boolean> => {
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
    receivedWithoutToken: () => receiver.received.filter((callback) => !isOwn(callback)),
    respondWith(status) {
      receiver.answer = (callback) => (isOwn(callback) ? status(callback) : 410);
    },
    async waitForCallbacks(count, token) {
      const matching = () =>
        received().filter((callback) => token === undefined || callback.token === token);
      const hasEnough = () => matching().length >= count;
      await waitFor(() => hasEnough() || fireError !== undefined, waitMs);
      if (fireError) throw fireError;
      assert(hasEnough(), `callback ${count} did not arrive within ${waitMs / 1000} s`);
      expectedCount = received().length;
      return matching();
    },
    async expectNoCallback(problem) {
      // A callback without any token is counted too, because it may be one of this check.
      const candidates = () =>
        receiver.received.filter((callback) => isOwn(callback) || !callback.token);
      const hasArrived = await waitFor(() => candidates().length > expectedCount, quietMs);
      assert(!hasArrived, problem);
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
