import { expect, it, onTestFinished, vi } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import {
  leaseOne,
  publishTriggers,
  sampleConnection,
} from "../../connections/store/contract/connection-sample.ts";
import { edit, intents, makeFlow, publish } from "../../flows/store/contract/flow-sample.ts";
import { systemTimers } from "../../hosts/node/ports.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import { storeDefinition } from "../../store.ts";
import { appendEvents, ids, START, sampleEvent, sampleEvents } from "../store/contract/sample.ts";
import { createFeed } from "./feed.ts";
import { followTab, parseTopics, type TabStreamOptions, type TabTopics } from "./tab-stream.ts";

interface Message {
  kind: string;
  id: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: messages of every shape
  data: any;
}

function setup() {
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
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
    let isConnectionFull = false;
    let timersFired = 0;
    const isFull = () => isConnectionFull;
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
    const messagesOf = (kind: string) => messages.filter((message) => message.kind === kind);
    return {
      messages,
      messagesOf,
      follower,
      setFull: (value: boolean) => (isConnectionFull = value),
      timersFired: () => timersFired,
    };
  };
  return { store, follow };
}

it("sends new events with their cursor, and changes of the tenant only", async () => {
  const { store, follow } = setup();
  const { messagesOf } = await follow("events,changes");
  expect(messagesOf("connected")).toMatchObject([{ id: "0" }]);
  const [first, second] = sampleEvents(2);
  await appendEvents(store, [first, second]);
  await appendEvents(store, [sampleEvent()], "umbrella");
  await vi.waitFor(() => expect(messagesOf("event")).toHaveLength(2));
  expect(messagesOf("event")).toMatchObject([
    { id: "1", data: { id: first.id, outcome: "unmatched", claimed_by: null } },
    { id: "2", data: { id: second.id } },
  ]);
  await store.markProcessed("acme", [first.id], START, null);
  await store.markProcessed("acme", [second.id], START, null);
  await vi.waitFor(() => expect(messagesOf("change")).toHaveLength(1));
  expect(messagesOf("change")[0]?.data).toEqual({ topic: "events", ids: ids([first, second]) });
});

it("resumes after a cursor, and reports that changes may have been missed", async () => {
  const { store, follow } = setup();
  const events = sampleEvents(3);
  await appendEvents(store, events);
  const { messagesOf } = await follow("events,changes", { after: new Map([["acme", 1]]) });
  await vi.waitFor(() => expect(messagesOf("event")).toHaveLength(2));
  await vi.waitFor(() => expect(messagesOf("change")).toHaveLength(3));
  expect(messagesOf("change").map(({ data }) => data)).toEqual([
    { topic: "events" },
    { topic: "runs" },
    { topic: "flows" },
  ]);
});

it("sends a token without the scope admin no changes of runs and flows", async () => {
  const { store, follow } = setup();
  const { messagesOf } = await follow("events,changes", {
    after: new Map([["acme", 0]]),
    isAdmin: false,
  });
  await edit(store, await makeFlow(store), intents("Go"));
  await vi.waitFor(() => expect(messagesOf("change")).toHaveLength(1));
  const event = sampleEvent();
  await appendEvents(store, [event]);
  await store.markProcessed("acme", [event.id], START, null);
  await vi.waitFor(() => expect(messagesOf("change")).toHaveLength(2));
  expect(messagesOf("change").map(({ data }) => data.topic)).toEqual(["events", "events"]);
});

it("sends a token that may read runs no changes of flows", async () => {
  const { follow } = setup();
  const options = { after: new Map([["acme", 0]]), isAdmin: false, readsRuns: true };
  const { messagesOf } = await follow("events,changes", options);
  await vi.waitFor(() => expect(messagesOf("change")).toHaveLength(2));
  expect(messagesOf("change").map(({ data }) => data.topic)).toEqual(["events", "runs"]);
});

it("sends the first of many events, and one change for all others", async () => {
  const { store, follow } = setup();
  const { messagesOf, follower } = await follow("events");
  await appendEvents(store, sampleEvents(200));
  await vi.waitFor(() =>
    expect(messagesOf("change")).toEqual([{ kind: "change", data: { topic: "events" } }]),
  );
  expect(messagesOf("event").length).toBeLessThanOrEqual(20);
  expect(follower.cursor.get("acme")).toBe(200);
});

it("sends the changes for a full connection when it drains", async () => {
  const { store, follow } = setup();
  const { messages, messagesOf, setFull, follower, timersFired } = await follow("events,changes");
  const event = sampleEvent();
  setFull(true);
  await appendEvents(store, [event]);
  await store.markProcessed("acme", [event.id], START, null);
  await vi.waitFor(() => expect(timersFired()).toBeGreaterThan(0));
  expect(messages).toHaveLength(1);
  setFull(false);
  follower.resume();
  await vi.waitFor(() =>
    expect([messagesOf("event").length, messagesOf("change").length]).toEqual([1, 1]),
  );
});

it("sends the revisions of the followed drafts, and the ids of all changed flows", async () => {
  const { store, follow } = setup();
  const flow = await makeFlow(store);
  const other = await makeFlow(store, intents("Other"));
  const { messagesOf } = await follow(`changes,flows:${flow.id}`);
  await edit(store, flow, intents("Go", "Stop"));
  await edit(store, other, intents("More"));
  await vi.waitFor(() =>
    expect(messagesOf("draft").map(({ data }) => data)).toEqual([{ flow: flow.id, revision: 2 }]),
  );
  expect(messagesOf("change").map(({ data }) => data)).toEqual([
    { topic: "flows", ids: [flow.id, other.id] },
  ]);
  await publish(store, flow);
  await vi.waitFor(() => expect(messagesOf("draft").at(-1)?.data.revision).toBe(3));
});

it("sends the followed flows whose subscriptions have changed their states", async () => {
  const { store, follow } = setup();
  await store.createConnection(sampleConnection(), START);
  const flow = await publishTriggers(store, [{ node_id: "a" }]);
  const { messagesOf } = await follow(`changes,flows:${flow.id}`);
  const { connection, subscriptions } = await leaseOne(store);
  const states = subscriptions.map(({ id }) => ({ id, revision: 1, state: "failed" as const }));
  await store.finishConnection(
    "keeper",
    { id: connection.id, revision: 1, next_at: START },
    states,
    START,
  );
  await vi.waitFor(() =>
    expect(messagesOf("warnings").map(({ data }) => data)).toEqual([{ flow: flow.id }]),
  );
  expect(messagesOf("change").at(-1)?.data).toEqual({ topic: "flows", ids: [flow.id] });
  expect(messagesOf("draft")).toEqual([]);
});

it("sends the steps of the followed runs, and stops following them when the stream stops", async () => {
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
  const { messagesOf, follower } = await follow("runs:r", {
    async *followRun(_tenant: string, _run: string, signal: AbortSignal) {
      try {
        yield { run, steps: [] } as never;
        yield { run: { ...run, status: "succeeded" }, steps: [] } as never;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      } finally {
        ended.resolve();
      }
    },
  });
  await vi.waitFor(() => expect(messagesOf("run_step")).toHaveLength(2));
  expect(messagesOf("run_step").map(({ data }) => data)).toMatchObject([
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
  [Array.from({ length: 21 }, (_, index) => `runs:${index}`).join(","), "at most 20 runs"],
])("rejects the topics %s", (text, message) => {
  expect(parseTopics(text)).toContain(message);
});
