import type { Evaluate, EvaluationResult } from "@signalbox/rules/flows/evaluation.ts";
import { expect, it } from "vitest";
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

/** A sandbox that evaluates batches when the test calls `run`. The filter `slow` exceeds its limits. */
function setUp() {
  let time = 0;
  const started: (readonly string[])[] = [];
  const queue: { expressions: readonly string[]; end(result: EvaluationResult): void }[] = [];
  const evaluate: Evaluate = (evaluation, { signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<EvaluationResult>();
    const expressions = "expressions" in evaluation ? evaluation.expressions : [];
    const entry = { expressions, end: resolve };
    queue.push(entry);
    signal.addEventListener("abort", () => {
      if (queue.includes(entry)) queue.splice(queue.indexOf(entry), 1);
      reject(signal.reason);
    });
    return promise;
  };
  return {
    started,
    filters: evaluateFilters({ evaluate, now: () => time }, "acme"),
    otherTenantFilters: evaluateFilters({ evaluate, now: () => time }, "umbrella"),
    advance(ms: number) {
      time += ms;
    },
    /** Evaluates the queued batches, in order. */
    async run() {
      for (let next = queue.shift(); next; next = queue.shift()) {
        started.push(next.expressions);
        next.end(
          next.expressions.includes("slow")
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
