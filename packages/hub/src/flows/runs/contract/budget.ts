/** Tests the limit of the bytes that a run stores with its steps. */
import { expect } from "vitest";
import type { It } from "../contract.ts";
import { allSteps } from "../store/contract/run-sample.ts";
import { edges, gate, HOUR, probe, start, TENANT } from "./fixture.ts";

const MAX_RUN_BYTES = 1_000_000;
const text = "x".repeat(1_000);
/** Outputs of about 400 kB. */
const large = (slug: string) => probe(slug, { value: text, times: 400 });

export function budgetContract(it: It): void {
  it("fails at the step whose output exceeds the byte limit of the run, and stores nothing of the output", async (fixture) => {
    const createRun = await fixture.publish(
      [start, large("a"), large("b"), large("c"), probe("d")],
      edges("start > a > b > c > d"),
    );
    const { id, ended } = await fixture
      .openRunner({ maxRunBytes: MAX_RUN_BYTES })
      .start(createRun());
    expect(await ended).toMatchObject({
      status: "failed",
      error: {
        code: "run_too_large",
        node_id: "c",
        message: expect.stringMatching(/^The output of the step has 401\.?\d* kB .* limit is 1 MB/),
      },
    });
    const steps = await allSteps(fixture.store, TENANT, id);
    expect(steps.map(({ node_id, status }) => `${node_id} ${status}`)).toEqual([
      "start done",
      "a done",
      "b done",
      "c failed",
    ]);
    expect(JSON.stringify(steps).length).toBeLessThan(MAX_RUN_BYTES);
  });

  it("counts the bytes that it stored before it was claimed again", async (fixture) => {
    const createRun = await fixture.publish(
      [start, large("a"), large("b"), gate("hold"), large("c")],
      edges("start > a > b > hold > c"),
    );
    const crashable = fixture.openCrashable({ maxRunBytes: MAX_RUN_BYTES });
    const { id } = await crashable.start(createRun());
    await expect.poll(() => fixture.calls.at(-1)).toBe("hold begins");
    crashable.crash();
    fixture.open("hold");
    fixture.openRunner({ maxRunBytes: MAX_RUN_BYTES, now: () => Date.now() + HOUR / 2 });
    await expect.poll(() => fixture.status(id)).toBe("failed");
    expect((await fixture.run(id)).error).toMatchObject({ code: "run_too_large", node_id: "c" });
  });
}
