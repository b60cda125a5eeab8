/**
 * The live stream of one browser tab: new events, changes, the steps of runs and edits of drafts. They
 * share one connection, since browsers allow six per host. Events resume from the cursor. Changes and
 * edits are hints that the tab must load data again. Hints are merged, and those for a full connection
 * are sent when it drains.
 */
import type { LiveData } from "@signalbox/contract/live.ts";
import type { RunView, Step } from "@signalbox/contract/runs.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import type { Notice } from "../../kernel/store/sql.ts";
import type { Store } from "../../store.ts";
import { type Cursor, encodeCursor } from "../inbox/cursor.ts";
import { itemView } from "../inbox/event-view.ts";
import type { EventRow } from "../model.ts";
import type { Feed, Follower } from "./feed.ts";

/** The topics of `GET /api/live`, such as `events,changes,runs:ID,flows:ID`. */
export interface TabTopics {
  events: boolean;
  changes: boolean;
  runs: readonly string[];
  flows: readonly string[];
}

/** The maximum number of runs, and of flows. A page of the web UI shows only a few at a time. */
const MAX_FOLLOWED = 20;

/** Returns an error message if the text is not a list of topics. */
export function parseTopics(text: string | null): TabTopics | string {
  const topics = { events: false, changes: false, runs: [] as string[], flows: [] as string[] };
  for (const topic of new Set((text ?? "events,changes").split(",").filter(Boolean))) {
    const [, list, id] = /^(runs|flows):([\w-]{1,100})$/.exec(topic) ?? [];
    if (topic === "events" || topic === "changes") topics[topic] = true;
    else if (id !== undefined) topics[list as "runs" | "flows"].push(id);
    else
      return `unknown topic ${JSON.stringify(topic.slice(0, 100))}: use events, changes, runs:ID or flows:ID`;
  }
  return topics.runs.length > MAX_FOLLOWED || topics.flows.length > MAX_FOLLOWED
    ? `must have at most ${MAX_FOLLOWED} runs and ${MAX_FOLLOWED} flows`
    : topics;
}

export interface TabStreamOptions {
  feed: Feed;
  store: Pick<Store, "subscribe">;
  /** Yields the run, and its new and changed steps. */
  followRun(
    tenant: string,
    run: string,
    signal: AbortSignal,
  ): AsyncGenerator<{ run: RunView; steps: Step[] }, void>;
  timers: Pick<Timers, "after">;
  onError: (error: unknown) => void;
}

export interface TabRequest {
  tenant: string;
  topics: TabTopics;
  /** If false, the tab gets no changes of runs: it cannot list runs. */
  readsRuns: boolean;
  /** If false, the tab gets no changes of flows. */
  isAdmin: boolean;
  after: Cursor;
  connection: {
    send(text: string): void;
    /** Whether the send buffer is full. */
    isFull(): boolean;
  };
  /** Whether the connection is full. It is called before each write. */
  isFull(): boolean;
}

/** Hints within this time are merged. */
const MERGE_MS = 250;
/** The maximum number of events that are sent within `MERGE_MS`. Further events become one hint. */
const MAX_EVENTS = 20;
/** A hint with more ids is sent without ids. */
const MAX_IDS = 500;

type ChangeTopic = LiveData["change"]["topic"];

/** Caches the frames of events, which are the same for all tabs. */
const frames = new WeakMap<EventRow, string>();

function eventFrame(event: EventRow): string {
  let text = frames.get(event);
  if (text === undefined) {
    text = frame("event", itemView(event), String(event.seq));
    frames.set(event, text);
  }
  return text;
}

const frame = <Kind extends keyof LiveData>(
  kind: Kind,
  data: LiveData[Kind],
  id?: string,
): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;

export async function followTab(
  { feed, store, followRun, timers, onError }: TabStreamOptions,
  { tenant, topics, readsRuns, isAdmin, after, connection, isFull }: TabRequest,
): Promise<Follower> {
  const stopping = new AbortController();
  /** The changed ids of each topic; `all` if there are too many, or they are unknown. */
  const changes = new Map<ChangeTopic, Set<string> | "all">();
  /** The revisions of changed drafts, by flow. */
  const drafts = new Map<string, number>();
  /** The flows whose warnings have changed, although their drafts have not. */
  const warned = new Set<string>();
  let sentEvents = 0;
  let cancelTimer: (() => void) | undefined;
  /** Resolved when the connection drains or the stream stops. */
  let drained = Promise.withResolvers<void>();

  const flush = () => {
    cancelTimer = undefined;
    sentEvents = 0;
    if (stopping.signal.aborted || isFull()) return;
    for (const [topic, ids] of changes)
      connection.send(frame("change", { topic, ...(ids !== "all" && { ids: [...ids] }) }));
    changes.clear();
    for (const [flow, revision] of drafts) connection.send(frame("draft", { flow, revision }));
    drafts.clear();
    for (const flow of warned) connection.send(frame("warnings", { flow }));
    warned.clear();
  };
  const schedule = () => {
    cancelTimer ??= timers.after(MERGE_MS, flush);
  };
  /** Adds a hint. Without ids, any item of the topic may have changed. */
  const addChange = (topic: ChangeTopic, ids?: readonly string[]) => {
    const isWanted = topic === "events" ? topics.events || topics.changes : topics.changes;
    const isAllowed = { events: true, runs: readsRuns, flows: isAdmin }[topic];
    if (!isWanted || !isAllowed) return;
    const pendingIds = changes.get(topic) ?? new Set();
    const isAll =
      ids === undefined || pendingIds === "all" || pendingIds.size + ids.length > MAX_IDS;
    changes.set(topic, isAll ? "all" : new Set([...pendingIds, ...ids]));
    schedule();
  };
  const onNotice = (notice: Notice) => {
    if (notice.topic === "gap") return addAllChanges();
    if (!("tenant" in notice) || notice.tenant !== tenant) return;
    if (notice.topic === "changed") addChange("events", notice.ids);
    else if (notice.topic === "run_ended") addChange("runs", [notice.run]);
    else if (notice.topic === "tools") addChange("flows");
    else if (notice.topic === "subscriptions") {
      addChange("flows", notice.flows);
      for (const flow of notice.flows) if (topics.flows.includes(flow)) warned.add(flow);
      if (warned.size > 0) schedule();
    } else if (notice.topic === "flow") {
      addChange("flows", [notice.flow]);
      if (!topics.flows.includes(notice.flow)) return;
      drafts.set(notice.flow, notice.revision);
      schedule();
    }
  };
  /** Called when notices may have been missed. */
  const addAllChanges = () => {
    for (const topic of ["events", "runs", "flows"] as const) addChange(topic);
  };

  const sendSteps = async (id: string) => {
    let isFirst = true;
    for await (const { run, steps } of followRun(tenant, id, stopping.signal)) {
      while (isFull() && !stopping.signal.aborted) await drained.promise;
      if (stopping.signal.aborted) return;
      const { input: _, ...withoutInput } = run;
      const data = { ...(isFirst ? run : withoutInput), steps };
      connection.send(frame("run_step", { run: id, ...data }));
      isFirst = false;
    }
  };

  const unsubscribe = store.subscribe(onNotice);
  const stop = () => {
    stopping.abort();
    drained.resolve();
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
          if (after.size > 0) addAllChanges();
        },
        event(event) {
          if (!topics.events) return;
          sentEvents += 1;
          if (sentEvents <= MAX_EVENTS) connection.send(eventFrame(event));
          else addChange("events");
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
      drained.resolve();
      drained = Promise.withResolvers();
      follower.resume();
      if (changes.size + drafts.size > 0) schedule();
    },
    stop() {
      stop();
      follower.stop();
    },
  };
}
