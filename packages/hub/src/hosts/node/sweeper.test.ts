import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Retention, SweepResult } from "../../store/store.ts";
import { startSweeper } from "./sweeper.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const retention = { processedFor: 3, pendingFor: 90, maxBytes: 8192 };
const swept = (given: Partial<SweepResult> = {}): SweepResult => ({
  processed: 0,
  expired: 0,
  overflow: 0,
  more: Object.keys(given).length > 0,
  ...given,
});

function start(answers: (SweepResult | Error)[]) {
  const asked: Retention[] = [];
  const sweptRuns: number[] = [];
  const sweptFlows: number[] = [];
  const said: string[] = [];
  const counts: Record<string, number> = {};
  const note = (facts: object, words: string) =>
    void said.push(`${words} ${"events" in facts ? facts.events : ""}`.trim());
  const stop = startSweeper({
    retention,
    runsFor: 30,
    store: {
      async sweepRuns(endedBefore) {
        sweptRuns.push(endedBefore);
        return sweptRuns.length === 1 ? 500 : 0;
      },
      async sweepFlows(deletedBefore) {
        expect(sweptRuns.length).toBeGreaterThan(1);
        sweptFlows.push(deletedBefore);
        return sweptFlows.length === 1 ? 500 : 0;
      },
      async sweep(asking) {
        asked.push(asking);
        const answer = answers.shift() ?? swept();
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
    metrics: {
      swept: (why, count) => {
        counts[why] = (counts[why] ?? 0) + count;
      },
    },
    log: { warn: note as never, error: note as never },
    now: () => 1_000,
    random: () => 0.5,
  });
  return { asked, sweptRuns, sweptFlows, said, counts, stop };
}

it("sweeps every minute, with the settings that it was given", async () => {
  const { asked, stop } = start([]);
  await vi.advanceTimersByTimeAsync(59_999);
  expect(asked).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(asked).toEqual([{ now: 1_000, ...retention, limit: expect.any(Number) }]);
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toHaveLength(2);
  stop();
});

it("goes on until nothing is left, counts it, and says once what people may miss", async () => {
  const { asked, said, counts, stop } = start([
    swept({ processed: 500 }),
    swept({ processed: 3, expired: 4 }),
    swept({ expired: 1 }),
    swept({ overflow: 7 }),
  ]);
  await vi.advanceTimersByTimeAsync(60_000);
  await vi.waitFor(() => expect(asked).toHaveLength(5));
  await vi.waitFor(() => expect(said).toHaveLength(2));
  expect(counts).toEqual({ processed: 503, expired: 5, overflow: 7 });
  expect(said).toEqual([
    "events that nobody processed were too old, and removed 5",
    "a tenant kept more than it may: its oldest events were removed, processed ones first 7",
  ]);
  stop();
});

it("sweeps runs that ended and then flows that were deleted, until nothing is left", async () => {
  const { sweptRuns, sweptFlows, said, stop } = start([]);
  await vi.advanceTimersByTimeAsync(60_000);
  await vi.waitFor(() => expect(sweptFlows).toEqual([970, 970]));
  expect(sweptRuns).toEqual([970, 970]);
  expect(said).toEqual([]);
  stop();
});

it("does not warn about processed events that are due", async () => {
  const { asked, said, stop } = start([swept({ processed: 9 })]);
  await vi.advanceTimersByTimeAsync(60_000);
  await vi.waitFor(() => expect(asked).toHaveLength(2));
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
  expect(said).toEqual([]);
  stop();
});

it("tries again after a failure, and not once it was stopped", async () => {
  const { asked, said, stop } = start([new Error("disk full")]);
  await vi.advanceTimersByTimeAsync(60_000);
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
  expect(said).toEqual(["retention failed; it will be tried again"]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toHaveLength(2);
  stop();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(asked).toHaveLength(2);
});
