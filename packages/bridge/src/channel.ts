/**
 * The channel: turns the hub's stream into announcements. An event's place is remembered only
 * after its announcement was handed over, so a crash repeats at most what was just being said, and
 * loses nothing. What gathered while nobody listened is told in one go: a few events singly, many
 * as one digest.
 */
import {
  type Announcement,
  addToTally,
  announceBacklog,
  announceEvent,
  announceReminder,
  type Tally,
} from "./announcement.ts";
import type { SseMessage } from "./sse-parser.ts";
import { type BridgeState, MOST_ANNOUNCED, type StateFile } from "./state-file.ts";
import { readStreamEvent, type StreamEvent } from "./stream-event.ts";

/** `gone`: processed, or not there any more. `unknown`: the hub cannot be asked now. */
export type Lookup = { pending: StreamEvent } | "gone" | "unknown";

export interface ChannelOptions {
  file: StateFile;
  mayWake: (sender: string | null) => boolean;
  send: (announcement: Announcement) => Promise<void>;
  lookUp: (id: string) => Promise<Lookup>;
  remindMs: number;
  say: (words: string) => void;
  now?: () => number;
  /** The stream does not say where the backlog ends: after so long without an event it has. */
  quietMs?: number;
  /** But a backlog that does not end is told of after so long. */
  patienceMs?: number;
}

export interface Channel {
  /** As `followEvents` asks for it. */
  position(): string | undefined;
  opened(stream: { hubTime: number; resumed: boolean }): void;
  take(message: SseMessage): void;
  forgetPosition(): void;
  /** Names again, once, what was announced long enough ago and still waits. */
  remind(): Promise<void>;
  stop(): void;
  /** Resolves when all that was taken so far has been told. */
  settled(): Promise<void>;
}

const MOST_SINGLY = 10;
/** Before the first event. A token for several tenants has no such word: see `forgetPosition`. */
const BEGINNING = "0";

interface Backlog {
  first: StreamEvent[];
  ids: string[];
  tally: Tally | undefined;
  since: number;
}

export function createChannel(options: ChannelOptions): Channel {
  const { file, mayWake, send, lookUp, remindMs, say } = options;
  const { now = Date.now, quietMs = 300, patienceMs = 5_000 } = options;
  let state: BridgeState = file.read();
  /** Of the last message taken; what is on disk may lag behind. */
  let cursor = state.cursor;
  let fromBeginning = false;
  /** What the hub received after this is no backlog any more. */
  let liveFrom = 0;
  let backlog: Backlog | undefined;
  let quiet: NodeJS.Timeout | undefined;
  let stopped = false;
  let last: Promise<void> = Promise.resolve();

  const remember = (change: Partial<BridgeState>) => {
    state = { ...state, ...change };
    file.write(state);
  };

  const withAnnounced = (ids: readonly string[]) =>
    remindMs === 0
      ? state.announced
      : [...state.announced, ...ids.map((id) => ({ id, at: now() }))].slice(-MOST_ANNOUNCED);

  /** One after the other; after a failure (the client is gone) nothing is sent or remembered. */
  const inOrder = (work: () => Promise<void>): Promise<void> => {
    last = last.then(async () => {
      if (stopped) return;
      await work().catch((error: unknown) => {
        stopped = true;
        say(`cannot speak to the client: ${String(error)}`);
      });
    });
    return last;
  };

  const tell = (announcements: Announcement[], ids: string[], place: string | null) =>
    inOrder(async () => {
      for (const announcement of announcements) await send(announcement);
      remember({ cursor: place, announced: withAnnounced(ids) });
    });

  function tellBacklog(): void {
    clearTimeout(quiet);
    if (!backlog || stopped) return;
    const { first, ids, tally } = backlog;
    const few = first.length === (tally?.count ?? 0);
    void tell(few ? first.map(announceEvent) : tally ? [announceBacklog(tally)] : [], ids, cursor);
  }

  function endBacklog(): void {
    tellBacklog();
    backlog = undefined;
  }

  const emptyBacklog = (): Backlog => ({ first: [], ids: [], tally: undefined, since: now() });

  function collect(backlog: Backlog, event: StreamEvent): void {
    if (backlog.first.length < MOST_SINGLY) backlog.first.push(event);
    if (backlog.ids.length < MOST_ANNOUNCED) backlog.ids.push(event.id);
    backlog.tally = addToTally(backlog.tally, event);
  }

  const isOurs = (event: StreamEvent) =>
    !event.processed &&
    mayWake(event.sender) &&
    !(fromBeginning && Date.parse(event.receivedAt) < (state.since ?? 0));

  return {
    position() {
      if (cursor !== null) return cursor;
      return state.since === null ? undefined : BEGINNING;
    },

    opened({ hubTime, resumed }) {
      fromBeginning = resumed && cursor === null;
      if (state.since === null) remember({ since: hubTime });
      if (!resumed) return;
      // The hub says its time in whole seconds.
      liveFrom = hubTime + 1_000;
      backlog ??= emptyBacklog();
      clearTimeout(quiet);
      quiet = setTimeout(endBacklog, quietMs);
    },

    take({ id, event: kind, data }) {
      if (stopped) return;
      if (kind === "truncated")
        say("the hub's retention removed events before they could be announced.");
      const event = readStreamEvent(parseJson(data));
      if (id === undefined || !event) return;
      if (backlog && Date.parse(event.receivedAt) >= liveFrom) endBacklog();
      cursor = id;
      if (!backlog) {
        const ours = isOurs(event);
        void tell(ours ? [announceEvent(event)] : [], ours ? [event.id] : [], id);
        return;
      }
      if (isOurs(event)) collect(backlog, event);
      if (now() - backlog.since > patienceMs) {
        tellBacklog();
        backlog = emptyBacklog();
      }
      clearTimeout(quiet);
      quiet = setTimeout(endBacklog, quietMs);
    },

    forgetPosition() {
      cursor = null;
      remember({ cursor: null, since: null });
    },

    async remind() {
      if (remindMs === 0 || stopped) return;
      const due = state.announced.filter(({ at }) => at <= now() - remindMs);
      const done = new Set<string>();
      let tally: Tally | undefined;
      for (const { id } of due) {
        const found = await lookUp(id);
        if (found === "unknown") return;
        done.add(id);
        if (found !== "gone") tally = addToTally(tally, found.pending);
      }
      if (done.size === 0) return;
      await inOrder(async () => {
        if (tally) await send(announceReminder(tally));
        remember({ announced: state.announced.filter(({ id }) => !done.has(id)) });
      });
    },

    stop() {
      stopped = true;
      clearTimeout(quiet);
    },

    settled: () => last,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
