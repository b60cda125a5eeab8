import type { Evaluation } from "@signalbox/rules/flows/evaluation.ts";
import { expect, it } from "vitest";
import { createEvaluateInProcess } from "./evaluate-in-process.ts";

const evaluate = createEvaluateInProcess({
  stepsPerMs: 500,
  get engine(): never {
    throw new Error("no JavaScript in these tests");
  },
});
const run = (evaluation: Evaluation) =>
  evaluate(evaluation, { tenant: "acme", signal: new AbortController().signal } as never);

const ENDLESS = "($f := function($n) { $f($n + 1) }; $f(0))";
const LIMIT = { error: "code_timeout", message: "exceeds the time limit of 100 ms" };

it("limits the steps of an expression, and of all filters of an event", async () => {
  const jsonata = { language: "jsonata", timeoutMs: 100, data: { n: 2 } } as const;
  expect(await run({ ...jsonata, expression: "n + 1" })).toEqual({ log: [], output: 3 });
  expect(await run({ ...jsonata, expression: ENDLESS })).toMatchObject(LIMIT);
  const filters = { ...jsonata, language: "jsonata-filters" } as const;
  expect(await run({ ...filters, expressions: ["n = 2", "n = 3"] })).toMatchObject({
    output: [{ holds: true }, { holds: false }],
  });
  expect(await run({ ...filters, expressions: ["n = 2", ENDLESS] })).toMatchObject(LIMIT);
});
