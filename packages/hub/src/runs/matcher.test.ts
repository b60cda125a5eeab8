import type { Evaluation } from "@signalbox/rules/flows/evaluation.ts";
import type { EventSelection } from "@signalbox/rules/flows/node-type.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { createLargeReads } from "../inbox/large-reads.ts";
import { createIds } from "../lib/ids.ts";
import { createAppend } from "../pipeline.ts";
import { testEvaluate } from "../sandbox/test-evaluate.ts";
import { openSqlite } from "../store/backends/sqlite.ts";
import { eventTrigger, makeFlow, publish } from "../store/contract/flow-sample.ts";
import { appendRequest, sampleEvent } from "../store/contract/sample.ts";
import type { NewTrigger, StoredFlow } from "../store/flow-store.ts";
import type { EventPlan } from "../store/run-store.ts";
import type { NewEvent, Store } from "../store/store.ts";
import { CHAIN_HEADER, DEPTH_HEADER, OWN_SOURCE } from "./event-input.ts";
import { createExplainer } from "./explain.ts";
import { createMatcher, type Matcher } from "./matcher.ts";

const TENANT = "acme";
const NOW = 1_000_000;
const newId = createIds();
const now = () => NOW;
const options = {
  evaluate: testEvaluate,
  newId,
  now,
  maxChain: 5,
  maxLoops: 30,
};

let store: Store;
let matcher: Matcher;
let lookups: number;

beforeEach(() => {
  store = openSqlite(`${tempFolder()}/hub.db`);
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
    const evaluations: Evaluation[] = [];
    const counting = createMatcher({
      store,
      ...options,
      evaluate: (evaluation, caller) => {
        evaluations.push(evaluation);
        return testEvaluate(evaluation, caller);
      },
    });
    onTestFinished(counting.close);
    await publishTrigger({ config: { params: { action: "opened" } } });
    expect(
      (await counting.plan(appendRequest([createEvent({ action: "opened" })]))).events,
    ).toHaveLength(1);
    expect(evaluations).toEqual([]);
    const filters = ["data.n > 1", "data.n > 2", "data.("];
    for (const filter of filters) await publishTrigger({ config: { filter } });
    // The params of this trigger do not match, so its filter is not evaluated.
    await publishTrigger({ config: { params: { action: "closed" }, filter: "true" } });
    const { events } = await counting.plan(
      appendRequest([createEvent({ action: "opened", n: 2 })]),
    );
    expect(evaluations).toMatchObject([{ language: "jsonata-filters", expressions: filters }]);
    expect(events[0]?.verdicts.map(({ matched }) => matched)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(events[0]?.verdicts[3]?.reasons.at(-1)?.message).toMatch(/^the filter failed: /);
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
      async evaluate(...args) {
        started.resolve();
        await compared.promise;
        return testEvaluate(...args);
      },
    });
    const explained = triggers.explain(TENANT, large.id);
    await started.promise;
    expect(steps).toEqual([String(large.body.byteLength), "payload"]);
    compared.resolve();
    expect(await explained).toMatchObject([{ flow_id: flow.id, matched: true }]);
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
        tested: { length: 1 },
        matched: [matching.id],
      });
    });

    test("with events of other types if no event has its type", async () => {
      await append([createEvent({ action: "opened" })]);
      expect(await testTrigger({ type: "isues" })).toMatchObject({
        compared: "The newest events from github; none of the recent ones has the type isues",
        tested: [{ matched: false, reason: 'type is "issues", wanted "isues"' }],
      });
      expect(await testTrigger({ source: "stripe" })).toEqual({
        compared: "No recent event is from stripe",
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
    const explained = await triggers.explain(TENANT, event.id);
    const triggerOf = (flow: StoredFlow | undefined) =>
      explained.find(({ flow_id }) => flow_id === flow?.id);
    expect(explained.length).toBe(4);
    expect(triggerOf(flows[0])).toMatchObject({
      matched: true,
      decided: "on arrival",
      run_status: "queued",
      run_id: expect.any(String),
      trigger: "A flow / on event",
    });
    expect(triggerOf(flows[1])).toMatchObject({
      matched: false,
      decided: "on arrival",
      reason: expect.stringContaining("action"),
      run_id: null,
    });
    expect(triggerOf(flows[2])).toMatchObject({ matched: false, decided: "now" });
    expect(triggerOf(later)).toMatchObject({ matched: true, decided: "now", run_id: null });
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
    expect(await triggers.explain(TENANT, id)).toMatchObject([
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
      triggers.explain("umbrella", event.id),
      triggers.explain(TENANT, "nothing"),
      triggers.replay("umbrella", event.id),
    ])
      await expect(result).rejects.toMatchObject({ code: "not_found", field: "event_id" });
    await expect(triggers.replay(TENANT, event.id, { flow: "no flow" })).rejects.toMatchObject({
      code: "not_found",
      field: "flow",
    });
  });
});
