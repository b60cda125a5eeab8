import { describe, expect, it } from "vitest";
import { step, timeAt } from "./test-step.ts";
import {
  attemptsOf,
  barOf,
  failedStepOf,
  newestStepOf,
  partsOf,
  rowsOf,
  spanOf,
  type TimedRun,
  ticksOf,
} from "./waterfall.ts";

const run = (fields: Partial<TimedRun> = {}): TimedRun => ({
  status: "succeeded",
  created_at: timeAt(0),
  started_at: timeAt(1),
  finished_at: timeAt(1_000),
  ...fields,
});
const failed = { status: "failed", port: null } as const;
/** The kind, step number, start, end and `isWait` of each row. Times are milliseconds after `timeAt(0)`. */
const shape = (rows: ReturnType<typeof rowsOf>) =>
  rows.map(({ kind, nth, from, to, isWait }) => [
    kind,
    nth,
    from - Date.parse(timeAt(0)),
    to === null ? null : to - Date.parse(timeAt(0)),
    isWait,
  ]);

describe("rowsOf", () => {
  it("returns rows for the run and its steps", () =>
    expect(shape(rowsOf(run(), [step(1, "a", { from: 1, to: 3 })]))).toEqual([
      ["run", 0, 1, 1_000, false],
      ["step", 1, 1, 3, false],
    ]));

  it("adds a row for the time in the queue, even if the run is still queued", () => {
    expect(shape(rowsOf(run({ started_at: timeAt(400) }), []))[1]).toEqual([
      "queue",
      0,
      0,
      400,
      true,
    ]);
    const queued = run({ status: "queued", started_at: null, finished_at: null });
    expect(shape(rowsOf(queued, []))).toEqual([
      ["run", 0, 0, null, false],
      ["queue", 0, 0, null, true],
    ]);
  });

  it("adds a row for every attempt, and for the wait before the next one", () => {
    const steps = [
      step(1, "a", { ...failed, from: 1, to: 10, output: { retry_at: 100 } }),
      step(2, "b", { from: 1, to: 5 }),
      step(3, "a", { attempt: 2, from: 100, to: 120 }),
    ];
    const rows = rowsOf(run(), steps);
    expect(shape(rows).slice(1)).toEqual([
      ["step", 1, 1, 10, false],
      ["step", 2, 1, 5, false],
      ["wait", 3, 10, 100, true],
      ["step", 3, 100, 120, false],
    ]);
    expect(rows.map(({ isRetried }) => isRetried)).toEqual([false, true, false, true, true]);
  });

  it("adds a wait for a planned attempt, and the attempt when it is due, only while the run is active", () => {
    const retry_at = Date.parse(timeAt(9_000));
    const steps = [step(1, "a", { ...failed, from: 1, to: 10, output: { retry_at } })];
    const waiting = run({ status: "waiting", finished_at: null });
    const at = (ms: number) => ({ now: Date.parse(timeAt(ms)) });
    expect(shape(rowsOf(waiting, steps, at(20))).slice(2)).toEqual([["wait", 1, 10, null, true]]);
    // The hub records the next attempt only when it ends.
    const rows = rowsOf(waiting, steps, at(9_001));
    expect(shape(rows).slice(2)).toEqual([
      ["wait", 1, 10, 9_000, true],
      ["next", 1, 9_000, null, false],
    ]);
    expect(rows.at(-1)?.step).toMatchObject({ attempt: 2, status: "running", error: null });
    expect(rowsOf(run({ status: "cancelled" }), steps)).toHaveLength(2);
  });

  it("does not treat the iterations of a loop as attempts of one step", () => {
    const steps = [
      step(1, "a", { ...failed, item: "each:0", from: 1, to: 10 }),
      step(2, "a", { item: "each:1", from: 20, to: 30 }),
    ];
    expect(rowsOf(run(), steps).map(({ kind }) => kind)).toEqual(["run", "step", "step"]);
  });

  it("marks waiting steps, and steps of nodes that only wait, as waits", () => {
    const steps = [
      step(1, "nap", { from: 1, to: 500 }),
      step(2, "poll", { from: 1, to: null, status: "waiting" }),
    ];
    const rows = rowsOf(run(), steps, { isWaitNode: (node) => node === "nap" });
    expect(rows.map(({ isWait }) => isWait)).toEqual([false, true, true]);
  });

  it("adds rows for the parts of the expanded step only", () => {
    const steps = [
      step(1, "agent"),
      step(2, "agent", { item: "#turn-1" }),
      step(3, "other", { item: "#turn-1" }),
    ];
    expect(rowsOf(run(), steps)).toHaveLength(2);
    const rows = rowsOf(run(), steps, { expandedStep: { node_id: "agent", item: "" } });
    expect(rows.map(({ kind, nth }) => `${kind} ${nth}`)).toEqual(["run 0", "step 1", "part 2"]);
  });
});

describe("the time scale", () => {
  const at = Date.parse(timeAt(0));
  it("spans from the first start to the last end, or to now if a row has not ended", () => {
    const rows = rowsOf(run({ created_at: timeAt(-50) }), [step(1, "a", { from: 1, to: null })]);
    expect(spanOf(rows, at + 3_000)).toEqual({ from: at - 50, to: at + 3_000 });
    expect(spanOf([], 7)).toEqual({ from: 7, to: 8 });
  });

  it("places bars in proportion to the span, and never outside of it", () => {
    const span = { from: at, to: at + 1_000 };
    expect(barOf({ from: at + 250, to: at + 500 }, span, at)).toEqual({
      left: 25,
      width: 25,
      ms: 250,
      side: "after",
    });
    expect(barOf({ from: at + 900, to: null }, span, at + 5_000)).toMatchObject({
      left: 90,
      width: 10,
      side: "before",
    });
    // The clock of the browser may be behind that of the hub.
    expect(barOf({ from: at + 100, to: null }, span, at)).toMatchObject({ width: 0, ms: 0 });
    expect(barOf({ from: at, to: at + 1_000 }, span, at).side).toBeUndefined();
  });

  it.each([
    [3, [0, 1, 2, 3]],
    [1_640, [0, 500, 1_000, 1_500]],
    [90_000, [0, 30_000, 60_000, 90_000]],
    [26 * 3_600_000, [0, 6, 12, 18, 24].map((hours) => hours * 3_600_000)],
  ])("has few ticks at round times for %d ms", (to, ticks) =>
    expect(ticksOf({ from: 0, to })).toEqual(ticks),
  );
});

describe("lookups of steps", () => {
  const steps = [
    step(1, "a", failed),
    step(2, "a", { ...failed, attempt: 2 }),
    step(3, "a", { item: "#turn-1", status: "failed" }),
    step(4, "b"),
  ];
  it("failedStepOf returns the last failed step of the node that the error of the run names", () => {
    const error = { code: "x", message: "x", node_id: "a" };
    expect(failedStepOf({ status: "failed", error }, steps)).toBe(2);
    expect(failedStepOf({ status: "succeeded", error: null }, steps)).toBeUndefined();
  });
  it("attemptsOf, partsOf and newestStepOf return the steps of one node", () => {
    expect(attemptsOf(steps, { node_id: "a", item: "" }).map(({ nth }) => nth)).toEqual([1, 2]);
    expect(partsOf(steps, { node_id: "a", item: "" }).map(({ nth }) => nth)).toEqual([3]);
    expect(newestStepOf(steps, "a")?.nth).toBe(2);
  });
});
