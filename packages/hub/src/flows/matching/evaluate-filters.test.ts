import type { EvaluationResult } from "@signalbox/rules/flows/evaluation.ts";
import { expect, it } from "vitest";
import type { RunJob } from "../../kernel/jobs/job.ts";
import type { RecordedRequest } from "../test-run-job.ts";
import { evaluateFilters } from "./evaluate-filters.ts";

const LIMIT: EvaluationResult = {
  log: [],
  error: "code_timeout",
  message: "exceeds the time limit of 1 s",
};
const PAUSED = {
  problem: "expression has exceeded its limits, and is not evaluated for 10 s",
  isOverrun: true,
};

/** Evaluates batches when the test calls `run`. The filter `slow` exceeds its limits. */
function setUp() {
  let time = 0;
  let isSlow = true;
  const started: (readonly string[])[] = [];
  const limits: number[] = [];
  const queue: {
    expressions: readonly string[];
    timeoutMs: number;
    end(result: EvaluationResult): void;
  }[] = [];
  const runJob: RunJob = (request: RecordedRequest, { signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<EvaluationResult>();
    const { expressions = [] } = request;
    const entry = { expressions, timeoutMs: request.timeoutMs, end: resolve };
    queue.push(entry);
    signal.addEventListener("abort", () => {
      if (queue.includes(entry)) queue.splice(queue.indexOf(entry), 1);
      reject(signal.reason);
    });
    return promise;
  };
  return {
    started,
    limits,
    filters: evaluateFilters({ runJob, now: () => time }, "acme"),
    decidingFilters: evaluateFilters({ runJob, now: () => time, decidesPaused: true }, "acme"),
    otherTenantFilters: evaluateFilters({ runJob, now: () => time }, "umbrella"),
    advance(ms: number) {
      time += ms;
    },
    /** From now on, the filter \`slow\` does not exceed its limits. */
    release() {
      isSlow = false;
    },
    /** Evaluates the queued batches, in order. */
    async run() {
      for (let next = queue.shift(); next; next = queue.shift()) {
        started.push(next.expressions);
        limits.push(next.timeoutMs);
        next.end(
          isSlow && next.expressions.includes("slow")
            ? LIMIT
            : { log: [], output: next.expressions.map(() => ({ holds: true })) },
        );
        await new Promise(setImmediate);
      }
    },
  };
}

it("pauses a filter that exceeds its limits, even in batches that are queued already", async () => {
  const { filters, otherTenantFilters, started, advance, run } = setUp();
  const events = [filters(["slow"], {}), filters(["slow"], {}), filters(["slow", "fast"], {})];
  const ofOtherTenant = otherTenantFilters(["slow"], {});
  await run();
  const overrun = { problem: "expression exceeds the time limit of 1 s", isOverrun: true };
  expect(await Promise.all(events)).toEqual([[overrun], [PAUSED], [PAUSED, { holds: true }]]);
  expect(await ofOtherTenant).toEqual([overrun]); // each tenant has its own pauses
  expect(started).toEqual([["slow"], ["slow"], ["fast"]]);

  expect(await filters(["slow"], {})).toEqual([PAUSED]);
  advance(10_000);
  const again = filters(["slow"], {});
  await run();
  expect(await again).toEqual([overrun]);
});

it("returns the results in the order of the filters, and evaluates equal filters once", async () => {
  const { filters, started, run } = setUp();
  const results = filters(["a", "b", "a"], {});
  await run();
  expect(await results).toEqual([{ holds: true }, { holds: true }, { holds: true }]);
  expect(started).toEqual([["a", "b"]]);
});

it("evaluates a paused filter briefly on request, for a bounded time", async () => {
  const { filters, decidingFilters, started, limits, advance, run } = setUp();
  const first = filters(["slow"], {});
  await run();
  await first;

  const evaluateBriefly = async () => {
    const deciding = decidingFilters(["slow", "fast"], {});
    await run();
    return deciding;
  };
  const overrun = { problem: "expression exceeds the time limit of 1 s", isOverrun: true };
  // Each takes 0.1 of the 10 s that a burst may take.
  for (let count = 0; count < 100; count += 1)
    expect(await evaluateBriefly()).toEqual([overrun, { holds: true }]);
  expect(started.slice(1, 3)).toEqual([["fast"], ["slow"]]);
  expect(limits.slice(1, 3)).toEqual([1_000, 100]);
  expect(await evaluateBriefly()).toEqual([PAUSED, { holds: true }]);
  advance(1_000);
  expect(await evaluateBriefly()).toEqual([overrun, { holds: true }]);
  expect(await evaluateBriefly()).toEqual([PAUSED, { holds: true }]);
});

it("does not count the brief evaluations that do not exceed their limit", async () => {
  const { filters, decidingFilters, run, release } = setUp();
  const first = filters(["slow"], {});
  await run();
  await first;
  release();
  for (let count = 0; count < 200; count += 1) {
    const deciding = decidingFilters(["slow"], {});
    await run();
    expect(await deciding).toEqual([{ holds: true }]);
  }
});
