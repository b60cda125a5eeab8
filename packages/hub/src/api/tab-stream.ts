/**
 * The live stream of one browser tab: new events, changes, the steps of runs and edits of drafts, on
 * one connection, since browsers allow six per host. Events resume from the cursor. Everything else is
 * a hint to load again: hints are merged, and those of a full connection are sent when it drains.
 */
import { type Cursor, encodeCursor } from "../inbox/cursor.ts";
import { itemView } from "../inbox/event-view.ts";
import type { Timers } from "../lib/timers.ts";
import type { RunChange } from "../runs/follow-run.ts";
import type { Notice } from "../store/sql.ts";
import type { EventRow, Store } from "../store/store.ts";
import type { Feed, Follower } from "../stream/feed.ts";
import type { LiveConnection } from "./live-streams.ts";
import type { TabTopics } from "./tab-topics.ts";
import { viewRun, viewStep } from "./views.ts";

export interface TabStreamOptions {
  feed: Feed;
  store: Pick<Store, "subscribe">;
  followRun(tenant: string, run: string, signal: AbortSignal): AsyncGenerator<RunChange, void>;
  timers: Pick<Timers, "after">;
  onError: (error: unknown) => void;
}

export interface TabRequest {
  tenant: string;
  topics: TabTopics;
  /** Otherwise the tab gets no changes of runs, as it cannot list them. */
  readsRuns: boolean;
  /** Otherwise the tab gets no changes of flows. */
  isAdmin: boolean;
  after: Cursor;
  connection: Pick<LiveConnection, "send" | "isFull">;
  /** Called before each write: whether the connection is full. */
  isFull(): boolean;
}

/** Hints within this time are merged. */
const MERGE_MS = 250;
/** A tab cannot show more new events within that time: the rest is one hint. */
const MAX_EVENTS = 20;
const MAX_IDS = 500;

type ChangeTopic = "events" | "runs" | "flows";

/** The frame of an event is the same for all tabs. */
const frames = new WeakMap<EventRow, string>();

function eventFrame(event: EventRow): string {
  let text = frames.get(event);
  if (text === undefined) {
    text = frame("event", itemView(event), String(event.seq));
    frames.set(event, text);
  }
  return text;
}

const frame = (kind: string, data: unknown, id?: string): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;

export async function followTab(
  { feed, store, followRun, timers, onError }: TabStreamOptions,
  { tenant, topics, readsRuns, isAdmin, after, connection, isFull }: TabRequest,
): Promise<Follower> {
  const stopping = new AbortController();
  /** The changed ids of each topic; `all` if there are too many, or they are unknown. */
  const changes = new Map<ChangeTopic, Set<string> | "all">();
  const drafts = new Map<string, number>();
  let sentEvents = 0;
  let cancelTimer: (() => void) | undefined;
  let wake = Promise.withResolvers<void>();

  const flush = () => {
    cancelTimer = undefined;
    sentEvents = 0;
    if (stopping.signal.aborted || isFull()) return;
    for (const [topic, ids] of changes)
      connection.send(frame("change", { topic, ...(ids !== "all" && { ids: [...ids] }) }));
    changes.clear();
    for (const [flow, revision] of drafts) connection.send(frame("draft", { flow, revision }));
    drafts.clear();
  };
  const schedule = () => {
    cancelTimer ??= timers.after(MERGE_MS, flush);
  };
  const change = (topic: ChangeTopic, ids?: readonly string[]) => {
    const isWanted = topic === "events" ? topics.events || topics.changes : topics.changes;
    const isAllowed = { events: true, runs: readsRuns, flows: isAdmin }[topic];
    if (!isWanted || !isAllowed) return;
    const before = changes.get(topic) ?? new Set();
    const all = ids === undefined || before === "all" || before.size + ids.length > MAX_IDS;
    changes.set(topic, all ? "all" : new Set([...before, ...ids]));
    schedule();
  };
  const onNotice = (notice: Notice) => {
    if (notice.topic === "gap") return missed();
    if (!("tenant" in notice) || notice.tenant !== tenant) return;
    if (notice.topic === "changed") change("events", notice.ids);
    else if (notice.topic === "run_ended") change("runs", [notice.run]);
    else if (notice.topic === "tools") change("flows");
    else if (notice.topic === "flow") {
      change("flows", [notice.flow]);
      if (!topics.flows.includes(notice.flow)) return;
      drafts.set(notice.flow, notice.revision);
      schedule();
    }
  };
  /** Any change may have been missed. */
  const missed = () => {
    for (const topic of ["events", "runs", "flows"] as const) change(topic);
  };

  const sendSteps = async (id: string) => {
    let isFirst = true;
    for await (const { run, steps } of followRun(tenant, id, stopping.signal)) {
      while (isFull() && !stopping.signal.aborted) await wake.promise;
      if (stopping.signal.aborted) return;
      const { input: _, ...changed } = viewRun(run);
      const data = { ...(isFirst ? viewRun(run) : changed), steps: steps.map(viewStep) };
      connection.send(frame("run_step", { run: id, ...data }));
      isFirst = false;
    }
  };

  const unsubscribe = store.subscribe(onNotice);
  const stop = () => {
    stopping.abort();
    wake.resolve();
    cancelTimer?.();
    unsubscribe();
  };
  let follower: Follower;
  try {
    follower = await feed.follow({
      tenants: [tenant],
      after,
      filter: {},
      sink: {
        start(cursor) {
          connection.send(frame("connected", {}, encodeCursor(cursor, [tenant])));
          if (after.size > 0) missed();
        },
        event(event) {
          if (!topics.events) return;
          sentEvents += 1;
          if (sentEvents <= MAX_EVENTS) connection.send(eventFrame(event));
          else change("events");
          schedule();
        },
        truncated: (_, reason) => connection.send(frame("truncated", { reason })),
        isFull,
      },
    });
  } catch (error) {
    stop();
    throw error;
  }
  for (const id of topics.runs)
    sendSteps(id).catch((error: unknown) => {
      if (!stopping.signal.aborted) onError(error);
    });

  return {
    cursor: follower.cursor,
    resume() {
      wake.resolve();
      wake = Promise.withResolvers();
      follower.resume();
      if (changes.size + drafts.size > 0) schedule();
    },
    stop() {
      stop();
      follower.stop();
    },
  };
}
