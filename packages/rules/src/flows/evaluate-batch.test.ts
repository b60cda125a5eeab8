import { expect, it } from "vitest";
import { evaluateBatch } from "./evaluate-batch.ts";
import { timeLimitExceeded } from "./evaluation.ts";

/** Expressions that start with `slow` exceed the limit; the others evaluate to their own text. */
function setUp() {
  const sizes: number[] = [];
  const evaluate = async (expressions: readonly string[]) => {
    sizes.push(expressions.length);
    return expressions.some((name) => name.startsWith("slow"))
      ? { log: [], ...timeLimitExceeded(1000) }
      : { log: [], output: [...expressions] };
  };
  return { sizes, evaluate };
}

const exceeded = { problem: "expression exceeds the time limit of 1 s", isOverrun: true };

it("evaluates all expressions in one message", async () => {
  const { sizes, evaluate } = setUp();
  expect(await evaluateBatch(evaluate, ["a", "b", "c"])).toEqual(["a", "b", "c"]);
  expect(sizes).toEqual([3]);
});

it("evaluates each expression separately if the batch exceeds its limit", async () => {
  const { sizes, evaluate } = setUp();
  expect(await evaluateBatch(evaluate, ["a", "slow", "c"])).toEqual(["a", exceeded, "c"]);
  expect(sizes).toEqual([3, 1, 1, 1]);
});

it("does not evaluate a single expression again", async () => {
  const { sizes, evaluate } = setUp();
  expect(await evaluateBatch(evaluate, ["slow"])).toEqual([exceeded]);
  expect(sizes).toEqual([1]);
});

it("skips the other expressions after four have exceeded their limits", async () => {
  const { sizes, evaluate } = setUp();
  const names = ["a", "slow 1", "slow 2", "slow 3", "b", "slow 4", "c"];
  expect(await evaluateBatch(evaluate, names)).toEqual([
    "a",
    exceeded,
    exceeded,
    exceeded,
    "b",
    exceeded,
    {
      problem: "expression is not evaluated: 4 others exceed their limits",
      isSkipped: true,
    },
  ]);
  expect(sizes).toEqual([7, 1, 1, 1, 1, 1, 1]);
});
