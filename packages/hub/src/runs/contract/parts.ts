/** The parts of a step are recorded one by one, and are not repeated once they are done. */

import type { JsonObject } from "@signalbox/rules/json.ts";
import { expect } from "vitest";
import { MASK } from "../../lib/mask.ts";
import { allSteps } from "../../store/contract/run-sample.ts";
import { TERMINAL_STATUSES } from "../../store/run-store.ts";
import type { It } from "../contract.ts";
import { edges, type Fixture, HOUR, node, start, TENANT } from "./fixture.ts";

const parts = (given: JsonObject = {}) =>
  node("agent", "Parts", { parts: ["one", "two", "three"], ...given });
const done = ["one 1", "two 1", "three 1"];
const outputs = ["one of 1", "two of 1", "three of 1"];

/** Longer than the lease of a run. */
const MINUTE = 60_000;

const hasEnded = async (f: Fixture, id: string) =>
  TERMINAL_STATUSES.includes((await f.run(id)).status);

export function partsContract(it: It): void {
  it("are steps of their own, with input and output, before the step itself ends", async (f) => {
    const make = await f.publish([start, parts()], edges("start > agent"));
    const run = await (await f.openRunner().start(make())).ended;
    expect(run).toMatchObject({ status: "succeeded", output: outputs });
    expect(await f.steps(run.id)).toEqual([
      "start done",
      "agent done",
      "agent@#one done",
      "agent@#two done",
      "agent@#three done",
    ]);
    expect((await allSteps(f.store, TENANT, run.id))[3]).toMatchObject({
      input: { part: "two", secret: null },
      output: "two of 1",
      error: null,
      finished_at: expect.any(Number),
    });
  });

  it("can be seen while they run", async (f) => {
    const make = await f.publish([start, parts({ hold: ["two"] })], edges("start > agent"));
    const { id, ended } = await f.openRunner().start(make());
    await expect.poll(() => f.calls).toEqual(["one 1", "two 1"]);
    expect((await f.steps(id)).slice(1)).toEqual([
      "agent running",
      "agent@#one done",
      "agent@#two running",
    ]);
    expect((await allSteps(f.store, TENANT, id))[3]).toMatchObject({ input: { part: "two" } });
    f.open("two");
    expect((await ended).status).toBe("succeeded");
  });

  it("are called once each, although a worker crashes before and after each of them", async (f) => {
    const make = await f.publish([start, parts()], edges("start > agent"));
    const run = make();
    await f.store.queueRuns([run]);
    const boundaries = ["one", "two", "three"].flatMap((part) => [
      `#${part} running`,
      `#${part} done`,
    ]);
    for (const [at, boundary] of boundaries.entries()) {
      const crash = Promise.withResolvers<void>();
      const now = () => Date.now() + at * MINUTE;
      f.openCrashable({ now }, ({ item, status }) => {
        if (`${item} ${status}` !== boundary) return false;
        crash.resolve();
        return true;
      });
      await crash.promise;
    }
    f.openRunner({ now: () => Date.now() + boundaries.length * MINUTE });
    await expect.poll(() => f.status(run.id)).toBe("succeeded");
    expect(f.calls).toEqual(done);
    expect(await f.run(run.id)).toMatchObject({ output: outputs, claims: boundaries.length + 1 });
    expect(await f.steps(run.id)).toEqual([
      "start done",
      "agent done",
      ...["one", "two", "three"].map((part) => `agent@#${part} done`),
    ]);
  });

  it("are repeated if a crash interrupted them, and those before are not", async (f) => {
    const make = await f.publish([start, parts({ hold: ["two"] })], edges("start > agent"));
    const crashable = f.openCrashable();
    const { id } = await crashable.start(make());
    await expect.poll(() => f.calls).toEqual(["one 1", "two 1"]);
    crashable.crash();
    f.openRunner({ now: () => Date.now() + HOUR });
    await expect.poll(() => f.calls).toEqual(["one 1", "two 1", "two 1"]);
    f.open("two");
    await expect.poll(() => f.status(id)).toBe("succeeded");
    expect(f.calls).toEqual(["one 1", "two 1", "two 1", "three 1"]);
    expect((await f.run(id)).output).toEqual(outputs);
  });

  it("are not recorded as failed if the hub stops, and the next runner repeats them", async (f) => {
    const make = await f.publish([start, parts({ hold: ["two"] })], edges("start > agent"));
    const first = f.openRunner();
    const { id } = await first.start(make());
    await expect.poll(() => f.calls).toEqual(["one 1", "two 1"]);
    await first.close();
    expect((await f.steps(id)).slice(2)).toEqual(["agent@#one done", "agent@#two running"]);
    f.open("two");
    f.openRunner();
    await expect.poll(() => f.status(id)).toBe("succeeded");
    expect(f.calls).toEqual(["one 1", "two 1", "two aborted", "two 1", "three 1"]);
  });

  it("are not repeated by the retries of their node", async (f) => {
    const settings = { retries: { attempts: 3, backoffMs: 0 } };
    const make = await f.publish(
      [start, parts({ fail: 1, settings }), node("other", "Parts", { parts: ["one"] })],
      edges("start > agent > other"),
    );
    const run = await (await f.openRunner().start(make())).ended;
    expect(run).toMatchObject({ status: "succeeded", output: ["one of 1"] });
    // A part of another node with the same name is a different part.
    expect(f.calls).toEqual([...done, "one 1"]);
    expect((await f.steps(run.id)).filter((step) => step.startsWith("agent"))).toEqual([
      "agent failed",
      ...["one", "two", "three"].map((part) => `agent@#${part} done`),
      "agent#2 done",
    ]);
  });

  it("are repeated by the retries of their node if they failed", async (f) => {
    const settings = { retries: { attempts: 3, backoffMs: 0 } };
    const make = await f.publish(
      [start, parts({ fail: 2, failAt: "two", settings })],
      edges("start > agent"),
    );
    const run = await (await f.openRunner().start(make())).ended;
    expect(run).toMatchObject({
      status: "succeeded",
      output: ["one of 1", "two of 3", "three of 3"],
    });
    expect(f.calls).toEqual(["one 1", "two 1", "two 2", "two 3", "three 3"]);
    expect((await f.steps(run.id)).filter((step) => step.startsWith("agent@"))).toEqual([
      "agent@#one done",
      "agent@#two failed",
      "agent@#two#2 failed",
      "agent@#two#3 done",
      "agent@#three done",
    ]);
  });

  it("are not repeated by retryRun, except for those that failed", async (f) => {
    const make = await f.publish(
      [start, parts({ fail: 1, failAt: "two" })],
      edges("start > agent"),
    );
    const runner = f.openRunner();
    const failed = await (await runner.start(make())).ended;
    expect(failed).toMatchObject({ status: "failed", error: { node_id: "agent" } });
    await f.store.retryRun(TENANT, failed.id, Date.now());
    await expect.poll(() => f.status(failed.id)).toBe("succeeded");
    expect(f.calls).toEqual(["one 1", "two 1", "two 2", "three 2"]);
    expect((await f.run(failed.id)).output).toEqual(["one of 1", "two of 2", "three of 2"]);
  });

  it("fail when their node exceeds its time limit, and only they are repeated", async (f) => {
    const settings = { timeoutMs: 1_500, retries: { attempts: 2, backoffMs: 0 } };
    const make = await f.publish(
      [start, parts({ hold: ["two"], settings })],
      edges("start > agent"),
    );
    const run = await (await f.openRunner().start(make())).ended;
    expect(run).toMatchObject({ status: "failed", error: { code: "timeout" } });
    expect(f.calls.filter((call) => !call.includes("aborted"))).toEqual([
      "one 1",
      "two 1",
      "two 2",
    ]);
    // A part that ends after its attempt has no effect.
    f.open("two");
    const steps = (await f.steps(run.id)).slice(1);
    expect(steps).toEqual([
      "agent failed",
      "agent@#one done",
      "agent@#two failed",
      "agent@#two#2 failed",
      "agent#2 failed",
    ]);
    expect((await allSteps(f.store, TENANT, run.id))[3]?.error).toMatchObject({ code: "timeout" });
    expect(f.errors).toEqual([]);
  });

  it("are aborted and closed when the run is cancelled", async (f) => {
    const make = await f.publish([start, parts({ hold: ["two"] })], edges("start > agent"));
    const runner = f.openRunner();
    const { id } = await runner.start(make());
    await expect.poll(() => f.calls).toEqual(["one 1", "two 1"]);
    await f.store.cancelRun(TENANT, id, Date.now());
    await expect.poll(() => hasEnded(f, id)).toBe(true);
    await expect.poll(() => f.calls).toContain("two aborted");
    expect((await f.steps(id)).slice(1)).toEqual([
      "agent failed",
      "agent@#one done",
      "agent@#two failed",
    ]);
    f.open("two");
    await f.store.retryRun(TENANT, id, Date.now());
    await expect.poll(() => f.status(id)).toBe("succeeded");
    expect(f.calls).toEqual(["one 1", "two 1", "two aborted", "two 2", "three 2"]);
  });

  it("are separate for each iteration of a loop", async (f) => {
    const make = await f.publish(
      [start, node("each", "ForEach", { items: [0, 1], atOnce: 1 }), parts({ parts: ["one"] })],
      edges("start > each.item > agent"),
    );
    const run = await (await f.openRunner().start(make())).ended;
    expect(run.output).toEqual([["one of 1"], ["one of 1"]]);
    expect((await f.steps(run.id)).filter((step) => step.startsWith("agent@"))).toEqual([
      "agent@each:0 done",
      "agent@each:0#one done",
      "agent@each:1 done",
      "agent@each:1#one done",
    ]);
  });

  it("contain no secrets: not in their input, output and error", async (f) => {
    const secret = "s3cret-value";
    const runner = f.openRunner({ loadSecrets: async () => ({ KEY: secret }) });
    const make = await f.publish(
      [
        start,
        parts({ secret: "{{ secrets.KEY }}", output: `got ${secret}`, fail: 1, failAt: "two" }),
      ],
      edges("start > agent"),
    );
    const failed = await (await runner.start(make())).ended;
    const [, , one, two] = await allSteps(f.store, TENANT, failed.id);
    expect(one).toMatchObject({ input: { part: "one", secret: MASK }, output: `got ${MASK}` });
    expect(two?.error?.message).toBe(`no luck ${MASK}`);
    await f.store.retryRun(TENANT, failed.id, Date.now());
    await expect.poll(() => f.status(failed.id)).toBe("succeeded");
    const everything = [await f.run(failed.id), await allSteps(f.store, TENANT, failed.id)];
    expect(JSON.stringify(everything)).not.toContain(secret);
    expect((await f.run(failed.id)).output).toEqual(Array(3).fill(`got ${MASK}`));
  });
}
