/**
 * The triggers of an MCP server. `notify` sends an event to every subscription that matches it. When
 * it resolves, the event is stored and will be delivered. With the memory storage, it has already been
 * delivered.
 */
import { type ConfigureContext, callOnUnsubscribe, configure, publicView } from "./configure.ts";
import { connectionIdOf, type ToolContext } from "./connection-id.ts";
import type { DataOf, Subscription, TriggerDefinition } from "./definition.ts";
import { describeTrigger } from "./describe-trigger.ts";
import { isObject } from "./json.ts";
import { paramsMatch } from "./matches.ts";
import { memoryStorage } from "./memory-storage.ts";
import { createMutex } from "./mutex.ts";
import { createOutbox, type DroppedEvent, type RetriedEvent } from "./outbox.ts";
import { formatIssues } from "./schema.ts";
import type { TriggerStorage } from "./storage.ts";
import { createTools, type TriggerTool } from "./tools.ts";
import { messageOf, TriggerError } from "./trigger-error.ts";

export interface TriggersOptions<Definitions extends readonly TriggerDefinition[]> {
  definitions: Definitions;
  /** Default: `memoryStorage()`, which loses pending events when the process ends. */
  storage?: TriggerStorage;
  /**
   * Keeps a Worker alive until the promise settles. On Cloudflare, pass `waitUntil` of
   * `cloudflare:workers` or of the request's context.
   */
  waitUntil?: (promise: Promise<unknown>) => void;
  fetch?: typeof fetch;
  /**
   * Returns the id of the connection that calls a tool. Default: the claim `connectionId` of the JWT
   * in the header `x-mesh-token`.
   */
  connectionId?: (context: ToolContext) => string | undefined | Promise<string | undefined>;
  /** Returns whether events may be sent to this URL. Default: any http or https URL is allowed. */
  allowCallback?: (url: URL) => boolean | Promise<boolean>;
  /** Called when an event is given up. Default: `onError` gets an error. */
  onDropped?: (event: DroppedEvent) => unknown;
  /** Called when an attempt has failed and will be repeated. */
  onRetry?: (event: RetriedEvent) => unknown;
  /** Called with errors that no caller gets, such as errors of the storage. Default: they are logged. */
  onError?: (error: unknown) => void;
  /** The maximum number of parallel requests; default 8. Requests of one subscription are sequential. */
  concurrency?: number;
  /** The time limit of a request; default 15 s. */
  timeoutMs?: number;
  /** The first and the longest delay between attempts; default 1 s and 5 minutes. */
  retry?: { firstMs: number; maxMs: number };
  /** An event is given up if it could not be delivered in this time; default 7 days. */
  keepMs?: number;
  /** How many deliveries may be pending; default 10,000. Above this number, `notify` rejects. */
  maxPending?: number;
  now?: () => number;
  random?: () => number;
}

export interface NotifyResult {
  /** The id of the event. */
  id: string;
  /** The number of subscriptions that get the event. */
  subscriptions: number;
}

export interface Triggers<Definitions extends readonly TriggerDefinition[]> {
  /** `for (const { name, config, handler } of tools()) server.registerTool(name, config, handler)` */
  tools(): TriggerTool[];
  /**
   * Sends an event to the subscriptions of a connection whose type and params match. Resolves when the
   * event is stored; with the memory storage, when it is delivered.
   *
   * @param options.id The id of the event; default: a random UUID. Pass an id if you may call `notify`
   * twice for the same event, so that receivers can ignore the repeat.
   */
  notify<Type extends Definitions[number]["type"]>(
    connectionId: string,
    type: Type,
    data: DataOf<Extract<Definitions[number], { type: Type }>>,
    options?: { id?: string },
  ): Promise<NotifyResult>;
  /**
   * Returns the connections with subscriptions to a type, or to any type. Use it for events that
   * concern all connections.
   */
  connections(type?: Definitions[number]["type"]): Promise<string[]>;
  /** Returns the subscriptions of one connection or of all, for example to resume polling after a restart. */
  subscriptions(connectionId?: string): Promise<Subscription[]>;
  /** Delivers the events that are due. Returns the number of deliveries left, and when the next is due. */
  flush(): Promise<{ pending: number; nextAt: Date | undefined }>;
  /** Stops delivering after the requests in flight. Pending events stay in the storage. */
  close(): Promise<void>;
}

export function createTriggers<const Definitions extends readonly TriggerDefinition[]>(
  options: TriggersOptions<Definitions>,
): Triggers<Definitions> {
  const definitions = checkDefinitions(options.definitions);
  const {
    storage = memoryStorage(),
    connectionId: identify = connectionIdOf,
    onError = (error) => console.error("[triggers]", error),
    now = Date.now,
  } = options;
  const outbox = createOutbox({
    storage,
    fetch: options.fetch ?? ((...request) => fetch(...request)),
    waitUntil: options.waitUntil,
    concurrency: options.concurrency ?? 8,
    timeoutMs: options.timeoutMs ?? 15_000,
    retry: options.retry ?? { firstMs: 1000, maxMs: 300_000 },
    keepMs: options.keepMs ?? 7 * 24 * 3600_000,
    maxPending: options.maxPending ?? 10_000,
    now,
    random: options.random ?? Math.random,
    onDropped:
      options.onDropped ??
      (({ id, type, reason, message }) =>
        onError(new Error(`event ${id} (${type}) was given up (${reason}): ${message}`))),
    onRetry: options.onRetry ?? (() => {}),
    onError,
    onGone: (subscription) => callOnUnsubscribe(subscription, { definitions, onError }),
  });
  const context: ConfigureContext = {
    definitions,
    storage,
    outbox,
    now,
    allowCallback: options.allowCallback ?? (() => true),
    onError,
  };
  const lock = createMutex();
  const descriptions = [...definitions.values()].map(describeTrigger);
  // Delivers the events that a former process has stored.
  if (storage.isDurable) outbox.wake();

  async function store(connectionId: string, type: string, data: unknown, customId?: string) {
    const definition = definitions.get(type);
    if (!definition)
      throw new TriggerError(
        "unknown_type",
        `unknown trigger type "${type}": add it to definitions`,
      );
    const payload = await parsePayload(definition, data);
    const body = toJson(type, payload);
    const matching = (await storage.listSubscriptions(connectionId)).filter(
      (subscription) =>
        subscription.type === type &&
        (definition.matches?.(subscription.params, body) ?? paramsMatch(subscription.params, body)),
    );
    const id = customId ?? crypto.randomUUID();
    const createdAt = now();
    const timestamp = new Date(createdAt).toISOString();
    const { delivered } = await outbox.add(
      matching.map(({ key }) => ({
        connectionId,
        subscription: key,
        id,
        type,
        body: JSON.stringify({ type, data: body, id, timestamp }),
        createdAt,
      })),
    );
    return { delivered, result: { id, subscriptions: matching.length } };
  }

  return {
    tools: () =>
      createTools(
        descriptions,
        async (request, toolContext) => {
          const connectionId = await identify((toolContext ?? {}) as ToolContext);
          if (!connectionId) throw new TriggerError("no_connection", "Connection ID not available");
          await lock(connectionId, () => configure(connectionId, request, context));
        },
        storage.isDurable,
      ),

    notify(connectionId, type, data, { id } = {}) {
      const stored = store(connectionId, type, data, id);
      const result = stored.then(async ({ delivered, result }) => {
        await delivered;
        return result;
      });
      // If the event is stored but its delivery fails, a caller that ignores the promise gets no
      // unhandled rejection. `onDropped` reports the failure.
      stored.then(
        () => result.catch(() => {}),
        () => {},
      );
      return result;
    },

    async connections(type) {
      const all = await storage.listSubscriptions();
      const matching = all.filter(
        (subscription) => type === undefined || subscription.type === type,
      );
      return [...new Set(matching.map(({ connectionId }) => connectionId))];
    },

    async subscriptions(connectionId) {
      return (await storage.listSubscriptions(connectionId)).map(publicView);
    },

    async flush() {
      outbox.wake();
      await outbox.settle();
      const { count, nextAt } = await storage.pending();
      return { pending: count, nextAt: nextAt === undefined ? undefined : new Date(nextAt) };
    },

    close: () => outbox.close(),
  };
}

function checkDefinitions(
  definitions: readonly TriggerDefinition[],
): Map<string, TriggerDefinition> {
  const byType = new Map<string, TriggerDefinition>();
  for (const definition of definitions) {
    const { type, sample, payload } = definition;
    if (!type) throw new TriggerError("bad_definition", "type must be a non-empty string");
    if (byType.has(type))
      throw new TriggerError("bad_definition", `two definitions have the type "${type}"`);
    const issues = sample && payload?.safeParse(sample).error?.issues;
    if (issues)
      throw new TriggerError(
        "bad_definition",
        `the sample of "${type}" does not match its payload: ${formatIssues("sample", issues)}`,
      );
    byType.set(type, definition);
  }
  return byType;
}

async function parsePayload({ type, payload }: TriggerDefinition, data: unknown): Promise<object> {
  if (!isObject(data)) throw new TriggerError("bad_data", `data of "${type}" must be an object`);
  if (!payload) return data;
  const parsed = await payload.safeParseAsync(data);
  if (parsed.success) return parsed.data;
  throw new TriggerError(
    "bad_data",
    `invalid data of "${type}": ${formatIssues("data", parsed.error.issues)}`,
  );
}

function toJson(type: string, data: object): object {
  try {
    return JSON.parse(JSON.stringify(data)) as object;
  } catch (cause) {
    const message = `data of "${type}" cannot be sent as JSON: ${messageOf(cause)}`;
    throw new TriggerError("bad_data", message, { cause });
  }
}
