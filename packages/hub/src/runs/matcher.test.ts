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

const publishTrigger = async (given: Partial<NewTrigger> = {}): Promise<StoredFlow> => {
  const flow = await makeFlow(store);
  await publish(store, flow, { triggers: [eventTrigger(given)] });
  return flow;
};
const event = (data: JsonObject = {}, given: Partial<NewEvent> = {}) =>
  sampleEvent({ body: new TextEncoder().encode(JSON.stringify(data)), ...given });
const planOf = async (one: NewEvent): Promise<EventPlan | undefined> =>
  (await matcher.plan(appendRequest([one]))).events[0];
const countRuns = async (one: NewEvent) => (await planOf(one))?.runs.length ?? 0;

describe("a matcher", () => {
  test("plans a run for each trigger that matches, and reasons for the others", async () => {
    const flow = await publishTrigger({ config: { params: { action: "opened" } } });
    const plan = await planOf(event({ action: "opened" }));
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
    const other = await planOf(event({ action: "closed" }));
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
    expect((await counting.plan(appendRequest([event({ action: "opened" })]))).events).toHaveLength(
      1,
    );
    expect(evaluations).toEqual([]);
    const filters = ["data.n > 1", "data.n > 2", "data.("];
    for (const filter of filters) await publishTrigger({ config: { filter } });
    // Its params do not match, so its filter is not evaluated.
    await publishTrigger({ config: { params: { action: "closed" }, filter: "true" } });
    const { events } = await counting.plan(appendRequest([event({ action: "opened", n: 2 })]));
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
    const request = appendRequest([event({ action: "closed" })]);
    const { events } = await matcher.plan({ ...request, data: [{ action: "opened" }] });
    expect(events[0]?.runs).toHaveLength(1);
  });

  test("matches a source by kind or id, and any type if the trigger has no type", async () => {
    await publishTrigger({ source: "github", type: null });
    await publishTrigger({ source: "endpoint-7", type: "issues" });
    await publishTrigger({ source: "stripe", type: null });
    await publishTrigger({ active: false });
    expect(await countRuns(event())).toBe(1);
    expect(await countRuns(event({}, { source_id: "endpoint-7" }))).toBe(2);
    expect(await countRuns(event({}, { source_id: "endpoint-7", type: "push" }))).toBe(1);
    expect(await countRuns(event({}, { source: "slack", source_id: "slack" }))).toBe(0);
  });

  test("queries the store once per source and type, or once if the tenant has no triggers", async () => {
    for (let round = 0; round < 3; round += 1) await countRuns(event());
    for (const type of ["push", "release"]) await countRuns(event({}, { type }));
    expect(lookups).toBe(1);
    await publishTrigger();
    for (let round = 0; round < 3; round += 1) await countRuns(event());
    for (let round = 0; round < 3; round += 1) await countRuns(event({}, { type: "push" }));
    expect(lookups).toBe(3);
    // A cached plan is returned without a promise.
    expect(matcher.plan(appendRequest([event({}, { type: "push" })]))).not.toBeInstanceOf(Promise);
  });

  test("invalidates its cache when triggers change", async () => {
    expect(await countRuns(event())).toBe(0);
    await publishTrigger();
    expect(await countRuns(event())).toBe(1);
    await publishTrigger();
    expect(await countRuns(event())).toBe(2);
  });

  test("plans all events of a request with triggers of one revision", async () => {
    await publishTrigger();
    const flow = await makeFlow(store);
    let queries = 0;
    const changing: Store = {
      ...store,
      async findTriggers(...args) {
        const found = await store.findTriggers(...args);
        queries += 1;
        // A flow is published between the two lookups.
        if (queries === 1) await publish(store, flow, { triggers: [eventTrigger()] });
        return found;
      },
      subscribe: () => () => {},
    };
    const { plan } = createMatcher({ store: changing, ...options });
    const { revision, events } = await plan(appendRequest([event(), event({}, { type: "push" })]));
    expect(revision).toBe((await store.findTriggers(TENANT, ["github"], "issues")).revision);
    expect(events.map(({ runs }) => runs.length)).toEqual([2, 0]);
  });

  test("stops a chain of runs and events at the limit, with a reason", async () => {
    await publishTrigger({ source: OWN_SOURCE, type: null });
    const emitted = (depth: number) =>
      event(
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
    const plan = await planOf(event({}, { headers }));
    expect(plan?.runs).toMatchObject([{ depth: 1, chain: [] }]);
    expect(plan?.verdicts[0]?.breaker).toBeUndefined();
  });

  test("adds the loop breaker only to matching triggers whose own flow caused the event", async () => {
    const own = { source: OWN_SOURCE, type: null };
    const flow = await publishTrigger(own);
    const other = await publishTrigger(own);
    const unmatched = await publishTrigger({ ...own, config: { params: { action: "closed" } } });
    const emitted = (depth: number, chain: string[]) =>
      event(
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
      const [run] = (await planOf(event({ issue: { number } })))?.runs ?? [];
      expect(run).toMatchObject({ due_at: NOW + 500, limit: { max: 2 } });
      return [run?.limit?.lane, run?.gather?.lane];
    };
    expect(await lanes(1)).toEqual(await lanes(1));
    expect(await lanes(1)).not.toEqual(await lanes(2));
  });
});

describe("events with their runs", () => {
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
    const one = event();
    expect((await append(appendRequest([one]))).outcome).toBe("stored");
    expect((await append(appendRequest([{ ...one, id: newId() }]))).outcome).toBe("duplicate");
    expect(await runs()).toMatchObject([{ event_id: one.id, status: "queued" }]);
  });

  test("are matched again if triggers change before the events are stored", async () => {
    const flow = await makeFlow(store);
    await countRuns(event());
    let isFirst = true;
    const append = appendTo({
      ...store,
      async appendEvents(...given) {
        // Published after planning and before storing.
        if (isFirst) {
          isFirst = false;
          await publish(store, flow, { triggers: [eventTrigger()] });
        }
        return store.appendEvents(...given);
      },
    });
    expect((await append(appendRequest([event()]))).outcome).toBe("stored");
    expect((await runs()).length).toBe(1);
  });

  test("share one run, which every verdict names, if the trigger gathers them", async () => {
    const flow = await publishTrigger({ config: { gather: { forMs: 60_000 } } });
    const append = appendTo(store);
    const burst = Array.from({ length: 20 }, (_, n) => event({ n }));
    for (const one of burst) await append(appendRequest([one]));
    const [run, ...others] = await runs();
    expect(others).toEqual([]);
    expect(run).toMatchObject({ flow_id: flow.id, event_id: burst[0]?.id, gathered_count: 19 });
    for (const one of burst)
      expect(await store.listVerdicts(TENANT, one.id)).toMatchObject([{ run_id: run?.id }]);
  });
});

describe("explain and replay", () => {
  const setUp = async (...triggers: Partial<NewTrigger>[]) => {
    const flows = [];
    for (const given of triggers) flows.push(await publishTrigger(given));
    const one = event({ action: "opened" });
    await store.appendEvents(
      [{ ...appendRequest([one]), plan: await matcher.plan(appendRequest([one])) }],
      null,
    );
    return {
      one,
      flows,
      triggers: createExplainer({ store, largeReads: createLargeReads(), ...options }),
    };
  };

  test("hold the memory of a large payload until it was compared", async () => {
    const flow = await publishTrigger();
    const large = event({ action: "opened", text: "x".repeat(LARGE_BYTES) });
    await store.appendEvents([appendRequest([large])], null);
    const compared = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const read: string[] = [];
    const triggers = createExplainer({
      store: {
        ...store,
        getRun: () => expect.unreachable("it has the whole input and output"),
        getPayload: (...given: Parameters<Store["getPayload"]>) => {
          read.push("payload");
          return store.getPayload(...given);
        },
      } as Store,
      largeReads: async (row, work) => {
        read.push(`${row.size}`);
        const result = await work();
        read.push("done");
        return result;
      },
      ...options,
      async evaluate(...given) {
        started.resolve();
        await compared.promise;
        return testEvaluate(...given);
      },
    });
    const explained = triggers.explain(TENANT, large.id);
    await started.promise;
    expect(read).toEqual([String(large.body.byteLength), "payload"]);
    compared.resolve();
    expect(await explained).toMatchObject([{ flow_id: flow.id, matched: true }]);
    await triggers.replay(TENANT, large.id);
    await triggers.test(TENANT, { source: "github" }, { limit: 1 });
    const once = [String(large.body.byteLength), "payload", "done"];
    expect(read).toEqual([...once, ...once, ...once]);
  });

  describe("test a trigger", () => {
    const selection = { source: "github", type: "issues", params: { action: "opened" } };
    const append = (events: NewEvent[]) => store.appendEvents([appendRequest(events)], null);
    const many = (given: Partial<NewEvent>) =>
      append(Array.from({ length: 120 }, () => ({ ...event({ action: "closed" }), ...given })));
    const testIt = async (given: Partial<EventSelection> = {}) => {
      const triggers = createExplainer({ store, largeReads: createLargeReads(), ...options });
      const result = await triggers.test(TENANT, { ...selection, ...given }, { limit: 100 });
      const matched = result.tested.filter((one) => one.matched).map((one) => one.event.id);
      return { ...result, matched };
    };

    test("with events of its own source and type, however many others there are", async () => {
      const found = event({ action: "opened" });
      await append([found]);
      await many({ source: "stripe", source_id: "stripe" });
      await many({ type: "push" });
      expect(await testIt()).toMatchObject({
        compared: "The newest events from github of type issues",
        tested: { length: 1 },
        matched: [found.id],
      });
      expect(await testIt({ type: "" })).toMatchObject({
        compared: "The newest events from github",
        tested: { length: 100 },
      });
    });

    test("with events of one endpoint", async () => {
      const found = { ...event({ action: "opened" }), source_id: "endpoint-1" };
      await append([found, event({ action: "opened" })]);
      expect(await testIt({ source: "endpoint-1" })).toMatchObject({
        compared: "The newest events from endpoint-1 of type issues",
        tested: { length: 1 },
        matched: [found.id],
      });
    });

    test("with events of other types if there are none of its type", async () => {
      await append([event({ action: "opened" })]);
      expect(await testIt({ type: "isues" })).toMatchObject({
        compared: "The newest events from github; none of the recent ones has the type isues",
        tested: [{ matched: false, reason: 'type is "issues", wanted "isues"' }],
      });
      expect(await testIt({ source: "stripe" })).toEqual({
        compared: "No recent event is from stripe",
        tested: [],
        matched: [],
      });
    });
  });

  test("explain every trigger, with its verdict on arrival or now", async () => {
    const { one, flows, triggers } = await setUp(
      {},
      { config: { params: { action: "closed" } } },
      { source: "stripe" },
    );
    const later = await publishTrigger();
    const explained = await triggers.explain(TENANT, one.id);
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

  test("replay an event for all triggers or for one flow, without gathering", async () => {
    const { one, flows, triggers } = await setUp({}, { config: { gather: { forMs: 60_000 } } });
    const all = await triggers.replay(TENANT, one.id);
    expect(all.considered).toBe(2);
    expect(all.runs.map(({ flow_id }) => flow_id).toSorted()).toEqual(
      flows.map(({ id }) => id).toSorted(),
    );
    const only = await triggers.replay(TENANT, one.id, flows[1]?.id);
    const [again] = only.runs;
    expect(await store.getRun(TENANT, again?.run_id ?? "")).toMatchObject({
      cause: "replay",
      due_at: NOW,
      event_id: one.id,
      flow_id: flows[1]?.id,
    });
  });

  test("explain a run that its concurrency limit skipped, and replay it without the limit", async () => {
    const concurrency = { most: 1, whenFull: "skip" };
    const { triggers } = await setUp({ config: { concurrency } });
    const late = appendRequest([event({ action: "opened" })]);
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

  test("replay an event that the breaker stopped, in a new chain", async () => {
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
      const one = event({}, { source: OWN_SOURCE, source_id: "a flow", headers });
      const plan = await matcher.plan(appendRequest([one]));
      await store.appendEvents([{ ...appendRequest([one]), plan }], null);
      const { runs } = await triggers.replay(TENANT, one.id);
      expect(runs).toMatchObject([{ flow_id: flow.id }]);
      expect(await store.getRun(TENANT, runs[0]?.run_id ?? "")).toMatchObject({
        cause: "replay",
        depth: 1,
        chain: [],
      });
    }
  });

  test("reject an unknown event or flow, and events of other tenants", async () => {
    const { one, triggers } = await setUp({});
    for (const result of [
      triggers.explain("umbrella", one.id),
      triggers.explain(TENANT, "nothing"),
      triggers.replay("umbrella", one.id),
    ])
      await expect(result).rejects.toMatchObject({ code: "not_found", field: "event_id" });
    await expect(triggers.replay(TENANT, one.id, "no flow")).rejects.toMatchObject({
      code: "not_found",
      field: "flow",
    });
  });
});
