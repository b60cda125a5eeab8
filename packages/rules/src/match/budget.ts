/**
 * What an evaluation may take: steps and what it makes, the same on every machine, and time. It
 * gives way to others again and again, and is not charged for the time that they take.
 */
import type jsonata from "jsonata";

/** What is left for several evaluations together. */
export interface Allowance {
  steps: number;
  ms: number;
  /** Says that nothing is left. */
  words: string;
}

export interface Budget {
  /** Takes some steps; a promise where it is time to give way first. */
  spend(steps: number): void | Promise<void>;
  /** Of what was made or looked at, so that what is in it many times is counted through once. */
  weights: WeakMap<object, number>;
  /** Nothing more can be taken, and the allowance has less by what was. */
  close(): void;
}

export interface Clock {
  now(): number;
  /** Resolves when all that waits has had a turn. */
  giveWay(): Promise<void>;
}

export const systemClock: Clock = {
  now: Date.now,
  giveWay: () => new Promise((resolve) => setTimeout(resolve, 0)),
};

/** For so long others may have to wait. */
const TURN_MS = 10;

/** For what takes many short steps: when others should have a turn. */
export function createTurn({ now, giveWay }: Clock = systemClock) {
  let since = now();
  return {
    ms: () => now() - since,
    isOver: () => now() - since >= TURN_MS,
    async giveWay() {
      await giveWay();
      since = now();
    },
  };
}

export function openBudget(
  limits: { steps: number; timeMs: number },
  clock: Clock,
  allowance: Allowance = { steps: limits.steps, ms: limits.timeMs, words: "" },
): Budget {
  let steps = 0;
  let ms = 0;
  const turn = createTurn(clock);
  /** Parts of an expression may be under way at the same time. */
  let waiting: Promise<void> | undefined;

  const check = (took: number) => {
    if (steps > limits.steps) refuse(`takes more than ${limits.steps} steps`);
    if (took > limits.timeMs) refuse(`takes longer than ${limits.timeMs} ms`);
    if (steps > allowance.steps || took > allowance.ms) refuse(allowance.words);
  };
  return {
    weights: new WeakMap(),
    spend(count) {
      steps += count;
      const took = waiting ? 0 : turn.ms();
      check(ms + took);
      if (waiting || took < TURN_MS) return waiting;
      ms += took;
      waiting = turn.giveWay().then(() => {
        waiting = undefined;
      });
      return waiting;
    },
    close() {
      allowance.steps -= steps;
      allowance.ms -= ms + (waiting ? 0 : turn.ms());
      steps = Number.POSITIVE_INFINITY;
    },
  };
}

/** A variable of this name cannot be written in an expression. */
export const BUDGET = "the budget";

export const budgetOf = (environment: jsonata.Environment): Budget => environment.lookup(BUDGET);

/** Values within values, each counted as often as it is reached, and a few letters as one. */
export const HEAVIEST = 250_000;
export const LETTERS_PER_STEP = 50;

/** Without recursion, and no further than to what is too much. */
export function weigh(value: string | object, weights: WeakMap<object, number>): void {
  let weight = 0;
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const next = waiting.pop();
    weight += 1;
    if (typeof next === "string") weight += next.length / LETTERS_PER_STEP;
    else if (typeof next === "object" && next !== null && !isJsonataFunction(next)) {
      const known = weights.get(next);
      if (known === undefined) for (const one of Object.values(next)) waiting.push(one);
      else weight += known;
    }
    if (weight + waiting.length > HEAVIEST) refuse("makes or selects more than it may at once");
  }
  if (typeof value === "object") weights.set(value, weight);
}

/** JSONata's functions are objects, and hold all that they can see. */
export const isJsonataFunction = (value: object): boolean =>
  "_jsonata_lambda" in value || "_jsonata_function" in value;

export function refuse(message: string): never {
  throw new Error(message);
}
