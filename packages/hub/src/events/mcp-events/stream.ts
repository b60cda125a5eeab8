/**
 * `events/stream`: a request that stays open. Events are sent as notifications on its response, in
 * order and once. While the client does not read, nothing is written; a client that has stopped
 * reading is disconnected. The stream ends when the client disconnects, the token is no longer valid,
 * or the hub stops.
 */
import { type StreamSlots, TOO_MANY_STREAMS } from "../../kernel/access/stream-slots.ts";
import type { BackPressure } from "../../kernel/mcp/back-pressure.ts";
import type { RequestContext } from "../../kernel/mcp/request-context.ts";
import type { Store } from "../../store.ts";
import { encodeCursor } from "../inbox/cursor.ts";
import type { Feed, Follower } from "../live/feed.ts";
import type { EventRow } from "../model.ts";
import { findType, matchesFilter, watchTypes } from "./event-types.ts";
import {
  CODES,
  EventsError,
  HEARTBEAT_MS,
  NOTIFICATIONS,
  type StreamParams,
  SUBSCRIPTION_ID,
} from "./protocol.ts";
import { findStart, toOccurrence } from "./read-log.ts";

export interface EventsRequestContext extends RequestContext {
  backPressure: BackPressure;
}

export interface StreamOptions {
  heartbeatMs?: number;
  /** How often a stream checks for a client that stopped reading, and for new event types. */
  checkMs?: number;
  /** How long a connection may stay full before the client is disconnected. */
  stallMs?: number;
  /** The delay before a failed read is retried. */
  retryMs?: number;
  /** The maximum number of open streams of one token. */
  maxPerToken?: number;
}

/** The options, and the open streams of each token. */
export interface EventStreams extends Required<StreamOptions> {
  open: Map<string, Set<Stream>>;
  isClosed(): boolean;
  /** Resolves when every stream has sent its `terminated` notification. */
  close(): Promise<void>;
}

interface Stream {
  end(ending: Ending): void;
  ended: Promise<void>;
}

/** Undefined if the client has disconnected. */
type Ending = { reason: "forbidden" | "exhausted" | "shutting_down"; message: string } | undefined;

/** The dependencies of streams. */
export interface StreamsContext {
  store: Store;
  feed: Feed;
  streamSlots: StreamSlots;
  now: () => number;
  streams: EventStreams;
  onError: (error: unknown) => void;
}

export function createEventStreams(options: StreamOptions = {}): EventStreams {
  const open: EventStreams["open"] = new Map();
  let hasClosed = false;
  return {
    heartbeatMs: HEARTBEAT_MS,
    checkMs: 2_000,
    stallMs: 30_000,
    retryMs: 1_000,
    maxPerToken: 100,
    ...options,
    open,
    isClosed: () => hasClosed,
    async close() {
      hasClosed = true;
      const all = [...open.values()].flatMap((streams) => [...streams]);
      for (const { end } of all) end(STOPPING);
      await Promise.all(all.map(({ ended }) => ended));
      // The SDK sends the responses in a later task.
      await new Promise((resolve) => setTimeout(resolve));
    },
  };
}

const STOPPING = {
  reason: "shutting_down",
  message: "The hub is stopping: resume after your cursor.",
} as const;

const REVOKED = {
  reason: "forbidden",
  message: "The token no longer grants access to all tenants of this stream.",
} as const;

const EVICTED = {
  reason: "exhausted",
  message:
    "This stream was closed for a tenant that has fewer streams. Open it again later, with your cursor.",
} as const;

const REPLACED = {
  reason: "shutting_down",
  message:
    "The log has lost events: the database was restored, or has failed over to a standby. Open the stream again, with the cursor of this message.",
} as const;

/** The part of the SDK's request context that a stream uses. */
export interface Exchange {
  id: string | number;
  signal: AbortSignal;
  notify(notification: { method: string; params: Record<string, unknown> }): Promise<void>;
}

/** The feed pauses while this many events wait to be sent. */
const MAX_QUEUED = 16;

export async function streamEvents(
  context: StreamsContext,
  { access, backPressure }: EventsRequestContext,
  params: StreamParams,
  exchange: Exchange,
): Promise<Record<string, never>> {
  const { store, feed, streamSlots, now, streams, onError } = context;
  const { tenants, token } = access;
  const filter = await findType(store, tenants, params.name, params.arguments);
  const isNewType = await watchTypes(store, tenants);
  const notBefore = params.maxAgeMs === undefined ? undefined : now() - params.maxAgeMs;
  const { from, truncated, logId } = await findStart(store, tenants, params.cursor, notBefore);

  const ofToken = streams.open.get(token) ?? new Set();
  if (ofToken.size >= streams.maxPerToken)
    throw new EventsError(
      "exhausted",
      `This token has ${streams.maxPerToken} open streams, which is the limit; close one first.`,
      { limit: streams.maxPerToken },
    );
  const { promise: ending, resolve: end } = Promise.withResolvers<Ending>();
  const release = streamSlots.open(access, (reason) =>
    end(reason === "revoked" ? REVOKED : EVICTED),
  );
  if (!release) throw new EventsError("exhausted", TOO_MANY_STREAMS, { limit: streamSlots.max });
  streams.open.set(token, ofToken);

  let watermark = encodeCursor(from, tenants, logId);
  const queue: { event: EventRow; cursor: string }[] = [];
  const { promise: ended, resolve: markEnded } = Promise.withResolvers<void>();
  const stream: Stream = { end, ended };
  let follower: Follower | undefined;
  let fullSince: number | undefined;
  let isEnding = false;

  const send = async (method: string, body: object): Promise<void> => {
    const notification = { ...body, _meta: { [SUBSCRIPTION_ID]: exchange.id } };
    backPressure.addUnread(JSON.stringify(notification).length);
    await exchange.notify({ method, params: notification }).catch(() => end(undefined));
  };
  const isFull = () => {
    if (!backPressure.isFull()) return false;
    fullSince ??= now();
    return true;
  };

  let isSending = false;
  const sendQueued = async () => {
    if (isSending) return;
    isSending = true;
    while (queue[0] && !isEnding && !isFull()) {
      const { event } = queue[0];
      try {
        const occurrence = await toOccurrence(store, event, queue[0].cursor);
        if (isEnding) break;
        // The cursor may have advanced meanwhile, past events that do not match.
        watermark = queue.shift()?.cursor ?? watermark;
        await send(NOTIFICATIONS.event, occurrence);
      } catch (error) {
        onError(error);
        await send(NOTIFICATIONS.error, {
          code: CODES.internal,
          message: "An event could not be read; the hub retries.",
        });
        await new Promise((resolve) => setTimeout(resolve, streams.retryMs));
      }
    }
    isSending = false;
    if (!isEnding && queue.length < MAX_QUEUED) follower?.resume();
  };

  const heartbeatTimer = setInterval(() => {
    if (!isFull()) void send(NOTIFICATIONS.heartbeat, { cursor: watermark });
  }, streams.heartbeatMs);
  let hasNewTypes = false;
  const checkTimer = setInterval(() => {
    if (fullSince !== undefined && now() - fullSince > streams.stallMs) {
      backPressure.abort();
      return end(undefined);
    }
    // Sent here, so that a burst of new types causes one notification.
    if (hasNewTypes && !isFull()) {
      hasNewTypes = false;
      void send(NOTIFICATIONS.listChanged, {});
    }
  }, streams.checkMs);
  ofToken.add(stream);
  backPressure.onClose(() => end(undefined));
  backPressure.onDrain(() => {
    fullSince = undefined;
    void sendQueued();
  });
  exchange.signal.addEventListener("abort", () => end(undefined));
  if (exchange.signal.aborted) end(undefined); // aborted during the queries above

  try {
    await send(NOTIFICATIONS.active, { cursor: watermark, truncated });
    follower = await feed.follow({
      tenants,
      after: from,
      filter: {},
      sink: {
        event(event, position) {
          if (isNewType(event)) hasNewTypes = true;
          const cursor = encodeCursor(position, tenants, logId);
          const last = queue.at(-1);
          if (matchesFilter(event, filter)) queue.push({ event, cursor });
          else if (last) last.cursor = cursor;
          else watermark = cursor;
          void sendQueued();
        },
        truncated() {
          // The notification `active` has reported what was missing at the start.
          if (!follower) return;
          isEnding = true;
          // The cursor precedes the lost events, whose numbers the new events have.
          queue.length = 0;
          watermark = encodeCursor(follower.cursor, tenants, logId);
          end(REPLACED);
        },
        isFull: () => queue.length >= MAX_QUEUED || isFull(),
      },
    });
    if (streams.isClosed()) end(STOPPING);
    const reason = await ending;
    isEnding = true;
    if (reason) await send(NOTIFICATIONS.terminated, { ...reason, cursor: watermark });
    return {};
  } finally {
    isEnding = true;
    clearInterval(heartbeatTimer);
    clearInterval(checkTimer);
    release();
    follower?.stop();
    ofToken.delete(stream);
    if (ofToken.size === 0 && streams.open.get(token) === ofToken) streams.open.delete(token);
    markEnded();
  }
}
