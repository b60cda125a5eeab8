import type { EventSelection } from "@signalbox/rules/flows/node-type.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { createLargeReads } from "../../events/inbox/large-reads.ts";
import type { NewEvent } from "../../events/model.ts";
import { appendRequest, sampleEvent } from "../../events/store/contract/sample.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import { createIds } from "../../kernel/lib/ids.ts";
import { createAppend } from "../../pipeline.ts";
import { type Store, storeDefinition } from "../../store.ts";
import type { NewTrigger, StoredFlow, StoredTrigger } from "../model.ts";
import { eventTrigger, makeFlow, publish } from "../store/contract/flow-sample.ts";
import { type RecordedRequest, testRunJob } from "../test-run-job.ts";
import { CHAIN_HEADER, DEPTH_HEADER, OWN_SOURCE } from "./event-input.ts";
import { createExplainer } from "./explain.ts";
import { createMatcher, type Matcher } from "./matcher.ts";
import type { EventPlan } from "./model.ts";

const TENANT = "acme";
const NOW = 1_000_000;
const newId = createIds();
const now = () => NOW;
const options = {
  runJob: testRunJob,
  newId,
  now,
  maxChain: 5,
  maxLoops: 30,
};

let store: Store;
let matcher: Matcher;
let lookups: number;

beforeEach(() => {
  store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  lookups = 0;
  const counting: Store = {
    ...store,
    findTriggers(...args) {
      lookups += 1;
      return store.findTriggers(...args);
    },
  };
  matcher = createMatcher({ store: counting, ...options });
  onTestFinished(async () => {
    matcher.close();
    await store.close();
  });
});

const publishTrigger = async (overrides: Partial<NewTrigger> = {}): Promise<StoredFlow> => {
  const flow = await makeFlow(store);
  await publish(store, flow, { triggers: [eventTrigger(overrides)] });
  return flow;
};
const createEvent = (data: JsonObject = {}, overrides: Partial<NewEvent> = {}) =>
  sampleEvent({ body: new TextEncoder().encode(JSON.stringify(data)), ...overrides });
const planOf = async (event: NewEvent): Promise<EventPlan | undefined> =>
  (await matcher.plan(appendRequest([event]))).events[0];
const countRuns = async (event: NewEvent) => (await planOf(event))?.runs.length ?? 0;

describe("a matcher", () => {
  test("plans a run for each trigger that matches, and returns reasons for the others", async () => {
    const flow = await publishTrigger({ config: { params: { action: "opened" } } });
    const plan = await planOf(createEvent({ action: "opened" }));
    expect(plan?.runs).toMatchObject([
      {
        tenant: TENANT,
        flow_id: flow.id,
        version: 1,
        trigger_node: "on event",
        cause: "event",
        at: NOW,
        due_at: NOW,
        depth: 1,
      },
    ]);
    expect(plan?.verdicts).toMatchObject([{ flow_id: flow.id, matched: true }]);
    const other = await planOf(createEvent({ action: "closed" }));
    expect(other?.runs).toEqual([]);
    expect(other?.verdicts).toMatchObject([{ matched: false }]);
    expect(other?.verdicts[0]?.reasons.find(({ holds }) => !holds)?.message).toBe(
      'action is "closed", wanted "opened"',
    );
  });

  test("evaluates all filters of an event in one call, and makes no call without filters", async () => {
    const requests: RecordedRequest[] = [];
    const counting = createMatcher({
      store,
      ...options,
      runJob: (request, caller) => {
        requests.push(request);
        return testRunJob(request, caller);
      },
    });
    onTestFinished(counting.close);
    await publishTrigger({ config: { params: { action: "opened" } } });
    expect(
      (await counting.plan(appendRequest([createEvent({ action: "opened" })]))).events,
    ).toHaveLength(1);
    expect(requests).toEqual([]);
    const filters = ["data.n > 1", "data.n > 2", "data.("];
    for (const filter of filters) await publishTrigger({ config: { filter } });
    // The params of this trigger do not match, so its filter is not evaluated.
    await publishTrigger({ config: { params: { action: "closed" }, filter: "true" } });
    const { events } = await counting.plan(
      appendRequest([createEvent({ action: "opened", n: 2 })]),
    );
    expect(requests).toMatchObject([{ job: "jsonata-filters", expressions: filters }]);
    expect(events[0]?.verdicts.map(({ matched }) => matched)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(events[0]?.verdicts[3]?.reasons.at(-1)?.message).toMatch(/^the filter failed: /);
  });

  describe("with many triggers", () => {
    const publishMany = async (count: number, configOf: (index: number) => JsonObject) => {
      const flow = await makeFlow(store);
      const triggers = Array.from({ length: count }, (_, index) =>
        // In the order of the store.
        eventTrigger({ node_id: `n${String(index).padStart(4, "0")}`, config: configOf(index) }),
      );
      await publish(store, flow, { triggers });
    };
    const nodesOf = (items: readonly { trigger_node: string }[] = []) =>
      items.map(({ trigger_node }) => trigger_node);

    test("compares only the candidates, and plans their runs in the order of the triggers", async () => {
      const filters: string[] = [];
      const counting = createMatcher({
        store,
        ...options,
        runJob: (request, caller) => {
          const { job, expressions = [] }: RecordedRequest = request;
          if (job === "jsonata-filters") filters.push(...expressions);
          return testRunJob(request, caller);
        },
      });
      onTestFinished(counting.close);
      await publishMany(100, (index) => ({
        params: { action: "opened", n: { op: "in", value: [index, -1] } },
        filter: `data.n >= ${index - 1}`,
      }));
      const plan = async (n: number) => {
        const { events } = await counting.plan(
          appendRequest([createEvent({ action: "opened", n })]),
        );
        return events[0];
      };
      expect(nodesOf((await plan(7))?.runs)).toEqual(["n0007"]);
      expect(filters).toEqual(["data.n >= 6"]);
      expect(nodesOf((await plan(-1))?.runs)).toEqual(["n0000"]);
      expect((await plan(200))?.verdicts).toEqual([]);
    });

    test("stores the nearest misses of the candidates", async () => {
      await publishMany(60, (index) => ({
        params: { action: "opened", n: { op: "gt", value: index } },
      }));
      const plan = await planOf(createEvent({ action: "opened", n: 20 }));
      expect(plan?.runs).toHaveLength(20);
      expect(plan?.verdicts).toHaveLength(30);
      expect(plan?.verdicts.at(-1)).toMatchObject({
        node_id: "n0029",
        matched: false,
        reasons: [{ on: "param", path: "n", holds: false }],
      });
    });

    test("reads the keys of a large payload in a job, and compares only the candidates", async () => {
      const requests: RecordedRequest[] = [];
      const counting = createMatcher({
        store,
        ...options,
        runJob: (request, caller) => {
          requests.push(request);
          return testRunJob(request, caller);
        },
      });
      onTestFinished(counting.close);
      await publishMany(60, (index) => ({ params: index === 0 ? { text: "y" } : { n: index } }));
      const text = "x".repeat(LARGE_BYTES);
      const { events } = await counting.plan(appendRequest([createEvent({ n: 7, text })]));
      expect(nodesOf(events[0]?.runs)).toEqual(["n0007"]);
      const compared = requests.map(({ job, expressions }) =>
        job === "match" ? expressions?.length : undefined,
      );
      // `text` is too long for a key, so the trigger that depends on it is compared.
      expect(compared).toEqual([1, 2]);
    });

    test("compares each trigger whose path was not read within the time budget", async () => {
      let time = 0;
      const compared: number[] = [];
      const slow = createMatcher({
        store,
        ...options,
        now: () => time++ * 20,
        runJob: (request, caller) => {
          const { job, expressions = [] }: RecordedRequest = request;
          if (job === "match") compared.push(expressions.length);
          return testRunJob(request, caller);
        },
      });
      onTestFinished(slow.close);
      await publishMany(60, (index) => ({ params: { [`n${index}`]: index === 0 ? 1 : 0 } }));
      const data = { n0: 0, n50: 0, padding: "x".repeat(100_000) };
      const { events } = await slow.plan(appendRequest([createEvent(data)]));
      expect(nodesOf(events[0]?.runs)).toEqual(["n0050"]);
      // The first path was read, and the next trigger was compared in this process.
      expect(compared).toEqual([58]);
    });

    test("loads the triggers in pages", async () => {
      await publishMany(1_001, (n) => ({ params: { n } }));
      const plans = [await planOf(createEvent({ n: 0 })), await planOf(createEvent({ n: 1_000 }))];
      expect(plans.map((plan) => nodesOf(plan?.runs))).toEqual([["n0000"], ["n1000"]]);
      expect(lookups).toBe(3);
    });

    test("queries the store once for concurrent events", async () => {
      await publishMany(20, (n) => ({ params: { n } }));
      const plans = await Promise.all([1, 2, 3].map((n) => planOf(createEvent({ n }))));
      expect(plans.map((plan) => nodesOf(plan?.runs))).toEqual([["n0001"], ["n0002"], ["n0003"]]);
      expect(lookups).toBe(1);
    });
  });

  test("uses the payload that ingest has parsed", async () => {
    await publishTrigger({ config: { params: { action: "opened" } } });
    const request = appendRequest([createEvent({ action: "closed" })]);
    const { events } = await matcher.plan({ ...request, data: [{ action: "opened" }] });
    expect(events[0]?.runs).toHaveLength(1);
  });

  test("matches a source by kind or id, and any type if the trigger has no type", async () => {
    await publishTrigger({ source: "github", type: null });
    await publishTrigger({ source: "endpoint-7", type: "issues" });
    await publishTrigger({ source: "stripe", type: null });
    await publishTrigger({ active: false });
    expect(await countRuns(createEvent())).toBe(1);
    expect(await countRuns(createEvent({}, { source_id: "endpoint-7" }))).toBe(2);
    expect(await countRuns(createEvent({}, { source_id: "endpoint-7", type: "push" }))).toBe(1);
    expect(await countRuns(createEvent({}, { source: "slack", source_id: "slack" }))).toBe(0);
  });

  test("queries the store once per source and type, or once if the tenant has no triggers", async () => {
    for (let round = 0; round < 3; round += 1) await countRuns(createEvent());
    for (const type of ["push", "release"]) await countRuns(createEvent({}, { type }));
    expect(lookups).toBe(1);
    await publishTrigger();
    for (let round = 0; round < 3; round += 1) await countRuns(createEvent());
    for (let round = 0; round < 3; round += 1) await countRuns(createEvent({}, { type: "push" }));
    expect(lookups).toBe(3);
    // A cached plan is returned without a promise.
    expect(matcher.plan(appendRequest([createEvent({}, { type: "push" })]))).not.toBeInstanceOf(
      Promise,
    );
  });

  test("invalidates its cache when triggers change", async () => {
    expect(await countRuns(createEvent())).toBe(0);
    await publishTrigger();
    expect(await countRuns(createEvent())).toBe(1);
    await publishTrigger();
    expect(await countRuns(createEvent())).toBe(2);
  });

  test("plans all events of a request with triggers of one revision", async () => {
    await publishTrigger();
    const flow = await makeFlow(store);
    let queries = 0;
    const changing: Store = {
      ...store,
      async findTriggers(...args) {
        const result = await store.findTriggers(...args);
        queries += 1;
        // A flow is published between the two lookups.
        if (queries === 1) await publish(store, flow, { triggers: [eventTrigger()] });
        return result;
      },
      subscribe: () => () => {},
    };
    const { plan } = createMatcher({ store: changing, ...options });
    const { revision, events } = await plan(
      appendRequest([createEvent(), createEvent({}, { type: "push" })]),
    );
    expect(revision).toBe((await store.findTriggers(TENANT, ["github"], "issues")).revision);
    expect(events.map(({ runs }) => runs.length)).toEqual([2, 0]);
  });

  test("stops a chain of runs and events at the limit, with a reason", async () => {
    await publishTrigger({ source: OWN_SOURCE, type: null });
    const emitted = (depth: number) =>
      createEvent(
        {},
        { source: OWN_SOURCE, source_id: "a flow", headers: { [DEPTH_HEADER]: String(depth) } },
      );
    expect((await planOf(emitted(4)))?.runs).toMatchObject([{ depth: 5 }]);
    const stopped = await planOf(emitted(5));
    expect(stopped?.runs).toEqual([]);
    expect(stopped?.verdicts).toMatchObject([
      { matched: false, breaker: { limit: "chain", max: 5 } },
    ]);
    expect(stopped?.verdicts[0]?.reasons.at(-1)).toEqual({
      on: "breaker",
      holds: false,
      message:
        "stopped by the breaker: more than 5 runs triggered each other. Break the cycle, or raise SIGNALBOX_MAX_CHAIN.",
    });
    // Senders of webhooks cannot set the chain.
    const flow = await publishTrigger();
    const headers = { [DEPTH_HEADER]: "99", [CHAIN_HEADER]: JSON.stringify([flow.id]) };
    const plan = await planOf(createEvent({}, { headers }));
    expect(plan?.runs).toMatchObject([{ depth: 1, chain: [] }]);
    expect(plan?.verdicts[0]?.breaker).toBeUndefined();
  });

  test("adds the loop breaker only to matching triggers whose own flow caused the event", async () => {
    const own = { source: OWN_SOURCE, type: null };
    const flow = await publishTrigger(own);
    const other = await publishTrigger(own);
    const unmatched = await publishTrigger({ ...own, config: { params: { action: "closed" } } });
    const emitted = (depth: number, chain: string[]) =>
      createEvent(
        { action: "opened" },
        {
          source: OWN_SOURCE,
          source_id: "a flow",
          headers: { [DEPTH_HEADER]: String(depth), [CHAIN_HEADER]: JSON.stringify(chain) },
        },
      );
    const chain = [unmatched.id, flow.id, "another"];
    const plan = await planOf(emitted(3, chain));
    expect(plan?.runs).toMatchObject([
      { flow_id: flow.id, chain },
      { flow_id: other.id, chain },
    ]);
    const breakers = (planned: EventPlan | undefined) =>
      planned?.verdicts.map(({ flow_id, breaker }) => [flow_id, breaker?.limit, breaker?.max]);
    expect(breakers(plan)).toEqual([
      [flow.id, "loops", 30],
      [other.id, undefined, undefined],
      [unmatched.id, undefined, undefined],
    ]);
    expect(breakers(await planOf(emitted(5, chain)))).toEqual([
      [flow.id, "chain", 5],
      [other.id, "chain", 5],
      [unmatched.id, undefined, undefined],
    ]);
  });

  test("assigns runs to lanes by the value at a path", async () => {
    const key = "issue.number";
    await publishTrigger({
      config: { concurrency: { most: 2, key }, gather: { forMs: 500, key } },
    });
    const lanes = async (number: number) => {
      const [run] = (await planOf(createEvent({ issue: { number } })))?.runs ?? [];
      expect(run).toMatchObject({ due_at: NOW + 500, limit: { max: 2 } });
      return [run?.limit?.lane, run?.gather?.lane];
    };
    expect(await lanes(1)).toEqual(await lanes(1));
    expect(await lanes(1)).not.toEqual(await lanes(2));
  });
});

describe("events and the runs that they start", () => {
  const appendTo = (target: Store) =>
    createAppend({
      matcher,
      commit: {
        async append(request) {
          const [appended] = await target.appendEvents([request], null);
          if (!appended) throw new Error("no result");
          return appended;
        },
      },
    });
  const runs = () => store.listRuns({ tenant: TENANT, limit: 100 });

  test("are stored together, and a duplicate starts no run", async () => {
    await publishTrigger();
    const append = appendTo(store);
    const event = createEvent();
    expect((await append(appendRequest([event]))).outcome).toBe("stored");
    expect((await append(appendRequest([{ ...event, id: newId() }]))).outcome).toBe("duplicate");
    expect(await runs()).toMatchObject([{ event_id: event.id, status: "queued" }]);
  });

  test("are matched again if triggers change before the events are stored", async () => {
    const flow = await makeFlow(store);
    await countRuns(createEvent());
    let isFirst = true;
    const append = appendTo({
      ...store,
      async appendEvents(...args) {
        // Published after planning and before storing.
        if (isFirst) {
          isFirst = false;
          await publish(store, flow, { triggers: [eventTrigger()] });
        }
        return store.appendEvents(...args);
      },
    });
    expect((await append(appendRequest([createEvent()]))).outcome).toBe("stored");
    expect((await runs()).length).toBe(1);
  });

  test("share one run, whose id is in every verdict, if the trigger gathers them", async () => {
    const flow = await publishTrigger({ config: { gather: { forMs: 60_000 } } });
    const append = appendTo(store);
    const burst = Array.from({ length: 20 }, (_, index) => createEvent({ n: index }));
    for (const event of burst) await append(appendRequest([event]));
    const [run, ...others] = await runs();
    expect(others).toEqual([]);
    expect(run).toMatchObject({ flow_id: flow.id, event_id: burst[0]?.id, gathered_count: 19 });
    for (const event of burst)
      expect(await store.listVerdicts(TENANT, event.id)).toMatchObject([{ run_id: run?.id }]);
  });
});

describe("an explainer", () => {
  const PAGE = { limit: 50 };
  const setUp = async (...triggers: Partial<NewTrigger>[]) => {
    const flows = [];
    for (const trigger of triggers) flows.push(await publishTrigger(trigger));
    const event = createEvent({ action: "opened" });
    await store.appendEvents(
      [{ ...appendRequest([event]), plan: await matcher.plan(appendRequest([event])) }],
      null,
    );
    return {
      event,
      flows,
      triggers: createExplainer({ store, largeReads: createLargeReads(), ...options }),
    };
  };

  test("reserves the memory of a large payload until the payload has been compared", async () => {
    const flow = await publishTrigger();
    const large = createEvent({ action: "opened", text: "x".repeat(LARGE_BYTES) });
    await store.appendEvents([appendRequest([large])], null);
    const compared = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const steps: string[] = [];
    const triggers = createExplainer({
      store: {
        ...store,
        getRun: () => expect.unreachable("getRun loads the whole input and output"),
        getPayload: (...args: Parameters<Store["getPayload"]>) => {
          steps.push("payload");
          return store.getPayload(...args);
        },
      } as Store,
      largeReads: async (row, work) => {
        steps.push(`${row.size}`);
        const result = await work();
        steps.push("done");
        return result;
      },
      ...options,
      async runJob(...args) {
        started.resolve();
        await compared.promise;
        return testRunJob(...args);
      },
    });
    const explained = triggers.explain(TENANT, large.id, PAGE);
    await started.promise;
    expect(steps).toEqual([String(large.body.byteLength), "payload"]);
    compared.resolve();
    expect(await explained).toMatchObject({ items: [{ flow_id: flow.id, matched: true }] });
    await triggers.replay(TENANT, large.id);
    await triggers.test(TENANT, { source: "github" }, { limit: 1 });
    const stepsOnce = [String(large.body.byteLength), "payload", "done"];
    expect(steps).toEqual([...stepsOnce, ...stepsOnce, ...stepsOnce]);
  });

  describe("tests a trigger", () => {
    const selection = { source: "github", type: "issues", params: { action: "opened" } };
    const append = (events: NewEvent[]) => store.appendEvents([appendRequest(events)], null);
    const appendMany = (overrides: Partial<NewEvent>) =>
      append(
        Array.from({ length: 120 }, () => ({ ...createEvent({ action: "closed" }), ...overrides })),
      );
    const testTrigger = async (overrides: Partial<EventSelection> = {}) => {
      const triggers = createExplainer({ store, largeReads: createLargeReads(), ...options });
      const result = await triggers.test(TENANT, { ...selection, ...overrides }, { limit: 100 });
      const matched = result.tested.filter(({ matched }) => matched).map(({ event }) => event.id);
      return { ...result, matched };
    };

    test("with events of its own source and type, even if there are many other events", async () => {
      const matching = createEvent({ action: "opened" });
      await append([matching]);
      await appendMany({ source: "stripe", source_id: "stripe" });
      await appendMany({ type: "push" });
      expect(await testTrigger()).toMatchObject({
        compared: "The newest events from github of type issues",
        tested: { length: 1 },
        matched: [matching.id],
      });
      expect(await testTrigger({ type: "" })).toMatchObject({
        compared: "The newest events from github",
        tested: { length: 100 },
      });
    });

    test("with events of one endpoint", async () => {
      const matching = { ...createEvent({ action: "opened" }), source_id: "endpoint-1" };
      await append([matching, createEvent({ action: "opened" })]);
      expect(await testTrigger({ source: "endpoint-1" })).toMatchObject({
        compared: "The newest events from endpoint-1 of type issues",
        found: "type",
        tested: { length: 1 },
        matched: [matching.id],
      });
    });

    test("with events of other types if no event has its type", async () => {
      await append([createEvent({ action: "opened" })]);
      expect(await testTrigger({ type: "isues" })).toMatchObject({
        compared: "The newest events from github; none of the recent ones has the type isues",
        found: "source",
        tested: [{ matched: false, reason: 'type is "issues", wanted "isues"' }],
      });
      expect(await testTrigger({ source: "stripe" })).toEqual({
        compared: "No recent event is from stripe",
        found: "none",
        tested: [],
        matched: [],
      });
    });
  });

  test("explains every trigger, with its verdict on arrival or now", async () => {
    const { event, flows, triggers } = await setUp(
      {},
      { config: { params: { action: "closed" } } },
      { source: "stripe" },
    );
    const later = await publishTrigger();
    const { items: explained } = await triggers.explain(TENANT, event.id, PAGE);
    const triggerOf = (flow: StoredFlow | undefined) =>
      explained.find(({ flow_id }) => flow_id === flow?.id);
    expect(explained.length).toBe(4);
    expect(triggerOf(flows[0])).toMatchObject({
      matched: true,
      decided: "on arrival",
      run_status: "queued",
      run_id: expect.any(String),
      trigger: "A flow / on event",
      flow_name: "A flow",
      node_name: null,
    });
    expect(triggerOf(flows[1])).toMatchObject({
      matched: false,
      decided: "on arrival",
      reason: expect.stringContaining("action"),
      run_id: null,
    });
    expect(triggerOf(flows[2])).toMatchObject({ matched: false, decided: "computed" });
    expect(triggerOf(later)).toMatchObject({ matched: true, decided: "now", run_id: null });
    expect(triggerOf(later)?.reason).toMatch(
      /^was published or changed after the event arrived; now: the trigger is active/,
    );
  });

  test("explains many triggers in pages: matches, then near misses, then the others", async () => {
    const many = (count: number, prefix: string, configOf: (n: number) => JsonObject) =>
      Array.from({ length: count }, (_, n) =>
        eventTrigger({ node_id: `${prefix} ${n}/é`, config: { params: configOf(n) } }),
      );
    const action = "opened";
    const flow = await makeFlow(store);
    const other = await makeFlow(store);
    await publish(store, flow, {
      triggers: [
        ...many(3, "match", () => ({ action })),
        ...many(12, "near", () => ({ action: { op: "ne", value: action } })),
        ...many(8, "far", (n) => ({ action: String(n) })),
        eventTrigger({ node_id: "off", active: false }),
      ],
    });
    await publish(store, other, { triggers: [eventTrigger({ type: "push" })] });
    const { event, triggers } = await setUp();
    const readAll = async (query: { limit: number; flow?: string }) => {
      const pages = [];
      let cursor: string | undefined;
      do {
        const page = await triggers.explain(TENANT, event.id, { ...query, cursor });
        pages.push(page);
        cursor = page.next_cursor ?? undefined;
      } while (cursor !== undefined);
      return pages;
    };
    const whole = await triggers.explain(TENANT, event.id, { limit: 100 });
    expect(whole).toMatchObject({ next_cursor: null, total: 25, started: 3 });
    const groups = whole.items.map(({ node_id, matched, decided }) =>
      [node_id.split(" ")[0], matched, decided].join(),
    );
    const count = (group: string) => groups.filter((each) => each === group).length;
    expect([...new Set(groups)]).toEqual([
      "match,true,on arrival",
      "near,false,on arrival",
      "far,false,computed",
      "near,false,computed",
      "off,false,computed",
      "on,false,computed",
    ]);
    expect([count("near,false,on arrival"), count("near,false,computed")]).toEqual([10, 2]);
    const pages = await readAll({ limit: 4 });
    expect(pages.map(({ items }) => items.length)).toEqual([4, 4, 4, 4, 4, 4, 1]);
    expect(pages.flatMap(({ items }) => items)).toEqual(whole.items);
    const after = pages[0]?.cursors[1];
    const rest = await triggers.explain(TENANT, event.id, { limit: 100, cursor: after });
    expect(rest.items).toEqual(whole.items.slice(2));
    const ofOther = await readAll({ limit: 1, flow: other.id });
    expect(ofOther).toMatchObject([{ items: [{ flow_id: other.id }], total: 1, started: 0 }]);
    for (const cursor of ["", "far", "matched/a", "matched/a/b/c", "matched/%/b"])
      await expect(triggers.explain(TENANT, event.id, { limit: 4, cursor })).rejects.toMatchObject({
        code: "invalid",
        field: "cursor",
      });
  });

  test("says that a trigger has changed, or that a match contradicts the stored verdicts", async () => {
    const { event, flows, triggers } = await setUp({ config: { params: { action: "closed" } } });
    const [flow] = flows as [StoredFlow];
    const explain = async () => (await triggers.explain(TENANT, event.id, PAGE)).items;
    expect(await explain()).toMatchObject([{ matched: false, decided: "on arrival" }]);
    // The verdict remains when the trigger changes.
    await publish(store, flow, { triggers: [eventTrigger()] });
    expect(await explain()).toMatchObject([
      { decided: "on arrival", reason: 'action is "opened", wanted "closed"' },
    ]);
    const stored = { ...store, listVerdicts: async () => [] };
    const without = createExplainer({ store: stored, largeReads: createLargeReads(), ...options });
    const counted = (revision: number) => ({
      ...stored,
      countVerdicts: async () => ({ revision, started: 0, total: 1 }),
      listEventTriggers: async (_tenant: string, _event: unknown, page: { listening: boolean }) =>
        page.listening
          ? [
              {
                ...((await store.getTrigger(TENANT, flow.id, "on event")) as StoredTrigger),
                revision: 2,
              },
            ]
          : [],
    });
    expect((await without.explain(TENANT, event.id, PAGE)).items).toEqual([]);
    const reasonAt = async (revision: number) => {
      const { explain } = createExplainer({
        store: counted(revision),
        largeReads: createLargeReads(),
        ...options,
      });
      const [item] = (await explain(TENANT, event.id, PAGE)).items;
      expect(item).toMatchObject({ matched: true, decided: "now" });
      return item?.reason.split(";")[0];
    };
    expect(await reasonAt(0)).toBe("was not a candidate when the event arrived");
    expect(await reasonAt(1)).toBe("was published or changed after the event arrived");
    expect(await reasonAt(2)).toBe("did not match when the event arrived");
  });

  test("replays an event for all triggers or for one flow, without gathering", async () => {
    const { event, flows, triggers } = await setUp({}, { config: { gather: { forMs: 60_000 } } });
    const replayed = await triggers.replay(TENANT, event.id);
    expect(replayed.considered).toBe(2);
    expect(replayed.runs.map(({ flow_id }) => flow_id).toSorted()).toEqual(
      flows.map(({ id }) => id).toSorted(),
    );
    const replayedFlow = await triggers.replay(TENANT, event.id, { flow: flows[1]?.id });
    const [run] = replayedFlow.runs;
    expect(await store.getRun(TENANT, run?.run_id ?? "")).toMatchObject({
      cause: "replay",
      due_at: NOW,
      event_id: event.id,
      flow_id: flows[1]?.id,
    });
    const scope = { flow: flows[1]?.id, trigger: "another" };
    await expect(triggers.replay(TENANT, event.id, scope)).rejects.toMatchObject({
      code: "not_found",
      field: "trigger",
    });
  });

  test("explains that a concurrency limit skipped a run, and replays the event without the limit", async () => {
    const concurrency = { most: 1, whenFull: "skip" };
    const { triggers } = await setUp({ config: { concurrency } });
    const late = appendRequest([createEvent({ action: "opened" })]);
    await store.appendEvents([{ ...late, plan: await matcher.plan(late) }], null);
    const id = late.events[0]?.id ?? "";
    expect((await triggers.explain(TENANT, id, PAGE)).items).toMatchObject([
      {
        matched: true,
        reason: "skipped: its concurrency limit of 1 run was reached",
        run_id: null,
        run_status: null,
      },
    ]);
    const { runs } = await triggers.replay(TENANT, id);
    expect(await store.getRun(TENANT, runs[0]?.run_id ?? "")).toMatchObject({ status: "queued" });
  });

  test("replays an event that the breaker stopped, in a new causation chain", async () => {
    const flow = await publishTrigger({ source: OWN_SOURCE, type: null });
    const triggers = createExplainer({
      store,
      largeReads: createLargeReads(),
      ...options,
      maxLoops: 0,
    });
    for (const depth of [1, 5]) {
      const headers = {
        [DEPTH_HEADER]: String(depth),
        [CHAIN_HEADER]: JSON.stringify(Array.from({ length: depth }, () => flow.id)),
      };
      const event = createEvent({}, { source: OWN_SOURCE, source_id: "a flow", headers });
      const plan = await matcher.plan(appendRequest([event]));
      await store.appendEvents([{ ...appendRequest([event]), plan }], null);
      const { runs } = await triggers.replay(TENANT, event.id);
      expect(runs).toMatchObject([{ flow_id: flow.id }]);
      expect(await store.getRun(TENANT, runs[0]?.run_id ?? "")).toMatchObject({
        cause: "replay",
        depth: 1,
        chain: [],
      });
    }
  });

  test("rejects an unknown event or flow, and events of other tenants", async () => {
    const { event, triggers } = await setUp({});
    for (const result of [
      triggers.explain("umbrella", event.id, PAGE),
      triggers.explain(TENANT, "nothing", PAGE),
      triggers.replay("umbrella", event.id),
    ])
      await expect(result).rejects.toMatchObject({ code: "not_found", field: "event_id" });
    await expect(triggers.replay(TENANT, event.id, { flow: "no flow" })).rejects.toMatchObject({
      code: "not_found",
      field: "flow",
    });
  });
});
