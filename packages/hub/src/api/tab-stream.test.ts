import { expect, it, onTestFinished, vi } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { systemTimers } from "../hosts/node/system-timers.ts";
import type { RunChange } from "../runs/follow-run.ts";
import { openSqlite } from "../store/backends/sqlite.ts";
import { edit, intents, makeFlow, publish } from "../store/contract/flow-sample.ts";
import { appendEvents, ids, START, sampleEvent, sampleEvents } from "../store/contract/sample.ts";
import { createFeed } from "../stream/feed.ts";
import { followTab, type TabStreamOptions } from "./tab-stream.ts";
import { parseTopics, type TabTopics } from "./tab-topics.ts";

interface Message {
  kind: string;
  id: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: messages of every shape
  data: any;
}

function setup() {
  const store = openSqlite(`${tempFolder()}/hub.db`);
  const feed = createFeed(store);
  onTestFinished(async () => {
    feed.close();
    await store.close();
  });
  const follow = async (
    topics: string,
    {
      after = new Map<string, number>(),
      isAdmin = true,
      readsRuns = isAdmin,
      followRun = async function* () {},
    }: {
      after?: Map<string, number>;
      isAdmin?: boolean;
      readsRuns?: boolean;
      followRun?: TabStreamOptions["followRun"];
    } = {},
  ) => {
    const messages: Message[] = [];
    let full = false;
    let timersFired = 0;
    const isFull = () => full;
    const follower = await followTab(
      {
        feed,
        store,
        followRun,
        timers: {
          after: (ms, task) =>
            systemTimers.after(ms, () => {
              task();
              timersFired += 1;
            }),
        },
        onError: (error) => expect(error).toBeUndefined(),
      },
      {
        tenant: "acme",
        topics: parseTopics(topics) as TabTopics,
        isAdmin,
        readsRuns,
        after,
        isFull,
        connection: {
          isFull,
          send(text) {
            const [, , id, kind = "", data = ""] =
              /^(id: (.*)\n)?event: (\w+)\ndata: (.*)\n\n$/.exec(text) ?? [];
            messages.push({ kind, id, data: JSON.parse(data) });
          },
        },
      },
    );
    onTestFinished(follower.stop);
    const of = (kind: string) => messages.filter((message) => message.kind === kind);
    return {
      messages,
      of,
      follower,
      setFull: (value: boolean) => (full = value),
      timersFired: () => timersFired,
    };
  };
  return { store, follow };
}

it("sends new events with their cursor, and changes of the tenant only", async () => {
  const { store, follow } = setup();
  const { of } = await follow("events,changes");
  expect(of("connected")).toMatchObject([{ id: "0" }]);
  const [one, two] = sampleEvents(2);
  await appendEvents(store, [one, two]);
  await appendEvents(store, [sampleEvent()], "umbrella");
  await vi.waitFor(() => expect(of("event")).toHaveLength(2));
  expect(of("event")).toMatchObject([
    { id: "1", data: { id: one.id, outcome: "unmatched", claimed_by: null } },
    { id: "2", data: { id: two.id } },
  ]);
  await store.markProcessed("acme", [one.id], START, null);
  await store.markProcessed("acme", [two.id], START, null);
  await vi.waitFor(() => expect(of("change")).toHaveLength(1));
  expect(of("change")[0]?.data).toEqual({ topic: "events", ids: ids([one, two]) });
});

it("resumes after a cursor, and reports that changes may have been missed", async () => {
  const { store, follow } = setup();
  const events = sampleEvents(3);
  await appendEvents(store, events);
  const { of } = await follow("events,changes", { after: new Map([["acme", 1]]) });
  await vi.waitFor(() => expect(of("event")).toHaveLength(2));
  await vi.waitFor(() => expect(of("change")).toHaveLength(3));
  expect(of("change").map(({ data }) => data)).toEqual([
    { topic: "events" },
    { topic: "runs" },
    { topic: "flows" },
  ]);
});

it("sends a token without the scope admin no changes of runs and flows", async () => {
  const { store, follow } = setup();
  const { of } = await follow("events,changes", { after: new Map([["acme", 0]]), isAdmin: false });
  await edit(store, await makeFlow(store), intents("Go"));
  await vi.waitFor(() => expect(of("change")).toHaveLength(1));
  const event = sampleEvent();
  await appendEvents(store, [event]);
  await store.markProcessed("acme", [event.id], START, null);
  await vi.waitFor(() => expect(of("change")).toHaveLength(2));
  expect(of("change").map(({ data }) => data.topic)).toEqual(["events", "events"]);
});

it("sends a token that may read runs no changes of flows", async () => {
  const { follow } = setup();
  const options = { after: new Map([["acme", 0]]), isAdmin: false, readsRuns: true };
  const { of } = await follow("events,changes", options);
  await vi.waitFor(() => expect(of("change")).toHaveLength(2));
  expect(of("change").map(({ data }) => data.topic)).toEqual(["events", "runs"]);
});

it("sends a flood of events as one change", async () => {
  const { store, follow } = setup();
  const { of, follower } = await follow("events");
  await appendEvents(store, sampleEvents(200));
  await vi.waitFor(() =>
    expect(of("change")).toEqual([{ kind: "change", data: { topic: "events" } }]),
  );
  expect(of("event").length).toBeLessThanOrEqual(20);
  expect(follower.cursor.get("acme")).toBe(200);
});

it("keeps changes of a full connection until it drains", async () => {
  const { store, follow } = setup();
  const { messages, of, setFull, follower, timersFired } = await follow("events,changes");
  const event = sampleEvent();
  setFull(true);
  await appendEvents(store, [event]);
  await store.markProcessed("acme", [event.id], START, null);
  await vi.waitFor(() => expect(timersFired()).toBeGreaterThan(0));
  expect(messages).toHaveLength(1);
  setFull(false);
  follower.resume();
  await vi.waitFor(() => expect([of("event").length, of("change").length]).toEqual([1, 1]));
});

it("sends the edits of the followed drafts, and names changed flows", async () => {
  const { store, follow } = setup();
  const flow = await makeFlow(store);
  const other = await makeFlow(store, intents("Other"));
  const { of } = await follow(`changes,flows:${flow.id}`);
  await edit(store, flow, intents("Go", "Stop"));
  await edit(store, other, intents("More"));
  await vi.waitFor(() =>
    expect(of("draft").map(({ data }) => data)).toEqual([{ flow: flow.id, revision: 2 }]),
  );
  expect(of("change").map(({ data }) => data)).toEqual([
    { topic: "flows", ids: [flow.id, other.id] },
  ]);
  await publish(store, flow);
  await vi.waitFor(() => expect(of("draft").at(-1)?.data.revision).toBe(3));
});

it("sends the steps of the followed runs, and ends them with the stream", async () => {
  const { follow } = setup();
  const run = {
    id: "r",
    status: "running",
    input: 1,
    created_at: 0,
    started_at: 0,
    finished_at: null,
  };
  const ended = Promise.withResolvers<void>();
  const { of, follower } = await follow("runs:r", {
    async *followRun(_tenant: string, _run: string, signal: AbortSignal) {
      try {
        yield { run, steps: [] } as unknown as RunChange;
        yield { run: { ...run, status: "succeeded" }, steps: [] } as unknown as RunChange;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      } finally {
        ended.resolve();
      }
    },
  });
  await vi.waitFor(() => expect(of("run_step")).toHaveLength(2));
  expect(of("run_step").map(({ data }) => data)).toMatchObject([
    { run: "r", status: "running", input: 1, steps: [] },
    { run: "r", status: "succeeded" },
  ]);
  follower.stop();
  await ended.promise;
});

it.each([
  ["odd", "unknown topic"],
  ["runs:", "unknown topic"],
  ["runs:a/b", "unknown topic"],
  [Array.from({ length: 21 }, (_, nth) => `runs:${nth}`).join(","), "at most 20 runs"],
])("rejects the topics %s", (text, message) => {
  expect(parseTopics(text)).toContain(message);
});
