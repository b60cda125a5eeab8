/**
 * Follows the live stream of a hub. After a lost connection it reconnects with exponential backoff and
 * resumes after the last message, so no event is missed and none is repeated.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createSseParser, type SseMessage } from "@signalbox/bridge/sse-parser";
import type { StreamedEvent } from "@signalbox/contract";
import { backoffMs } from "@signalbox/rules/backoff.ts";
import { CommandFailed } from "./command.ts";
import { causeOf, type HubClient, HubRequestFailed } from "./hub-client.ts";

export type StreamMessage =
  | { kind: "connected" }
  | { kind: "event"; event: StreamedEvent }
  /** Events after the cursor were deleted, or the database was replaced. */
  | { kind: "truncated"; detail: string };

export interface FollowOptions {
  /** Called before each attempt: a hub that was restarted can have another address and token. */
  connect(): HubClient;
  query?: { type?: string | undefined; repo?: string | undefined; source?: string | undefined };
  /** The cursor after which the stream starts; if undefined, it contains only new events. */
  after?: string | undefined;
  /** Also retries if the first connection fails. */
  retriesFirst?: boolean;
  signal: AbortSignal;
  /** Called once per outage. */
  onLost(reason: string): void;
  /** Called when the connection is open again after an outage. */
  onBack(): void;
  /** The hub sends heartbeats more often, so a connection without a message for this time is lost. */
  idleTimeoutMs?: number;
  random?: () => number;
  firstRetryMs?: number;
}

/**
 * The number of responses with status 401 that are retried: a restarted hub may listen before it has
 * written its new token for local commands.
 */
const MAX_UNAUTHORIZED = 6;

/** Throws if the hub rejects a request. Without `retriesFirst`, also throws if the first connection fails. */
export async function* followHub(options: FollowOptions): AsyncGenerator<StreamMessage> {
  const { connect, query = {}, signal, onLost, onBack } = options;
  const { idleTimeoutMs = 90_000, random = Math.random, firstRetryMs = 250 } = options;
  let { after } = options;
  // Part of the cursor: with it, the hub detects that the database was replaced.
  let databaseSuffix = "";
  let mayRetry = options.retriesFirst ?? false;
  let failures = 0;
  let unauthorizedCount = 0;

  while (!signal.aborted) {
    try {
      for await (const { id, event, data } of readConnection()) {
        if (id !== undefined) after = `${id}${databaseSuffix}`;
        if (event === "closed")
          throw new CommandFailed(`The hub closed the stream: ${data.reason}.`);
        if (event === "truncated") yield { kind: "truncated", detail: String(data.detail) };
        else if (data.status === "connected") {
          databaseSuffix = `@${String(data.log).split("@")[1]}`;
          after = `${id}${databaseSuffix}`;
          if (failures > 0) onBack();
          [mayRetry, failures, unauthorizedCount] = [true, 0, 0];
          yield { kind: "connected" };
        } else if ("event_id" in data)
          yield { kind: "event", event: data as unknown as StreamedEvent };
      }
      throw new CommandFailed("The hub closed the stream.");
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof HubRequestFailed && error.status === 401) unauthorizedCount += 1;
      if (!mayRetry || isRejected(error) || unauthorizedCount > MAX_UNAUTHORIZED) throw error;
      failures += 1;
      if (failures === 1) onLost(causeOf(error));
    }
    const delay = backoffMs(failures, { firstMs: firstRetryMs, maxMs: 15_000, random });
    await sleep(delay, undefined, { signal }).catch(() => {});
  }

  /** Opens the stream, and yields its messages until it ends. */
  async function* readConnection() {
    const done = new AbortController();
    const abortIdle = () =>
      done.abort(new Error(`no message for ${idleTimeoutMs / 1_000} seconds`));
    let timer = setTimeout(abortIdle, idleTimeoutMs);
    try {
      const response = await connect().open("GET", "/events", {
        query: { ...query, after },
        headers: { accept: "text/event-stream" },
        signal: AbortSignal.any([signal, done.signal]),
      });
      const parse = createSseParser();
      for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        clearTimeout(timer);
        timer = setTimeout(abortIdle, idleTimeoutMs);
        yield* parse(text).map(decode);
      }
    } finally {
      clearTimeout(timer);
      done.abort();
    }
  }
}

const decode = ({ id, event, data }: SseMessage) => ({
  id,
  event,
  data: JSON.parse(data) as Record<string, unknown>,
});

/** True if the hub would reject the same request again. */
const isRejected = (error: unknown): boolean =>
  error instanceof HubRequestFailed && [400, 403, 404].includes(error.status ?? 0);
