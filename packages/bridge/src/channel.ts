/**
 * Turns the hub's stream into announcements. The cursor is saved after each announcement has been sent
 * to the client. So every event is announced exactly once if the bridge is shut down normally; a crash
 * loses none and repeats at most the last announcement. The backlog (events that arrived while no client
 * was connected) is announced event by event if it is small, otherwise as one digest.
 */
import {
  type Announcement,
  addToTally,
  announceBacklog,
  announceEvent,
  announceGap,
  announceReminder,
  type Tally,
} from "./announcement.ts";
import { truncate } from "./sanitize-text.ts";
import type { SseMessage } from "./sse-parser.ts";
import { type Announced, type BridgeState, MAX_ANNOUNCED, type StateFile } from "./state-file.ts";
import { readStreamEvent, type StreamEvent } from "./stream-event.ts";

/** `gone`: processed or deleted. `unknown`: the lookup failed. */
export type Lookup = { pending: StreamEvent } | "gone" | "unknown";

export interface ChannelOptions {
  file: StateFile;
  mayWake: (sender: string | null) => boolean;
  send: (announcement: Announcement) => Promise<void>;
  lookUp: (id: string) => Promise<Lookup>;
  remindMs: number;
  warn: (message: string) => void;
  now?: () => number;
  /** The stream does not mark the end of the backlog. A backlog ends after this time without an event. */
  quietMs?: number;
  /** A backlog that does not end is announced after this time. */
  maxBacklogMs?: number;
}

export interface Channel {
  /** The cursor of the last message that was read. */
  position(): string | undefined;
  opened(stream: { hubTime: number; resumed: boolean }): void;
  take(message: SseMessage): void;
  resetPosition(): void;
  /** Announces once more the events that were announced `remindMs` ago and are still pending. */
  remind(): Promise<void>;
  stop(): void;
  /** Resolves when everything taken so far has been announced. */
  drained(): Promise<void>;
}

/** A larger backlog is announced as a digest. */
const MAX_SINGLE = 10;
/** The limit of parallel lookups, because the agent's calls go to the same hub. */
const MAX_LOOKUPS = 4;
const MAX_REPO = 100;

type AnnouncedEvent = Omit<Announced, "at">;

const toAnnounced = ({ id, repo }: StreamEvent): AnnouncedEvent =>
  repo === null ? { id } : { id, repo: truncate(repo, MAX_REPO) };

interface Backlog {
  /** At most `MAX_SINGLE`. */
  first: { event: StreamEvent; cursor: string }[];
  events: AnnouncedEvent[];
  tally: Tally | undefined;
  since: number;
}

export function createChannel(options: ChannelOptions): Channel {
  const { file, mayWake, send, lookUp, remindMs, warn } = options;
  const { now = Date.now, quietMs = 300, maxBacklogMs = 5_000 } = options;
  const { replaced = false, ...saved } = file.read();
  let state: BridgeState = saved;
  /** The cursor of the last message taken; the saved one may lag behind. */
  let cursor = state.cursor;
  /** Events that the hub received after this time do not belong to the backlog. */
  let liveFrom = 0;
  let backlog: Backlog | undefined;
  /** The cursor at which the last gap was announced. */
  let gapCursor: string | null | undefined;
  let quietTimer: NodeJS.Timeout | undefined;
  let stopped = false;
  let reminding: Promise<void> | undefined;
  let tail: Promise<void> = Promise.resolve();

  const saveState = (change: Partial<BridgeState>) => {
    state = { ...state, ...change };
    file.write(state);
  };

  const withAnnounced = (events: readonly AnnouncedEvent[]) =>
    remindMs === 0
      ? state.announced
      : [...state.announced, ...events.map((event) => ({ ...event, at: now() }))].slice(
          -MAX_ANNOUNCED,
        );

  /** Runs `work` after all earlier work, unless sending failed before: the client has disconnected. */
  const enqueue = (work: () => Promise<void>): Promise<void> => {
    tail = tail.then(async () => {
      if (stopped) return;
      await work().catch((error: unknown) => {
        // Stopping rejects an announcement that still waits for the client.
        if (!stopped) warn(`cannot send to the client: ${String(error)}`);
        stopped = true;
      });
    });
    return tail;
  };

  const announce = (
    announcement: Announcement | undefined,
    events: AnnouncedEvent[],
    newCursor: string | null,
  ) =>
    enqueue(async () => {
      if (announcement) await send(announcement);
      saveState({ cursor: newCursor, announced: withAnnounced(events) });
    });

  function announceCollected(): void {
    clearTimeout(quietTimer);
    if (!backlog || stopped) return;
    const { first, events, tally } = backlog;
    if (tally && tally.count > first.length) {
      void announce(announceBacklog(tally), events, cursor);
      return;
    }
    for (const one of first)
      void announce(announceEvent(one.event), [toAnnounced(one.event)], one.cursor);
    // Skipped events may follow the last announced one.
    void announce(undefined, [], cursor);
  }

  function endBacklog(): void {
    announceCollected();
    backlog = undefined;
  }

  const emptyBacklog = (): Backlog => ({ first: [], events: [], tally: undefined, since: now() });

  function collect(backlog: Backlog, event: StreamEvent, cursor: string): void {
    if (backlog.first.length < MAX_SINGLE) backlog.first.push({ event, cursor });
    backlog.events.push(toAnnounced(event));
    if (backlog.events.length > MAX_ANNOUNCED) backlog.events.shift();
    backlog.tally = addToTally(backlog.tally, event);
  }

  const isRelevant = (event: StreamEvent) => !event.processed && mayWake(event.sender);

  /** The first message of a connection and every heartbeat advance the cursor without an event. */
  function moveTo(newCursor: string): void {
    if (newCursor === cursor) return;
    cursor = newCursor;
    if (!backlog) void announce(undefined, [], newCursor);
  }

  async function remindOnce(): Promise<void> {
    if (remindMs === 0 || stopped) return;
    const due = state.announced.filter(({ at }) => at <= now() - remindMs);
    const done = new Set<string>();
    const unknown = new Set<string>();
    let tally: Tally | undefined;
    for (let at = 0; at < due.length && !stopped; at += MAX_LOOKUPS) {
      const some = due.slice(at, at + MAX_LOOKUPS);
      const found = await Promise.all(some.map(({ id }) => lookUp(id)));
      for (const [index, { id, repo }] of some.entries()) {
        const one = found[index];
        if (one === undefined || one === "unknown") unknown.add(id);
        else done.add(id);
        if (typeof one === "object")
          tally = addToTally(tally, { ...one.pending, repo: repo ?? one.pending.repo });
      }
      // The hub is probably down.
      if (found.every((one) => one === "unknown")) break;
    }
    if (done.size + unknown.size === 0) return;
    await enqueue(async () => {
      if (tally) await send(announceReminder(tally));
      const left = state.announced.filter(({ id }) => !done.has(id));
      // Failed lookups move to the end, so that the next reminder starts with other events.
      saveState({
        announced: [
          ...left.filter(({ id }) => !unknown.has(id)),
          ...left.filter(({ id }) => unknown.has(id)),
        ],
      });
    });
  }

  if (replaced) {
    warn(
      "the hub's log was replaced: events may be missing; starting at the beginning of the new log.",
    );
    gapCursor = cursor;
    void announce(announceGap(now()), [], cursor);
  }

  return {
    position: () => cursor ?? undefined,

    opened({ hubTime, resumed }) {
      if (!resumed) return;
      // The hub's Date header has a resolution of one second.
      liveFrom = hubTime + 1_000;
      backlog ??= emptyBacklog();
      clearTimeout(quietTimer);
      quietTimer = setTimeout(endBacklog, quietMs);
    },

    take({ id, event: kind, data }) {
      if (stopped) return;
      if (kind === "truncated") {
        // The hub repeats this message on every connection until an event follows the gap.
        if (cursor !== gapCursor) {
          warn("the hub no longer has all events after the saved cursor: events may be missing.");
          void enqueue(() => send(announceGap(now())));
        }
        gapCursor = cursor;
        return;
      }
      if (id === undefined) return;
      const event = readStreamEvent(parseJson(data));
      if (!event) return moveTo(id);
      if (backlog && Date.parse(event.receivedAt) >= liveFrom) endBacklog();
      cursor = id;
      if (!backlog) {
        const relevant = isRelevant(event);
        void announce(
          relevant ? announceEvent(event) : undefined,
          relevant ? [toAnnounced(event)] : [],
          id,
        );
        return;
      }
      if (isRelevant(event)) collect(backlog, event, id);
      if (now() - backlog.since > maxBacklogMs) {
        announceCollected();
        backlog = emptyBacklog();
      }
      clearTimeout(quietTimer);
      quietTimer = setTimeout(endBacklog, quietMs);
    },

    resetPosition() {
      cursor = null;
      saveState({ cursor: null });
    },

    remind() {
      reminding ??= remindOnce().finally(() => {
        reminding = undefined;
      });
      return reminding;
    },

    stop() {
      stopped = true;
      clearTimeout(quietTimer);
    },

    drained: () => tail,
  };
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
