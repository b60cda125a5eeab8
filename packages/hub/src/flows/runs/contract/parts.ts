/** Tests that the parts of a step are recorded one by one, and are not repeated once they are done. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import { expect } from "vitest";
import { MASK } from "../../../kernel/lib/mask.ts";
import type { It } from "../contract.ts";
import { TERMINAL_STATUSES } from "../model.ts";
import { allSteps } from "../store/contract/run-sample.ts";
import { edges, type Fixture, HOUR, node, start, TENANT } from "./fixture.ts";

const parts = (config: JsonObject = {}) =>
  node("agent", "Parts", { parts: ["one", "two", "three"], ...config });
const CALLS = ["one 1", "two 1", "three 1"];
const OUTPUTS = ["one of 1", "two of 1", "three of 1"];

/** Longer than the lease of a run. */
const MINUTE = 60_000;

const hasEnded = async (fixture: Fixture, id: string) =>
  TERMINAL_STATUSES.includes((await fixture.run(id)).status);

export function partsContract(it: It): void {
  it("have their own step records, with input and output", async (fixture) => {
    const createRun = await fixture.publish([start, parts()], edges("start > agent"));
    const run = await (await fixture.openRunner().start(createRun())).ended;
    expect(run).toMatchObject({ status: "succeeded", output: OUTPUTS });
    expect(await fixture.steps(run.id)).toEqual([
      "start done",
      "agent done",
      "agent@#one done",
      "agent@#two done",
      "agent@#three done",
    ]);
    expect((await allSteps(fixture.store, TENANT, run.id))[3]).toMatchObject({
      input: { part: "two", secret: null },
      output: "two of 1",
      error: null,
      finished_at: expect.any(Number),
    });
  });

  it("are recorded as running when they start", async (fixture) => {
    const createRun = await fixture.publish(
      [start, parts({ hold: ["two"] })],
      edges("start > agent"),
    );
    const { id, ended } = await fixture.openRunner().start(createRun());
    await expect.poll(() => fixture.calls).toEqual(["one 1", "two 1"]);
    expect((await fixture.steps(id)).slice(1)).toEqual([
      "agent running",
      "agent@#one done",
      "agent@#two running",
    ]);
    expect((await allSteps(fixture.store, TENANT, id))[3]).toMatchObject({
      input: { part: "two" },
    });
    fixture.open("two");
    expect((await ended).status).toBe("succeeded");
  });

  it("are called once each, although a worker crashes before and after each call", async (fixture) => {
    const createRun = await fixture.publish([start, parts()], edges("start > agent"));
    const run = createRun();
    await fixture.store.queueRuns([run]);
    const boundaries = ["one", "two", "three"].flatMap((part) => [
      `#${part} running`,
      `#${part} done`,
    ]);
    for (const [index, boundary] of boundaries.entries()) {
      const crash = Promise.withResolvers<void>();
      const now = () => Date.now() + index * MINUTE;
      fixture.openCrashable({ now }, ({ item, status }) => {
        if (`${item} ${status}` !== boundary) return false;
        crash.resolve();
        return true;
      });
      await crash.promise;
    }
    fixture.openRunner({ now: () => Date.now() + boundaries.length * MINUTE });
    await expect.poll(() => fixture.status(run.id)).toBe("succeeded");
    expect(fixture.calls).toEqual(CALLS);
    expect(await fixture.run(run.id)).toMatchObject({
      output: OUTPUTS,
      claims: boundaries.length + 1,
    });
    expect(await fixture.steps(run.id)).toEqual([
      "start done",
      "agent done",
      ...["one", "two", "three"].map((part) => `agent@#${part} done`),
    ]);
  });

  it("are repeated only if a crash interrupted them", async (fixture) => {
    const createRun = await fixture.publish(
      [start, parts({ hold: ["two"] })],
      edges("start > agent"),
    );
    const crashable = fixture.openCrashable();
    const { id } = await crashable.start(createRun());
    await expect.poll(() => fixture.calls).toEqual(["one 1", "two 1"]);
    crashable.crash();
    fixture.openRunner({ now: () => Date.now() + HOUR });
    await expect.poll(() => fixture.calls).toEqual(["one 1", "two 1", "two 1"]);
    fixture.open("two");
    await expect.poll(() => fixture.status(id)).toBe("succeeded");
    expect(fixture.calls).toEqual(["one 1", "two 1", "two 1", "three 1"]);
    expect((await fixture.run(id)).output).toEqual(OUTPUTS);
  });

  it("are not recorded as failed if the hub stops, and the next runner repeats them", async (fixture) => {
    const createRun = await fixture.publish(
      [start, parts({ hold: ["two"] })],
      edges("start > agent"),
    );
    const first = fixture.openRunner();
    const { id } = await first.start(createRun());
    await expect.poll(() => fixture.calls).toEqual(["one 1", "two 1"]);
    await first.close();
    expect((await fixture.steps(id)).slice(2)).toEqual(["agent@#one done", "agent@#two running"]);
    fixture.open("two");
    fixture.openRunner();
    await expect.poll(() => fixture.status(id)).toBe("succeeded");
    expect(fixture.calls).toEqual(["one 1", "two 1", "two aborted", "two 1", "three 1"]);
  });

  it("are not repeated by the retries of their node", async (fixture) => {
    const settings = { retries: { attempts: 3, backoffMs: 0 } };
    const createRun = await fixture.publish(
      [start, parts({ fail: 1, settings }), node("other", "Parts", { parts: ["one"] })],
      edges("start > agent > other"),
    );
    const run = await (await fixture.openRunner().start(createRun())).ended;
    expect(run).toMatchObject({ status: "succeeded", output: ["one of 1"] });
    // A part of another node with the same name is a different part.
    expect(fixture.calls).toEqual([...CALLS, "one 1"]);
    expect((await fixture.steps(run.id)).filter((step) => step.startsWith("agent"))).toEqual([
      "agent failed",
      ...["one", "two", "three"].map((part) => `agent@#${part} done`),
      "agent#2 done",
    ]);
  });

  it("are repeated by the retries of their node if they failed", async (fixture) => {
    const settings = { retries: { attempts: 3, backoffMs: 0 } };
    const createRun = await fixture.publish(
      [start, parts({ fail: 2, failAt: "two", settings })],
      edges("start > agent"),
    );
    const run = await (await fixture.openRunner().start(createRun())).ended;
    expect(run).toMatchObject({
      status: "succeeded",
      output: ["one of 1", "two of 3", "three of 3"],
    });
    expect(fixture.calls).toEqual(["one 1", "two 1", "two 2", "two 3", "three 3"]);
    expect((await fixture.steps(run.id)).filter((step) => step.startsWith("agent@"))).toEqual([
      "agent@#one done",
      "agent@#two failed",
      "agent@#two#2 failed",
      "agent@#two#3 done",
      "agent@#three done",
    ]);
  });

  it("are repeated by retryRun only if they failed", async (fixture) => {
    const createRun = await fixture.publish(
      [start, parts({ fail: 1, failAt: "two" })],
      edges("start > agent"),
    );
    const runner = fixture.openRunner();
    const failed = await (await runner.start(createRun())).ended;
    expect(failed).toMatchObject({ status: "failed", error: { node_id: "agent" } });
    await fixture.store.retryRun(TENANT, failed.id, Date.now());
    await expect.poll(() => fixture.status(failed.id)).toBe("succeeded");
    expect(fixture.calls).toEqual(["one 1", "two 1", "two 2", "three 2"]);
    expect((await fixture.run(failed.id)).output).toEqual(["one of 1", "two of 2", "three of 2"]);
  });

  it("fail if they are running when their node exceeds its time limit, and are repeated", async (fixture) => {
    const settings = { timeoutMs: 1_500, retries: { attempts: 2, backoffMs: 0 } };
    const createRun = await fixture.publish(
      [start, parts({ hold: ["two"], settings })],
      edges("start > agent"),
    );
    const run = await (await fixture.openRunner().start(createRun())).ended;
    expect(run).toMatchObject({ status: "failed", error: { code: "timeout" } });
    expect(fixture.calls.filter((call) => !call.includes("aborted"))).toEqual([
      "one 1",
      "two 1",
      "two 2",
    ]);
    // A part that ends after its attempt has no effect.
    fixture.open("two");
    const steps = (await fixture.steps(run.id)).slice(1);
    expect(steps).toEqual([
      "agent failed",
      "agent@#one done",
      "agent@#two failed",
      "agent@#two#2 failed",
      "agent#2 failed",
    ]);
    expect((await allSteps(fixture.store, TENANT, run.id))[3]?.error).toMatchObject({
      code: "timeout",
    });
    expect(fixture.errors).toEqual([]);
  });

  it("are aborted and recorded as failed when the run is cancelled", async (fixture) => {
    const createRun = await fixture.publish(
      [start, parts({ hold: ["two"] })],
      edges("start > agent"),
    );
    const runner = fixture.openRunner();
    const { id } = await runner.start(createRun());
    await expect.poll(() => fixture.calls).toEqual(["one 1", "two 1"]);
    await fixture.store.cancelRun(TENANT, id, Date.now());
    await expect.poll(() => hasEnded(fixture, id)).toBe(true);
    await expect.poll(() => fixture.calls).toContain("two aborted");
    expect((await fixture.steps(id)).slice(1)).toEqual([
      "agent failed",
      "agent@#one done",
      "agent@#two failed",
    ]);
    fixture.open("two");
    await fixture.store.retryRun(TENANT, id, Date.now());
    await expect.poll(() => fixture.status(id)).toBe("succeeded");
    expect(fixture.calls).toEqual(["one 1", "two 1", "two aborted", "two 2", "three 2"]);
  });

  it("are separate for each iteration of a loop", async (fixture) => {
    const createRun = await fixture.publish(
      [start, node("each", "ForEach", { items: [0, 1], atOnce: 1 }), parts({ parts: ["one"] })],
      edges("start > each.item > agent"),
    );
    const run = await (await fixture.openRunner().start(createRun())).ended;
    expect(run.output).toEqual([["one of 1"], ["one of 1"]]);
    expect((await fixture.steps(run.id)).filter((step) => step.startsWith("agent@"))).toEqual([
      "agent@each:0 done",
      "agent@each:0#one done",
      "agent@each:1 done",
      "agent@each:1#one done",
    ]);
  });

  it("contain no secrets in their input, output and error", async (fixture) => {
    const secret = "s3cret-value";
    const runner = fixture.openRunner({ loadSecrets: async () => ({ KEY: secret }) });
    const createRun = await fixture.publish(
      [
        start,
        parts({ secret: "{{ secrets.KEY }}", output: `got ${secret}`, fail: 1, failAt: "two" }),
      ],
      edges("start > agent"),
    );
    const failed = await (await runner.start(createRun())).ended;
    const [, , firstPart, secondPart] = await allSteps(fixture.store, TENANT, failed.id);
    expect(firstPart).toMatchObject({
      input: { part: "one", secret: MASK },
      output: `got ${MASK}`,
    });
    expect(secondPart?.error?.message).toBe(`no luck ${MASK}`);
    await fixture.store.retryRun(TENANT, failed.id, Date.now());
    await expect.poll(() => fixture.status(failed.id)).toBe("succeeded");
    const everything = [
      await fixture.run(failed.id),
      await allSteps(fixture.store, TENANT, failed.id),
    ];
    expect(JSON.stringify(everything)).not.toContain(secret);
    expect((await fixture.run(failed.id)).output).toEqual(Array(3).fill(`got ${MASK}`));
  });
}
