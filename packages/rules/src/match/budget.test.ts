import { expect, it } from "vitest";
import { type Allowance, openBudget } from "./budget.ts";
import { createExpressions } from "./expression.ts";

/** Every look at it, and every turn of others, takes a while. */
function slowClock({ look = 1, turn = 1000 } = {}) {
  let time = 0;
  const clock = {
    turns: 0,
    now() {
      time += look;
      return time;
    },
    async giveWay() {
      clock.turns += 1;
      time += turn;
    },
  };
  return clock;
}

it("an evaluation gives way to others, and is not charged for their time", async () => {
  const clock = slowClock();
  const { evaluate } = createExpressions({ length: 2000, steps: 20_000, timeMs: 5000, clock });
  expect(await evaluate("$sum([1..100].($ + 1))", {})).toEqual({ value: 5150 });
  expect(clock.turns).toBeGreaterThan(5);
});

it("so does one whose parts are under way at the same time", async () => {
  const clock = slowClock();
  const { evaluate } = createExpressions({ length: 2000, steps: 20_000, timeMs: 2000, clock });
  const text = "$count($keys([1..60]{$string($): $ + 1}))";
  expect(await evaluate(text, {})).toEqual({ value: 60 });
});

it("what is under way at the same time waits together, and is charged once", async () => {
  const clock = slowClock({ look: 30 });
  const budget = openBudget({ steps: 100, timeMs: 100 }, clock);
  const waiting = [1, 2, 3].map((steps) => budget.spend(steps));
  expect(new Set(waiting).size).toBe(1);
  await Promise.all(waiting);
  expect(clock.turns).toBe(1);
});

it("one that takes longer than it may ends, and says so", async () => {
  const { evaluate } = createExpressions({
    length: 2000,
    steps: 20_000,
    timeMs: 50,
    clock: slowClock(),
  });
  expect(await evaluate("[1..100].($ + 1)", {})).toEqual({ problem: "takes longer than 50 ms" });
});

it("several share what they may take together", () => {
  const allowance: Allowance = { steps: 10, ms: 1000, words: "too much together" };
  const open = () => openBudget({ steps: 8, timeMs: 1000 }, slowClock({ look: 0 }), allowance);
  const first = open();
  first.spend(8);
  expect(() => first.spend(1)).toThrow("takes more than 8 steps");
  first.close();
  const second = open();
  expect(() => second.spend(2)).toThrow("too much together");
  second.close();
  expect(() => second.spend(0)).toThrow();
  const late = openBudget({ steps: 8, timeMs: 1000 }, slowClock(), { ...allowance, ms: 0 });
  expect(() => late.spend(0)).toThrow("too much together");
});
