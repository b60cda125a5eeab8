/**
 * One live stream for the whole tab, since browsers allow six connections to a host. For the same
 * reason, a hidden tab has none. Parts of the page subscribe to topics; the stream is reopened when the
 * set of topics changes or the tab is shown, and continues after the last message that arrived.
 */
export type LiveState = "connecting" | "live" | "lost";

export interface LiveMessage {
  kind: string;
  id: string;
  data: unknown;
}

/** The part of EventSource that is used. */
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

const KINDS = ["connected", "event", "change", "run_step", "draft", "truncated"] as const;
const CLOSED = 2;
const RETRY_MS = 3_000;
/** Parts of a page come and go together; one reopening serves them all. */
const SETTLE_MS = 50;

/** The hub rejects a stream with more runs or flows; see tab-topics.ts. */
const MAX_FOLLOWED = 20;

/** Of many runs or flows, the newest subscriptions. Pages get the changes of the others as `change`. */
function followed(topics: readonly string[]): string[] {
  const newest = (list: string) =>
    topics.filter((topic) => topic.startsWith(list)).slice(-MAX_FOLLOWED);
  const others = topics.filter((topic) => !topic.includes(":"));
  return [...others, ...newest("runs:"), ...newest("flows:")];
}

export function createLive({ open, schedule, isHidden }: LiveOptions) {
  const listeners = new Map<string, Set<Listener>>();
  const watchers = new Set<() => void>();
  let state: LiveState = "connecting";
  let source: LiveSource | undefined;
  let opened = "";
  let lastId = "";
  let cancel: (() => void) | undefined;

  const setState = (next: LiveState) => {
    if (next === state) return;
    state = next;
    for (const watcher of watchers) watcher();
  };

  const connect = () => {
    cancel = undefined;
    const topics = isHidden()
      ? ""
      : followed([...listeners.keys()])
          .sort()
          .join(",");
    if (topics === opened && source && source.readyState !== CLOSED) return;
    source?.close();
    source = undefined;
    opened = topics;
    if (topics === "") return;
    const current = open(
      `/api/live?${new URLSearchParams({ topics, ...(lastId && { after: lastId }) })}`,
    );
    source = current;
    current.onopen = () => setState("live");
    current.onerror = () => {
      setState("lost");
      // The browser reconnects by itself, except after a response that is not a stream.
      if (current.readyState === CLOSED && source === current) plan(RETRY_MS);
    };
    for (const kind of KINDS)
      current.addEventListener(kind, ({ data, lastEventId }) => {
        if (source !== current) return;
        if (lastEventId) lastId = lastEventId;
        const message = { kind, id: lastEventId, data: JSON.parse(data) as unknown };
        for (const set of listeners.values()) for (const listener of set) listener(message);
      });
  };

  const plan = (ms: number) => {
    cancel?.();
    cancel = schedule(connect, ms);
  };

  return {
    state: () => state,
    watch(watcher: () => void) {
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
    /** The tab was hidden or shown. */
    visibilityChanged: () => plan(0),
    /** Every listener gets the messages of all topics that are open, and ignores what is not its own. */
    subscribe(topic: string, listener: Listener) {
      const set = listeners.get(topic) ?? new Set();
      listeners.set(topic, set);
      set.add(listener);
      plan(SETTLE_MS);
      return () => {
        set.delete(listener);
        if (set.size === 0) listeners.delete(topic);
        plan(SETTLE_MS);
      };
    },
  };
}
