/**
 * The live stream of the tab. There is only one, and none while the tab is hidden, because browsers
 * allow only six HTTP/1.1 connections to a host. Components subscribe to topics. When the set of topics
 * changes or the tab is shown, the stream is reopened and continues after the last message.
 */
import type { LiveMessage as HubMessage, LiveData } from "@signalbox/contract/live.ts";

export type LiveState = "connecting" | "live" | "lost";

export type LiveMessage = HubMessage & { id: string };

/** The members of `EventSource` that this module uses. */
export interface LiveSource {
  onopen: (() => void) | null;
  onerror: (() => void) | null;
  readyState: number;
  addEventListener(
    kind: string,
    listener: (message: { data: string; lastEventId: string }) => void,
  ): void;
  close(): void;
}

export interface LiveOptions {
  open: (url: string) => LiveSource;
  schedule: (task: () => void, ms: number) => () => void;
  isHidden: () => boolean;
}

type Listener = (message: LiveMessage) => void;

const KINDS: readonly (keyof LiveData)[] = [
  "connected",
  "event",
  "change",
  "run_step",
  "draft",
  "warnings",
  "truncated",
];
const CLOSED = 2;
const RETRY_MS = 3_000;
/** Components subscribe and unsubscribe in groups; the stream is reopened once for each group. */
const SETTLE_MS = 50;

/** The hub rejects a stream with more runs, or more flows; see tab-stream.ts of the hub. */
const MAX_FOLLOWED = 20;

/**
 * Keeps only the newest subscriptions to runs and to flows. For the others, the topic `changes` still
 * reports that they have changed.
 */
function limitTopics(topics: readonly string[]): string[] {
  const newest = (prefix: string) =>
    topics.filter((topic) => topic.startsWith(prefix)).slice(-MAX_FOLLOWED);
  const others = topics.filter((topic) => !topic.includes(":"));
  return [...others, ...newest("runs:"), ...newest("flows:")];
}

export function createLive({ open, schedule, isHidden }: LiveOptions) {
  const listeners = new Map<string, Set<Listener>>();
  const stateListeners = new Set<() => void>();
  let state: LiveState = "connecting";
  let source: LiveSource | undefined;
  let openTopics = "";
  let lastId = "";
  let cancelScheduled: (() => void) | undefined;

  const setState = (next: LiveState) => {
    if (next === state) return;
    state = next;
    for (const listener of stateListeners) listener();
  };

  const connect = () => {
    cancelScheduled = undefined;
    const topics = isHidden()
      ? ""
      : limitTopics([...listeners.keys()])
          .sort()
          .join(",");
    if (topics === openTopics && source && source.readyState !== CLOSED) return;
    source?.close();
    source = undefined;
    openTopics = topics;
    if (topics === "") return;
    const current = open(
      `/api/live?${new URLSearchParams({ topics, ...(lastId && { after: lastId }) })}`,
    );
    source = current;
    current.onopen = () => setState("live");
    current.onerror = () => {
      setState("lost");
      // The browser reconnects automatically, except after a response that is not a stream.
      if (current.readyState === CLOSED && source === current) scheduleConnect(RETRY_MS);
    };
    for (const kind of KINDS)
      current.addEventListener(kind, ({ data, lastEventId }) => {
        if (source !== current) return;
        if (lastEventId) lastId = lastEventId;
        const message: LiveMessage = { kind, id: lastEventId, data: JSON.parse(data) };
        for (const set of listeners.values()) for (const listener of set) listener(message);
      });
  };

  const scheduleConnect = (ms: number) => {
    cancelScheduled?.();
    cancelScheduled = schedule(connect, ms);
  };

  return {
    state: () => state,
    watchState(listener: () => void) {
      stateListeners.add(listener);
      return () => void stateListeners.delete(listener);
    },
    /** Call it when the tab was hidden or shown. */
    visibilityChanged: () => scheduleConnect(0),
    /** Every listener gets the messages of all open topics, and must ignore those of other topics. */
    subscribe(topic: string, listener: Listener) {
      const set = listeners.get(topic) ?? new Set();
      listeners.set(topic, set);
      set.add(listener);
      scheduleConnect(SETTLE_MS);
      return () => {
        set.delete(listener);
        if (set.size === 0) listeners.delete(topic);
        scheduleConnect(SETTLE_MS);
      };
    },
  };
}
