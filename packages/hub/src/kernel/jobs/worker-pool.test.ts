import type { SerializedResult } from "@signalbox/rules/flows/evaluation.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { expect, onTestFinished, test } from "vitest";
import type { SerializedRequest } from "./job.ts";
import { createWorkerPool, type JobWorkerEvents } from "./worker-pool.ts";

const programs = (name: string) => ({
  jsonata: { job: "jsonata" as const, expression: name },
  "jsonata-filters": { job: "jsonata-filters" as const, expressions: [name] },
  javascript: { job: "javascript" as const, code: name, memoryMb: 16 },
});

/** Creates a pool whose workers and timers the test controls. */
function setUp(maxWorkers = 2) {
  const workers: {
    events: JobWorkerEvents;
    posted: SerializedRequest[];
    isTerminated: boolean;
  }[] = [];
  const timers = new Set<{ ms: number; work: () => void }>();
  const pool = createWorkerPool({
    startWorker(events) {
      const worker = { events, posted: [] as SerializedRequest[], isTerminated: false };
      workers.push(worker);
      return {
        post: (requests) => worker.posted.push(...requests),
        setIdle: () => {},
        cpuMs: () => undefined,
        async terminate() {
          worker.isTerminated = true;
        },
      };
    },
    after(ms, work) {
      const timer = { ms, work };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    maxWorkers,
    shortJobs: ["jsonata", "jsonata-filters"],
    selfLimitedJobs: ["javascript"],
    graceMs: 500,
  });
  onTestFinished(pool.close);
  const { signal } = new AbortController();
  const started: string[] = [];
  const evaluate = (
    tenant: string,
    name: string,
    job: "jsonata" | "jsonata-filters" | "javascript" = "jsonata",
    data: Json | Uint8Array = null,
    maxWaitMs?: number,
  ) =>
    pool.runJob(
      {
        ...programs(name)[job],
        data,
        timeoutMs: 1000,
      },
      { tenant, signal, maxWaitMs, onQueued: () => () => started.push(name) },
    );
  const worker = (index: number) => {
    const atIndex = workers[index];
    if (!atIndex) throw new Error(`there is no worker ${index}`);
    return atIndex;
  };
  return {
    pool,
    evaluate,
    started,
    worker,
    countWorkers: () => workers.length,
    delays: () => [...timers].map(({ ms }) => ms),
    fireTimers() {
      for (const timer of [...timers]) {
        timers.delete(timer);
        timer.work();
      }
    },
    async finish(index: number, ...outputs: unknown[]) {
      const results = (outputs.length > 0 ? outputs : [null]).map(
        (output): SerializedResult => ({ log: [], output: JSON.stringify(output) }),
      );
      worker(index).events.onResults(results, []);
      await Promise.resolve();
    },
  };
}

test("serves tenants round robin, and does not occupy all workers with one tenant", async () => {
  const { evaluate, worker, started, countWorkers, finish } = setUp(2);
  const results = ["a1", "a2", "a3"].map((name) => evaluate("acme", name, "javascript"));
  expect(countWorkers()).toBe(1); // one queue does not occupy every worker
  for (const [tenant, name] of ["umbrella u1", "umbrella u2", "wayne w1"].map((it) =>
    it.split(" "),
  ))
    results.push(evaluate(tenant as string, name as string, "javascript"));
  expect(countWorkers()).toBe(2);
  worker(0).events.onReady();
  worker(1).events.onReady();
  expect(started).toEqual(["a1", "u1"]);
  await finish(0);
  await finish(0);
  await finish(0);
  expect(started).toEqual(["a1", "u1", "w1", "a2", "a3"]);
  for (const index of [0, 1, 1]) await finish(index);
  await Promise.all(results);
});

test("serves the apps and flows of a tenant round robin", async () => {
  const { pool, worker, started, finish } = setUp(2);
  const { signal } = new AbortController();
  const evaluate = (lane: readonly string[], code: string) =>
    pool.runJob(
      { job: "javascript", code, memoryMb: 16, data: null, timeoutMs: 1000 },
      { tenant: "acme", lane, signal, onQueued: () => () => started.push(code) },
    );
  const results = [
    ...["slow 1", "slow 2", "slow 3"].map((code) => evaluate(["shop", "prices"], code)),
    evaluate(["shop", "stock"], "same app"),
    evaluate(["blog", "posts"], "other app"),
  ];
  worker(0).events.onReady();
  for (const _ of results) await finish(0);
  expect(started).toEqual(["slow 1", "other app", "same app", "slow 2", "slow 3"]);
  await Promise.all(results);
});

test("does not queue expressions behind code of the same tenant", () => {
  const { evaluate, worker, started, countWorkers, pool } = setUp(2);
  for (const name of ["c1", "c2", "c3"]) evaluate("acme", name, "javascript").catch(() => {});
  evaluate("acme", "expression").catch(() => {});
  expect(countWorkers()).toBe(2);
  worker(1).events.onReady();
  expect(started).toEqual(["expression"]);
  return pool.close();
});

test("does not occupy all workers with large data, nor with the small and large data of one tenant", () => {
  const { evaluate, worker, started, countWorkers, pool } = setUp(2);
  const large = "x".repeat(300_000);
  evaluate("acme", "a-large", "jsonata", large).catch(() => {});
  evaluate("acme", "a-small").catch(() => {});
  evaluate("umbrella", "u-large", "jsonata", large).catch(() => {});
  expect(countWorkers()).toBe(1);
  evaluate("wayne", "w-small").catch(() => {});
  expect(countWorkers()).toBe(2);
  worker(1).events.onReady();
  expect(started).toEqual(["w-small"]);
  worker(0).events.onReady();
  worker(0).events.onResults([{ log: [], output: "1" }], []);
  expect(started).toEqual(["w-small", "a-large", "a-small"]);
  worker(1).events.onResults([{ log: [], output: "1" }], []);
  expect(started).toEqual(["w-small", "a-large", "a-small", "u-large"]);
  return pool.close();
});

test("starts the deadline when the worker is ready, with a grace period for code", async () => {
  const { evaluate, worker, delays, fireTimers, finish } = setUp();
  const first = evaluate("acme", "one");
  expect(delays()).toEqual([]);
  worker(0).events.onReady();
  expect(delays()).toEqual([100]);
  fireTimers();
  expect(delays()).toEqual([900]);
  await finish(0, 1);
  expect(delays()).toEqual([]);
  expect(await first).toEqual({ log: [], output: 1 });
  const second = evaluate("acme", "two", "javascript");
  fireTimers();
  expect(delays()).toEqual([1400]);
  await finish(0, 2);
  expect(await second).toEqual({ log: [], output: 2 });
});

test("terminates and replaces a worker that exceeds its deadline", async () => {
  const { evaluate, worker, fireTimers, finish } = setUp();
  const slow = evaluate("acme", "slow");
  const next = evaluate("acme", "next");
  worker(0).events.onReady();
  for (let timer = 0; timer < 3; timer += 1) fireTimers();
  expect(await slow).toEqual({
    log: [],
    error: "code_timeout",
    message: "exceeds the time limit of 1 s",
  });
  expect(worker(0).isTerminated).toBe(true);
  worker(0).events.onResults([{ log: [], output: '"too late"' }], []);
  worker(1).events.onReady();
  await finish(1, "ok");
  expect(await next).toEqual({ log: [], output: "ok" });
});

test("accepts a result that arrives right after its deadline", async () => {
  const { evaluate, worker, fireTimers, delays, finish } = setUp();
  const result = evaluate("acme", "on the edge");
  worker(0).events.onReady();
  for (let timer = 0; timer < 2; timer += 1) fireTimers();
  await finish(0, "in time");
  expect(delays()).toEqual([]);
  expect(await result).toEqual({ log: [], output: "in time" });
  expect(worker(0).isTerminated).toBe(false);
});

test("resolves the evaluation of a worker that ends with a result, and continues with a new worker", async () => {
  const { evaluate, worker, finish } = setUp();
  const [exhausted, fine] = ["a", "b"].map((name) => evaluate("acme", name));
  worker(0).events.onExit({ log: [], error: "code_out_of_memory", message: "too much" });
  expect(await exhausted).toMatchObject({ error: "code_out_of_memory" });
  worker(1).events.onReady();
  await finish(1, 3);
  expect(await fine).toEqual({ log: [], output: 3 });
});

test("evaluates a program again if its worker crashes, and rejects after the second crash", async () => {
  const { evaluate, worker, finish } = setUp();
  const recovered = evaluate("acme", "a");
  worker(0).events.onExit(new Error("killed"));
  worker(1).events.onReady();
  await finish(1, 1);
  expect(await recovered).toEqual({ log: [], output: 1 });

  const lost = evaluate("acme", "b");
  worker(1).events.onExit(new Error("killed"));
  worker(2).events.onExit(new Error("killed again"));
  await expect(lost).rejects.toThrow("killed again");
});

test.each(["jsonata", "jsonata-filters"] as const)(
  "evaluates queued expressions (%s) of one tenant in batches, and returns each result to its caller",
  async (job) => {
    const { evaluate, worker, started, delays, finish } = setUp();
    const names = Array.from({ length: 18 }, (_, at) => `e${at}`);
    const results = names.map((name) => evaluate("acme", name, job));
    worker(0).events.onReady();
    expect(worker(0).posted).toHaveLength(1); // the worker was idle
    await finish(0, "e0");
    expect(worker(0).posted).toHaveLength(17);
    expect(started).toEqual(["e0"]);
    expect(delays()).toEqual([100]); // one deadline for the batch
    await finish(0, ...names.slice(1, 17));
    expect(worker(0).posted).toHaveLength(18);
    await finish(0, "e17");
    expect(started).toEqual(names);
    expect(await Promise.all(results)).toEqual(names.map((output) => ({ log: [], output })));
  },
);

test("queues the rest of a batch again, before later expressions and after other tenants", async () => {
  const { evaluate, worker, finish, pool } = setUp();
  const endless = evaluate("wayne", "occupies the other worker").catch(() => {});
  const names = ["e0", "e1", "e2", "e3"];
  const results = names.map((name) => evaluate("acme", name));
  worker(1).events.onReady();
  await finish(1, "e0");
  const other = evaluate("umbrella", "u");
  const later = evaluate("acme", "e4");
  const expressions = () =>
    worker(1).posted.map((posted) => "expression" in posted && posted.expression);
  expect(expressions()).toEqual(["e0", "e1", "e2", "e3"]);
  await finish(1, "e1", "e2");
  expect(expressions().slice(4)).toEqual(["u"]);
  await finish(1, "u");
  expect(expressions().slice(5)).toEqual(["e3", "e4"]);
  await finish(1, "e3", "e4");
  expect(await Promise.all([...results, later, other])).toEqual(
    [...names, "e4", "u"].map((output) => ({ log: [], output })),
  );
  await pool.close();
  await endless;
});

test("does not evaluate aborted expressions of a failed batch again", async () => {
  const { pool, worker, finish, fireTimers } = setUp();
  const controllers = [0, 1, 2, 3].map(() => new AbortController());
  const results = controllers.map(({ signal }, at) =>
    pool.runJob(
      { job: "jsonata", expression: `e${at}`, data: null, timeoutMs: 1000 },
      { tenant: "acme", signal },
    ),
  );
  const aborted = [1, 3].map((at) => expect(results[at]).rejects.toThrow("cancelled"));
  worker(0).events.onReady();
  await finish(0, 0);
  controllers[1]?.abort(new Error("cancelled")); // in the batch
  for (let timer = 0; timer < 3; timer += 1) fireTimers();
  worker(1).events.onReady();
  controllers[3]?.abort(new Error("cancelled")); // queued again
  await finish(1, 2);
  expect(worker(1).posted).toMatchObject([{ expression: "e2" }]);
  expect(await results[2]).toEqual({ log: [], output: 2 });
  await Promise.all(aborted);
});

test("rejects the expressions of a batch when the pool closes", async () => {
  const { pool, evaluate, worker, finish } = setUp();
  const [first, ...others] = ["e0", "e1", "e2"].map((name) => evaluate("acme", name));
  const rejected = others.map((result) => expect(result).rejects.toThrow("stopping"));
  worker(0).events.onReady();
  await finish(0, 0);
  await first;
  await pool.close();
  await Promise.all(rejected);
});

test("does not evaluate code, or expressions with much data, in batches", async () => {
  const { evaluate, worker, finish } = setUp();
  const code = ["c1", "c2", "c3"].map((name) => evaluate("acme", name, "javascript"));
  worker(0).events.onReady();
  await finish(0);
  expect(worker(0).posted).toHaveLength(2);
  for (let count = 0; count < 2; count += 1) await finish(0);
  await Promise.all(code);
  const data = "x".repeat(100_000);
  const large = ["e1", "e2", "e3", "e4"].map((name) => evaluate("acme", name, "jsonata", data));
  await finish(0);
  expect(worker(0).posted).toHaveLength(6); // three codes, one expression, and a batch of two
  await finish(0, 2, 3);
  await finish(0);
  await Promise.all(large);
});

test.each<[string, (pool: ReturnType<typeof setUp>) => void]>([
  [
    "exceeds the deadline",
    ({ fireTimers }) => {
      for (let timer = 0; timer < 3; timer += 1) fireTimers();
    },
  ],
  [
    "exhausts the memory",
    ({ worker }) =>
      worker(0).events.onExit({ log: [], error: "code_out_of_memory", message: "too much" }),
  ],
  ["crashes its worker", ({ worker }) => worker(0).events.onExit(new Error("killed"))],
])("evaluates each expression alone after a batch that %s", async (_, fail) => {
  const pool = setUp();
  const { evaluate, worker, finish, started } = pool;
  const results = ["e0", "e1", "e2"].map((name) => evaluate("acme", name));
  worker(0).events.onReady();
  await finish(0, "e0");
  expect(worker(0).posted).toHaveLength(3);
  fail(pool);
  expect(worker(0).isTerminated).toBe(true);
  worker(1).events.onReady();
  expect(worker(1).posted).toMatchObject([{ expression: "e1" }]);
  worker(1).events.onExit({ log: [], error: "code_out_of_memory", message: "too much" });
  worker(2).events.onReady();
  await finish(2, "e2");
  expect(started).toEqual(["e0", "e1", "e2"]);
  expect(await Promise.all(results)).toEqual([
    { log: [], output: "e0" },
    { log: [], error: "code_out_of_memory", message: "too much" },
    { log: [], output: "e2" },
  ]);
});

test("limits the bytes of unsettled requests, per tenant and in total", async () => {
  const { evaluate, worker, finish } = setUp();
  const bytes = new Uint8Array(25_000_000);
  const request = (tenant: string, data: Uint8Array = bytes) =>
    evaluate(tenant, "read", "jsonata", data, 10_000);
  const busy = { code: "busy", field: "sandbox" };
  const accepted = Array.from({ length: 5 }, () => request("acme"));
  await expect(request("acme")).rejects.toMatchObject(busy);
  const run = evaluate("acme", "run", "jsonata", bytes); // the data of runs are not limited
  const others = ["umbrella", "wayne"].map((tenant) =>
    Array.from({ length: tenant === "wayne" ? 1 : 4 }, () => request(tenant)),
  );
  await expect(request("stark", new Uint8Array(6_000_001))).rejects.toMatchObject(busy);
  worker(0).events.onReady();
  await finish(0);
  await accepted[0];
  const next = request("acme");
  for (let index = 0; index < 11; index += 1) await finish(0);
  await Promise.all([...accepted, ...others.flat(), run, next]);
});

test("rejects a request that is queued for too long, but not a request that has started", async () => {
  const { evaluate, worker, delays, fireTimers, finish, started } = setUp();
  const first = evaluate("acme", "first", "jsonata", null, 10_000);
  const second = evaluate("acme", "second", "jsonata", null, 20_000);
  const third = evaluate("acme", "third");
  expect(delays()).toEqual([10_000, 20_000]);
  worker(0).events.onReady();
  expect(delays()).toEqual([20_000, 100]);
  const late = expect(second).rejects.toMatchObject({ code: "busy" });
  fireTimers();
  await late;
  await finish(0, 1);
  expect(await first).toMatchObject({ output: 1 });
  await finish(0, 3);
  expect(await third).toMatchObject({ output: 3 });
  expect(started).toEqual(["first", "third"]);
});

test("counts the jobs that wait for a worker, by name", () => {
  // Each of the two workers takes one.
  const { pool, evaluate } = setUp();
  const ignoreEnd = (evaluation: Promise<unknown>) => void evaluation.catch(() => {});
  for (const tenant of ["a", "b"]) {
    ignoreEnd(evaluate(tenant, "code", "javascript"));
    ignoreEnd(evaluate(tenant, "more code", "javascript"));
    ignoreEnd(evaluate(tenant, "1"));
    ignoreEnd(evaluate(tenant, "2", "jsonata", "x".repeat(300_000)));
  }
  expect([...pool.queued()]).toEqual([
    ["javascript", 3],
    ["jsonata", 3],
  ]);
});
