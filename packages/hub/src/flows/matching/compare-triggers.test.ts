import type { JsonObject } from "@signalbox/rules/json.ts";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { expect, test } from "vitest";
import type { NewEvent } from "../../events/model.ts";
import { sampleEvent } from "../../events/store/contract/sample.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import type { StoredTrigger } from "../model.ts";
import { type RecordedRequest, testRunJob } from "../test-run-job.ts";
import { compareTriggers } from "./compare-triggers.ts";
import { planEvent } from "./matcher.ts";

const PADDING = "x".repeat(LARGE_BYTES);
const createTrigger = (config: JsonObject, node_id = "on event"): StoredTrigger => ({
  tenant: "acme",
  app: "desk",
  flow_id: "f1",
  node_id,
  version: 1,
  kind: "event",
  tool_name: null,
  source: "github",
  type: null,
  active: true,
  config,
});
const createEvent = (data: JsonObject, overrides: Partial<NewEvent> = {}): NewEvent =>
  sampleEvent({ source: "github", body: utf8(JSON.stringify(data)), ...overrides });

/** `requests` records every job. */
function setUp({
  clock = () => 0,
  runJob = testRunJob,
}: {
  clock?: () => number;
  runJob?: RunJob;
} = {}) {
  const requests: RecordedRequest[] = [];
  const options = {
    now: clock,
    runJob: ((request, caller) => {
      requests.push(request);
      return runJob(request, caller);
    }) as RunJob,
  };
  return {
    requests,
    jobs: () => requests.map(({ job }) => job),
    options,
    compare: async (event: NewEvent, triggers: StoredTrigger[]) =>
      (await compareTriggers({ tenant: "acme", event }, triggers, options)).map(
        ({ readKey: _, ...verdict }) => verdict,
      ),
  };
}

const TRIGGERS = [
  createTrigger({
    params: { "items[].n": { op: "gt", value: 1 } },
    filter: "$count(data.items) = 2",
  }),
  createTrigger({ params: { "items[].n": 3 } }),
  createTrigger({ filter: "data.items[0].n = 2" }),
  createTrigger({ filter: "data.(" }),
];
const DATA = { items: [{ n: 1 }, { n: 2 }] };

test.each([
  ["JSON", "application/json", (data: JsonObject) => JSON.stringify(data)],
  [
    "a form",
    "application/x-www-form-urlencoded",
    (data: JsonObject) => `payload=${encodeURIComponent(JSON.stringify(data))}`,
  ],
])(
  "returns the verdicts of a small event also for a large event (%s)",
  async (_, content_type, write) => {
    const { compare, requests, jobs } = setUp();
    const small = await compare(createEvent(DATA), TRIGGERS);
    expect(small.map(({ matched }) => matched)).toEqual([true, false, false, false]);
    expect(jobs()).toEqual(["jsonata-filters"]);
    const large = createEvent(DATA, { content_type, body: utf8(write({ ...DATA, PADDING })) });
    expect(await compare(large, TRIGGERS)).toEqual(small);
    expect(requests[1]).toMatchObject({ job: "match", data: large.body });
    expect(requests).toHaveLength(2);
  },
);

test("reads the keys of a large event in a job", async () => {
  const { options } = setUp();
  const keyed = createTrigger({
    concurrency: { most: 1, key: "items[].n" },
    gather: { forMs: 1000, key: "none" },
  });
  const plan = async (data: JsonObject) => {
    const planOptions = { ...options, newId: () => "r1", maxChain: 5, maxLoops: 5 };
    const event = createEvent(data, { id: "e1" });
    return (await planEvent({ tenant: "acme", event }, [keyed], planOptions)).runs;
  };
  const small = await plan(DATA);
  expect(small).toMatchObject([
    { gather: { lane: "f1:on event:[]" }, limit: { lane: "f1:on event:[1,2]", max: 1 } },
  ]);
  expect(await plan({ ...DATA, PADDING })).toEqual(small);
});

test("continues in a job when the time budget is spent", async () => {
  let time = 0;
  const { compare, requests } = setUp({ clock: () => time++ * 20 });
  const triggers = Array.from({ length: 20 }, (_, index) =>
    createTrigger({ params: { "items[].n": index } }, `n${index}`),
  );
  const expected = triggers.map((_, index) => index === 1 || index === 2);
  const small = await compare(createEvent(DATA), triggers);
  expect(small.map(({ matched }) => matched)).toEqual(expected);
  expect(requests).toEqual([]);
  const padding = "x".repeat(100_000);
  const verdicts = await compare(createEvent({ ...DATA, padding }), triggers);
  expect(verdicts.map(({ matched }) => matched)).toEqual(expected);
  expect(requests).toHaveLength(1);
  const [request] = requests;
  if (request?.job !== "match") throw new Error("not compared in a job");
  expect(request.expressions?.length).toBeLessThan(20);
});

test("compares a param with many objects in a job", async () => {
  const { compare, jobs } = setUp();
  const objects = Array.from({ length: 100 }, (_, x) => ({ x }));
  const many = { items: Array.from({ length: 20_000 }, () => ({})) };
  const param = createTrigger({ params: { "items[]": { op: "in", value: objects } } });
  expect(await compare(createEvent(many), [param])).toMatchObject([{ matched: false }]);
  expect(await compare(createEvent({ items: [{ x: 5 }] }), [param])).toMatchObject([
    { matched: true },
  ]);
  expect(jobs()).toEqual(["match"]);
});

test("does not match, and reports the limit, if the job exceeds a limit", async () => {
  const exceeded = { error: "code_timeout", message: "exceeds the time limit of 10 s" } as const;
  const { compare } = setUp({ runJob: async () => ({ log: [], ...exceeded }) });
  const [verdict] = await compare(createEvent({ PADDING }), [createTrigger({})]);
  expect(verdict?.matched).toBe(false);
  expect(verdict?.reasons[0]?.message).toContain("exceeds the time limit of 10 s");
});
