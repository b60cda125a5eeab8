import { LargeJson } from "@signalbox/rules/large-json.ts";
import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import {
  claimExactly,
  runIds,
  sampleRuns,
  sampleStep,
  save,
} from "../../flows/runs/store/contract/run-sample.ts";
import { storeDefinition } from "../../store.ts";
import { openSqlite } from "./sqlite.ts";

/** Runs the work five times, and returns the shortest CPU time in milliseconds. */
async function measure(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  return Math.min(...times);
}

it("lists runs and steps without reading their large values", async () => {
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  onTestFinished(() => store.close());
  await store.queueRuns(sampleRuns(8));
  const claimed = await claimExactly(store, 8);
  const output = new LargeJson(`"${"x".repeat(15_000_000)}"`);
  await save(store, claimed, {
    steps: [sampleStep({ output: output as never })],
    next: { status: "succeeded", output: output as never },
  });
  const ids = runIds(claimed);
  const tenant = "acme";
  const preview = { $preview: `"${"x".repeat(199)}`, bytes: 15_000_002 };
  const runs = await store.listRuns({ tenant, limit: 100 });
  expect(runs.map((run) => run.output)).toEqual(ids.map(() => preview));

  const whole = await measure(async () => {
    for (const run of ids) await store.readValue({ tenant, run, field: "output" });
  });
  const listed = await measure(() => store.listRuns({ tenant, limit: 100 }));
  const steps = await measure(async () => {
    for (const run of ids) await store.listSteps(tenant, run);
  });
  expect(listed).toBeLessThan(whole / 10);
  expect(steps).toBeLessThan(whole / 10);
});
