import type { SerializedEvaluation, SerializedResult } from "@signalbox/rules/flows/evaluation.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { expect, onTestFinished, test } from "vitest";
import { createWorkerPool, type SandboxWorkerEvents } from "./worker-pool.ts";

/** A pool whose workers and timers are controlled by the test. */
function setUp(maxWorkers = 2) {
  const workers: {
    events: SandboxWorkerEvents;
    posted: SerializedEvaluation[];
    isTerminated: boolean;
  }[] = [];
  const timers = new Set<{ ms: number; work: () => void }>();
  const pool = createWorkerPool({
    startWorker(events) {
      const worker = { events, posted: [] as SerializedEvaluation[], isTerminated: false };
      workers.push(worker);
      return {
        post: (evaluation) => worker.posted.push(evaluation),
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
    graceMs: 500,
  });
  onTestFinished(pool.close);
  const { signal } = new AbortController();
  const started: string[] = [];
  const evaluate = (
    tenant: string,
    name: string,
    language: "jsonata" | "javascript" = "jsonata",
    data: Json | Uint8Array = null,
    maxWaitMs?: number,
  ) =>
    pool.evaluate(
      {
        ...(language === "jsonata"
          ? { language, expression: name }
          : { language, code: name, memoryMb: 16 }),
        data,
        timeoutMs: 1000,
      },
      { tenant, signal, maxWaitMs, onQueued: () => () => started.push(name) },
    );
  const worker = (nth: number) => {
    const found = workers[nth];
    if (!found) throw new Error(`there is no worker ${nth}`);
    return found;
  };
  return {
    pool,
    evaluate,
    started,
    worker,
    count: () => workers.length,
    timers: () => [...timers].map(({ ms }) => ms),
    fire() {
      for (const timer of [...timers]) {
        timers.delete(timer);
        timer.work();
      }
    },
    async finish(nth: number, output: unknown = null) {
      const result: SerializedResult = { log: [], output: JSON.stringify(output) };
      worker(nth).events.onResult(result);
      await Promise.resolve();
    },
  };
}

test("serves tenants round robin, and does not give all workers to one tenant", async () => {
  const { evaluate, worker, started, count, finish } = setUp(2);
  const results = ["a1", "a2", "a3"].map((name) => evaluate("acme", name));
  expect(count()).toBe(1); // one queue does not occupy every worker
  results.push(evaluate("umbrella", "u1"), evaluate("umbrella", "u2"), evaluate("wayne", "w1"));
  expect(count()).toBe(2);
  worker(0).events.onReady();
  worker(1).events.onReady();
  expect(started).toEqual(["a1", "u1"]);
  await finish(0);
  await finish(0);
  await finish(0);
  expect(started).toEqual(["a1", "u1", "a2", "w1", "a3"]);
  for (const nth of [0, 1, 1]) await finish(nth);
  await Promise.all(results);
});

test("does not delay expressions behind code of the same tenant", () => {
  const { evaluate, worker, started, count, pool } = setUp(2);
  for (const name of ["c1", "c2", "c3"]) evaluate("acme", name, "javascript").catch(() => {});
  evaluate("acme", "expression").catch(() => {});
  expect(count()).toBe(2);
  worker(1).events.onReady();
  expect(started).toEqual(["expression"]);
  return pool.close();
});

test("does not give all workers to large data, nor to one tenant with small and large data", () => {
  const { evaluate, worker, started, count, pool } = setUp(2);
  const large = "x".repeat(300_000);
  evaluate("acme", "a-large", "jsonata", large).catch(() => {});
  evaluate("acme", "a-small").catch(() => {});
  evaluate("umbrella", "u-large", "jsonata", large).catch(() => {});
  expect(count()).toBe(1);
  evaluate("wayne", "w-small").catch(() => {});
  expect(count()).toBe(2);
  worker(1).events.onReady();
  expect(started).toEqual(["w-small"]);
  worker(0).events.onReady();
  worker(0).events.onResult({ log: [], output: "1" });
  expect(started).toEqual(["w-small", "a-large", "a-small"]);
  worker(1).events.onResult({ log: [], output: "1" });
  expect(started).toEqual(["w-small", "a-large", "a-small", "u-large"]);
  return pool.close();
});

test("starts the deadline when the worker is ready, with a grace period for code", async () => {
  const { evaluate, worker, timers, fire, finish } = setUp();
  const first = evaluate("acme", "one");
  expect(timers()).toEqual([]);
  worker(0).events.onReady();
  expect(timers()).toEqual([100]);
  fire();
  expect(timers()).toEqual([900]);
  await finish(0, 1);
  expect(timers()).toEqual([]);
  expect(await first).toEqual({ log: [], output: 1 });
  const second = evaluate("acme", "two", "javascript");
  fire();
  expect(timers()).toEqual([1400]);
  await finish(0, 2);
  expect(await second).toEqual({ log: [], output: 2 });
});

test("terminates and replaces a worker that exceeds its deadline", async () => {
  const { evaluate, worker, fire, finish } = setUp();
  const slow = evaluate("acme", "slow");
  const next = evaluate("acme", "next");
  worker(0).events.onReady();
  for (let timer = 0; timer < 3; timer += 1) fire();
  expect(await slow).toEqual({
    log: [],
    error: "code_timeout",
    message: "exceeds the time limit of 1 s",
  });
  expect(worker(0).isTerminated).toBe(true);
  worker(0).events.onResult({ log: [], output: '"too late"' });
  worker(1).events.onReady();
  await finish(1, "ok");
  expect(await next).toEqual({ log: [], output: "ok" });
});

test("accepts a result that arrives right after its deadline", async () => {
  const { evaluate, worker, fire, timers, finish } = setUp();
  const result = evaluate("acme", "on the edge");
  worker(0).events.onReady();
  for (let timer = 0; timer < 2; timer += 1) fire();
  await finish(0, "in time");
  expect(timers()).toEqual([]);
  expect(await result).toEqual({ log: [], output: "in time" });
  expect(worker(0).isTerminated).toBe(false);
});

test("reports the exit of a worker to its evaluation, and continues with a new worker", async () => {
  const { evaluate, worker, finish } = setUp();
  const [exhausted, fine] = ["a", "b"].map((name) => evaluate("acme", name));
  worker(0).events.onExit({ log: [], error: "code_out_of_memory", message: "too much" });
  expect(await exhausted).toMatchObject({ error: "code_out_of_memory" });
  worker(1).events.onReady();
  await finish(1, 3);
  expect(await fine).toEqual({ log: [], output: 3 });
});

test("evaluates a program once more if its worker crashes, and rejects after the second crash", async () => {
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

test("limits the bytes of requests per tenant and in total, until they are settled", async () => {
  const { evaluate, worker, finish } = setUp();
  const bytes = new Uint8Array(25_000_000);
  const request = (tenant: string, data: Uint8Array = bytes) =>
    evaluate(tenant, "read", "jsonata", data, 10_000);
  const busy = { code: "busy", field: "sandbox" };
  const accepted = Array.from({ length: 5 }, () => request("acme"));
  await expect(request("acme")).rejects.toMatchObject(busy);
  const run = evaluate("acme", "run", "jsonata", bytes); // waits, whatever the limit
  const others = ["umbrella", "wayne"].map((tenant) =>
    Array.from({ length: tenant === "wayne" ? 1 : 4 }, () => request(tenant)),
  );
  await expect(request("stark", new Uint8Array(6_000_001))).rejects.toMatchObject(busy);
  worker(0).events.onReady();
  await finish(0);
  await accepted[0];
  const next = request("acme");
  for (let nth = 0; nth < 11; nth += 1) await finish(0);
  await Promise.all([...accepted, ...others.flat(), run, next]);
});

test("rejects a request that was queued too long, but not one that has started", async () => {
  const { evaluate, worker, timers, fire, finish, started } = setUp();
  const first = evaluate("acme", "first", "jsonata", null, 10_000);
  const second = evaluate("acme", "second", "jsonata", null, 20_000);
  const third = evaluate("acme", "third");
  expect(timers()).toEqual([10_000, 20_000]);
  worker(0).events.onReady();
  expect(timers()).toEqual([20_000, 100]);
  const late = expect(second).rejects.toMatchObject({ code: "busy" });
  fire();
  await late;
  await finish(0, 1);
  expect(await first).toMatchObject({ output: 1 });
  await finish(0, 3);
  expect(await third).toMatchObject({ output: 3 });
  expect(started).toEqual(["first", "third"]);
});
