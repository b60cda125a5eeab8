/** Calls MCP servers, and limits the duration, the concurrency and the response size of the calls. */
import type { Json } from "@signalbox/rules/json.ts";
import { createSemaphore, QueueFull } from "../kernel/lib/semaphore.ts";
import type { Timers } from "../kernel/lib/timers.ts";
import { type ClientsOptions, createClients } from "./clients.ts";
import { ConnectionError } from "./connection-error.ts";
import type { CallOptions, Connections } from "./connections.ts";
import { newExchange } from "./exchange.ts";
import { MAX_ANSWER_BYTES, MAX_CALLS, MAX_LIST_BYTES, MAX_QUEUED } from "./limits.ts";
import type { McpClient } from "./mcp-client.ts";
import type { Connection } from "./model.ts";
import { loadOffers } from "./offers.ts";
import { TRIGGER_TOOLS } from "./trigger-list.ts";

export interface ConnectionsOptions extends Pick<ClientsOptions, "open" | "random"> {
  timers: Timers;
  /** Called when a server has lost a session, or a call of a flow has not reached it. */
  onSuspectedRestart(connection: Connection): void;
}

/** Node fires timers with a longer delay immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The field of `_meta` by which a server can recognize a repeated call. */
const IDEMPOTENCY_KEY = "signalbox/idempotency-key";

/** With these, a reverse proxy responds while the server behind it restarts. */
const GATEWAY_STATUSES: ReadonlySet<unknown> = new Set([502, 503, 504]);

const isUnreachable = (error: unknown): boolean =>
  error instanceof ConnectionError &&
  (error.code === "unreachable" ||
    GATEWAY_STATUSES.has((error.cause as { status?: unknown } | undefined)?.status));

/** Drops the cause, which may contain credentials that the server has echoed. The message masks them. */
const withoutCause = (error: unknown) =>
  new ConnectionError(
    error instanceof ConnectionError ? error.code : "unreachable",
    error instanceof Error ? error.message : String(error),
  );

type Limits = Pick<CallOptions, "signal" | "timeoutMs">;

export function createConnections(options: ConnectionsOptions): Connections {
  const { open, timers, random, onSuspectedRestart } = options;
  const clients = createClients({
    open,
    timers,
    random,
    onSessionLost: onSuspectedRestart,
  });
  const semaphore = createSemaphore({ perKey: MAX_CALLS, maxQueued: MAX_QUEUED });

  /**
   * The two lanes have separate concurrency limits, so that tool calls of flows do not delay checks
   * and the configuration of triggers.
   */
  async function run<Result>(
    connection: Connection,
    { signal, timeoutMs }: Limits,
    { lane, isCheck }: { lane: "calls" | "control"; isCheck: boolean },
    work: (client: McpClient, stop: AbortController) => Promise<Result>,
  ): Promise<Result> {
    const stop = new AbortController();
    const onAbort = () =>
      stop.abort(
        signal.reason instanceof ConnectionError
          ? signal.reason
          : new ConnectionError("cancelled", "The call was cancelled.", { cause: signal.reason }),
      );
    const cancelTimeout = timers.after(Math.min(timeoutMs, MAX_TIMER_MS), () =>
      stop.abort(
        new ConnectionError("timeout", `The server did not answer within ${timeoutMs / 1000} s.`),
      ),
    );
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      const key = `${lane} ${connection.id}`;
      const release =
        semaphore.tryAcquire(key) ?? (await semaphore.acquire(key, { signal: stop.signal }));
      try {
        stop.signal.throwIfAborted();
        const useOptions = { signal: stop.signal, isCheck };
        return await clients.use(connection, useOptions, (client) => work(client, stop));
      } finally {
        release();
      }
    } catch (error) {
      if (error instanceof QueueFull)
        throw new ConnectionError(
          "busy",
          `The connection has ${MAX_CALLS} running and ${MAX_QUEUED} waiting calls, which is its limit. Try again later, or limit the concurrency of the flow.`,
        );
      if (lane === "calls" && isUnreachable(error)) onSuspectedRestart(connection);
      throw withoutCause(error);
    } finally {
      cancelTimeout();
      signal.removeEventListener("abort", onAbort);
    }
  }

  return {
    callTool(connection, call, options) {
      const { idempotencyKey, onProgress, beforeSend } = options;
      const isTriggerTool = TRIGGER_TOOLS.has(call.tool);
      const lane = isTriggerTool ? "control" : "calls";
      return run(connection, options, { lane, isCheck: false }, (client, stop) =>
        client.callTool(
          call,
          { ...newExchange(MAX_ANSWER_BYTES, stop), beforeSend },
          {
            meta: idempotencyKey === undefined ? undefined : { [IDEMPOTENCY_KEY]: idempotencyKey },
            onProgress,
          },
        ),
      );
    },
    loadOffers: (connection, options) =>
      run(connection, options, { lane: "control", isCheck: true }, (client, stop) =>
        loadOffers(client, () => newExchange(MAX_LIST_BYTES, stop)),
      ),
    request: (connection, method, params, options) =>
      run(connection, options, { lane: "control", isCheck: false }, (client, stop) =>
        client.request(method, params, newExchange(MAX_ANSWER_BYTES, stop)),
      ) as Promise<Json>,
    disconnect: clients.disconnect,
    close: clients.close,
  };
}
