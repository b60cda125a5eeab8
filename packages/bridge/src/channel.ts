/**
 * The channel: turns the hub's stream into announcements. An event's place is remembered only
 * after its announcement was handed over, one by one. So whoever stops the bridge in an orderly way
 * hears of everything exactly once; a crash loses nothing, and repeats at most the one message that
 * was just being said. What gathered while nobody listened is told in one go: a few events singly,
 * many as one digest.
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
import { cap } from "./clean-text.ts";
import type { SseMessage } from "./sse-parser.ts";
import { type Announced, type BridgeState, MOST_ANNOUNCED, type StateFile } from "./state-file.ts";
import { readStreamEvent, type StreamEvent } from "./stream-event.ts";

/** `gone`: processed, or not there any more. `unknown`: the hub cannot say now. */
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
/** So many lookups at a time: the agent's own calls go to the same hub. */
const MOST_LOOKUPS = 4;
const MOST_REPO = 100;

type Told = Omit<Announced, "at">;

const toldOf = ({ id, repo }: StreamEvent): Told =>
  repo === null ? { id } : { id, repo: cap(repo, MOST_REPO) };

interface Backlog {
  first: { event: StreamEvent; place: string }[];
  told: Told[];
  tally: Tally | undefined;
  since: number;
}

export function createChannel(options: ChannelOptions): Channel {
  const { file, mayWake, send, lookUp, remindMs, say } = options;
  const { now = Date.now, quietMs = 300, patienceMs = 5_000 } = options;
  const { replaced = false, ...found } = file.read();
  let state: BridgeState = found;
  /** Of the last message taken; what is on disk may lag behind. */
  let cursor = state.cursor;
  /** What the hub received after this is no backlog any more. */
  let liveFrom = 0;
  let backlog: Backlog | undefined;
  /** Where we were when we last told of a gap. */
  let gap: string | null | undefined;
  let quiet: NodeJS.Timeout | undefined;
  let stopped = false;
  let reminding: Promise<void> | undefined;
  let last: Promise<void> = Promise.resolve();

  const remember = (change: Partial<BridgeState>) => {
    state = { ...state, ...change };
    file.write(state);
  };

  const withAnnounced = (told: readonly Told[]) =>
    remindMs === 0
      ? state.announced
      : [...state.announced, ...told.map((one) => ({ ...one, at: now() }))].slice(-MOST_ANNOUNCED);

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

  const tell = (announcement: Announcement | undefined, told: Told[], place: string | null) =>
    inOrder(async () => {
      if (announcement) await send(announcement);
      remember({ cursor: place, announced: withAnnounced(told) });
    });

  function tellBacklog(): void {
    clearTimeout(quiet);
    if (!backlog || stopped) return;
    const { first, told, tally } = backlog;
    if (tally && tally.count > first.length) {
      void tell(announceBacklog(tally), told, cursor);
      return;
    }
    for (const { event, place } of first) void tell(announceEvent(event), [toldOf(event)], place);
    // Behind them may be some that nobody is told of.
    void tell(undefined, [], cursor);
  }

  function endBacklog(): void {
    tellBacklog();
    backlog = undefined;
  }

  const emptyBacklog = (): Backlog => ({ first: [], told: [], tally: undefined, since: now() });

  function collect(backlog: Backlog, event: StreamEvent, place: string): void {
    if (backlog.first.length < MOST_SINGLY) backlog.first.push({ event, place });
    backlog.told.push(toldOf(event));
    if (backlog.told.length > MOST_ANNOUNCED) backlog.told.shift();
    backlog.tally = addToTally(backlog.tally, event);
  }

  const isOurs = (event: StreamEvent) => !event.processed && mayWake(event.sender);

  /** The hub says where we are also without an event: at the beginning, and at every heartbeat. */
  function moveTo(place: string): void {
    if (place === cursor) return;
    cursor = place;
    if (!backlog) void tell(undefined, [], place);
  }

  async function remindOnce(): Promise<void> {
    if (remindMs === 0 || stopped) return;
    const due = state.announced.filter(({ at }) => at <= now() - remindMs);
    const done = new Set<string>();
    const unknown = new Set<string>();
    let tally: Tally | undefined;
    for (let at = 0; at < due.length && !stopped; at += MOST_LOOKUPS) {
      const some = due.slice(at, at + MOST_LOOKUPS);
      const found = await Promise.all(some.map(({ id }) => lookUp(id)));
      for (const [index, { id, repo }] of some.entries()) {
        const one = found[index];
        if (one === undefined || one === "unknown") unknown.add(id);
        else done.add(id);
        if (typeof one === "object")
          tally = addToTally(tally, { ...one.pending, repo: repo ?? one.pending.repo });
      }
      // The hub is away. The next time others come first, should it be these that it cannot read.
      if (found.every((one) => one === "unknown")) break;
    }
    if (done.size + unknown.size === 0) return;
    await inOrder(async () => {
      if (tally) await send(announceReminder(tally));
      const left = state.announced.filter(({ id }) => !done.has(id));
      remember({
        announced: [
          ...left.filter(({ id }) => !unknown.has(id)),
          ...left.filter(({ id }) => unknown.has(id)),
        ],
      });
    });
  }

  if (replaced) {
    say(
      "the hub has another log than before: events may be missing; beginning anew with this one.",
    );
    gap = cursor;
    void tell(announceGap(now()), [], cursor);
  }

  return {
    position: () => cursor ?? undefined,

    opened({ hubTime, resumed }) {
      if (!resumed) return;
      // The hub says its time in whole seconds.
      liveFrom = hubTime + 1_000;
      backlog ??= emptyBacklog();
      clearTimeout(quiet);
      quiet = setTimeout(endBacklog, quietMs);
    },

    take({ id, event: kind, data }) {
      if (stopped) return;
      if (kind === "truncated") {
        // Until something comes after the gap, every connection begins with it again.
        if (cursor !== gap) {
          say("the hub no longer has all that came after our place: events may be missing.");
          void inOrder(() => send(announceGap(now())));
        }
        gap = cursor;
        return;
      }
      if (id === undefined) return;
      const event = readStreamEvent(parseJson(data));
      if (!event) return moveTo(id);
      if (backlog && Date.parse(event.receivedAt) >= liveFrom) endBacklog();
      cursor = id;
      if (!backlog) {
        const ours = isOurs(event);
        void tell(ours ? announceEvent(event) : undefined, ours ? [toldOf(event)] : [], id);
        return;
      }
      if (isOurs(event)) collect(backlog, event, id);
      if (now() - backlog.since > patienceMs) {
        tellBacklog();
        backlog = emptyBacklog();
      }
      clearTimeout(quiet);
      quiet = setTimeout(endBacklog, quietMs);
    },

    forgetPosition() {
      cursor = null;
      remember({ cursor: null });
    },

    remind() {
      reminding ??= remindOnce().finally(() => {
        reminding = undefined;
      });
      return reminding;
    },

    stop() {
      stopped = true;
      clearTimeout(quiet);
    },

    settled: () => last,
  };
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
