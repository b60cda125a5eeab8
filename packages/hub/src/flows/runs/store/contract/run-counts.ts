import { expect } from "vitest";
import { itemAt, START } from "../../../../events/store/contract/sample.ts";
import type { It } from "../../../../kernel/store/contract/subject.ts";
import type { NewRun } from "../../model.ts";
import { sampleRun, sampleRuns } from "./run-sample.ts";

export function runCountsContract(it: It): void {
  it("counts the runs of each status, starting with an id, up to a maximum per status", async ({
    store,
  }) => {
    const runs: NewRun[] = sampleRuns(6);
    await store.queueRuns([...runs, sampleRun({ tenant: "umbrella" })]);
    await store.cancelRun("acme", itemAt(runs, 0).id, START);
    await store.cancelRun("acme", itemAt(runs, 5).id, START);
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
    expect(await store.countRuns("acme", itemAt(runs, 2).id, 99)).toEqual({
      ...none,
      queued: 3,
      cancelled: 1,
    });
    expect(await store.countRuns("acme", "", 3)).toEqual({ ...none, queued: 3, cancelled: 2 });
    expect(await store.countRuns("nobody", "", 99)).toEqual(none);
  });
}
