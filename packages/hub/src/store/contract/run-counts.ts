import { expect } from "vitest";
import type { NewRun } from "../run-store.ts";
import { sampleRun, sampleRuns } from "./run-sample.ts";
import { nth, START } from "./sample.ts";
import type { It } from "./subject.ts";

export function runCountsContract(it: It): void {
  it("counts the runs of each status from an id on, up to a maximum", async ({ store }) => {
    const runs: NewRun[] = sampleRuns(6);
    await store.queueRuns([...runs, sampleRun({ tenant: "umbrella" })]);
    await store.cancelRun("acme", nth(runs, 0).id, START);
    await store.cancelRun("acme", nth(runs, 5).id, START);
    const none = {
      queued: 0,
      held: 0,
      running: 0,
      waiting: 0,
      succeeded: 0,
      failed: 0,
      cancelled: 0,
    };
    expect(await store.countRuns("acme", "", 99)).toEqual({ ...none, queued: 4, cancelled: 2 });
    expect(await store.countRuns("acme", nth(runs, 2).id, 99)).toEqual({
      ...none,
      queued: 3,
      cancelled: 1,
    });
    expect(await store.countRuns("acme", "", 3)).toEqual({ ...none, queued: 3, cancelled: 2 });
    expect(await store.countRuns("nobody", "", 99)).toEqual(none);
  });
}
