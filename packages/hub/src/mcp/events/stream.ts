/**
 * `events/stream`: a request that stays open. Its events go out as notifications on its own answer,
 * in order, none twice; a reader that is slow is not written to, and one that has stopped is sent
 * away. It ends when the client goes, the token is no longer good, or the hub stops.
 */

import { matchesFilter } from "../../deliver/event-filter.ts";
import {
  CODES,
  HEARTBEAT_MS,
  NOTIFICATIONS,
  type StreamParams,
  SUBSCRIPTION_ID,
} from "../../deliver/events-draft.ts";
import { toOccurrence } from "../../deliver/occurrence.ts";
import { findStart } from "../../deliver/read-log.ts";
import { encodeCursor } from "../../inbox/cursor.ts";
import type { EventRow } from "../../store/store.ts";
import type { Follower } from "../../stream/feed.ts";
import type { EventsContext, EventsRequestContext } from "./context.ts";
import { findType, watchTypes } from "./event-types.ts";
import { EventsError } from "./events-error.ts";

export interface StreamTimes {
  heartbeatMs?: number;
  /** How often a stream checks for a client that stopped reading, and for new event types. */
  checkMs?: number;
  /** How long a client may leave a full connection unread. */
  stallMs?: number;
  /** After how long a failed read is tried again. */
  retryMs?: number;
  /** Streams that one token may have open. */
  mostPerToken?: number;
}

/** All that are open, so that they can be ended together. */
export interface EventStreams extends Required<StreamTimes> {
  open: Map<string, Set<Stream>>;
  isClosed(): boolean;
  /** Resolves when all of them have said goodbye. */
  close(): Promise<void>;
}

interface Stream {
  end(why: End): void;
  over: Promise<void>;
}

type End = { reason: "forbidden" | "shutting_down"; message: string } | undefined;

export function createEventStreams(times: StreamTimes = {}): EventStreams {
  const open: EventStreams["open"] = new Map();
  let closed = false;
  return {
    heartbeatMs: HEARTBEAT_MS,
    checkMs: 2_000,
    stallMs: 30_000,
    retryMs: 1_000,
    mostPerToken: 100,
    ...times,
    open,
    isClosed: () => closed,
    async close() {
      closed = true;
      const all = [...open.values()].flatMap((own) => [...own]);
      for (const { end } of all) end(STOPPING);
      await Promise.all(all.map(({ over }) => over));
      // The SDK has yet to send the answers.
      await new Promise((resolve) => setTimeout(resolve));
    },
  };
}

const STOPPING = {
  reason: "shutting_down",
  message: "The hub is stopping: go on after your cursor.",
} as const;

/** Of the SDK: who asked, and the way back. */
export interface Exchange {
  id: string | number;
  signal: AbortSignal;
  notify(notification: { method: string; params: Record<string, unknown> }): Promise<void>;
}

/** Events that are being made ready for one stream. */
const MOST_WAITING = 16;

export async function streamEvents(
  context: EventsContext,
  { access, backPressure }: EventsRequestContext,
  params: StreamParams,
  exchange: Exchange,
): Promise<Record<string, never>> {
  const { store, feed, authorizer, now, streams, onError } = context;
  const { tenants, token } = access;
  const filter = await findType(store, tenants, params.name, params.arguments);
  const isNewType = await watchTypes(store, tenants);
  const notBefore = params.maxAgeMs === undefined ? undefined : now() - params.maxAgeMs;
  const { from, truncated, logId } = await findStart(store, tenants, params.cursor, notBefore);

  const own = streams.open.get(token) ?? new Set();
  if (own.size >= streams.mostPerToken)
    throw new EventsError(
      "exhausted",
      `This token has ${streams.mostPerToken} streams open already; close one first.`,
      { limit: streams.mostPerToken },
    );
  streams.open.set(token, own);

  let watermark = encodeCursor(from, tenants, logId);
  const waiting: { event: EventRow; cursor: string }[] = [];
  const { promise: ended, resolve: end } = Promise.withResolvers<End>();
  const { promise, resolve: isOver } = Promise.withResolvers<void>();
  const stream: Stream = { end, over: promise };
  let follower: Follower | undefined;
  let fullSince: number | undefined;
  let over = false;

  const send = async (method: string, body: object): Promise<void> => {
    const said = { ...body, _meta: { [SUBSCRIPTION_ID]: exchange.id } };
    backPressure.sent(JSON.stringify(said).length);
    await exchange.notify({ method, params: said }).catch(() => end(undefined));
  };
  const isFull = () => {
    if (!backPressure.isFull()) return false;
    fullSince ??= now();
    return true;
  };

  let working = false;
  const work = async () => {
    if (working) return;
    working = true;
    while (waiting[0] && !over && !isFull()) {
      const { event } = waiting[0];
      try {
        const occurrence = await toOccurrence(store, event, waiting[0].cursor);
        if (over) break;
        // Its cursor may have moved on meanwhile, past events that are not wanted.
        watermark = waiting.shift()?.cursor ?? watermark;
        await send(NOTIFICATIONS.event, occurrence);
      } catch (error) {
        onError(error);
        await send(NOTIFICATIONS.error, {
          code: CODES.internal,
          message: "An event could not be read just now; it is tried again.",
        });
        await new Promise((resolve) => setTimeout(resolve, streams.retryMs));
      }
    }
    working = false;
    if (!over && waiting.length < MOST_WAITING) follower?.resume();
  };

  const beat = setInterval(() => {
    if (!isFull()) void send(NOTIFICATIONS.heartbeat, { cursor: watermark });
  }, streams.heartbeatMs);
  let listChanged = false;
  const check = setInterval(() => {
    if (fullSince !== undefined && now() - fullSince > streams.stallMs) {
      backPressure.abort();
      return end(undefined);
    }
    // Here, so that a burst of new types is told once.
    if (listChanged && !isFull()) {
      listChanged = false;
      void send(NOTIFICATIONS.listChanged, {});
    }
  }, streams.checkMs);
  const stopWatching = authorizer.watch(access, () =>
    end({ reason: "forbidden", message: "The token is no longer valid." }),
  );
  own.add(stream);
  backPressure.onClose(() => end(undefined));
  backPressure.onDrain(() => {
    fullSince = undefined;
    void work();
  });
  exchange.signal.addEventListener("abort", () => end(undefined));
  if (exchange.signal.aborted) end(undefined); // while it was looked where to begin

  try {
    await send(NOTIFICATIONS.active, { cursor: watermark, truncated });
    follower = await feed.follow({
      tenants,
      after: from,
      filter: {},
      sink: {
        event(event, place) {
          if (isNewType(event)) listChanged = true;
          const cursor = encodeCursor(place, tenants, logId);
          const last = waiting.at(-1);
          if (matchesFilter(event, filter)) waiting.push({ event, cursor });
          else if (last) last.cursor = cursor;
          else watermark = cursor;
          void work();
        },
        truncated: () => {}, // said in the first notification
        isFull: () => waiting.length >= MOST_WAITING || isFull(),
      },
    });
    if (streams.isClosed()) end(STOPPING);
    const why = await ended;
    over = true;
    if (why) await send(NOTIFICATIONS.terminated, { ...why, cursor: watermark });
    return {};
  } finally {
    over = true;
    clearInterval(beat);
    clearInterval(check);
    stopWatching();
    follower?.stop();
    own.delete(stream);
    if (own.size === 0 && streams.open.get(token) === own) streams.open.delete(token);
    isOver();
  }
}
