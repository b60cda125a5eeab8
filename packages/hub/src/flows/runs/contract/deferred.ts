/** Tests that a run with a deferred start is stored late, but before its first effect. */
import { expect } from "vitest";
import type { Store } from "../../../store.ts";
import type { It } from "../contract.ts";
import { edges, gate, HOUR, node, probe, start, systemTimers, TENANT } from "./fixture.ts";

/** An evaluation that never ends. */
const neverEvaluate = () => new Promise<never>(() => {});
const deferred = true;

/** Timers whose delays never end: a run is stored by its first commit, even on a slow machine. */
const withoutDelays = () =>
  systemTimers({ after: (ms, work) => (ms > 0 ? () => {} : systemTimers().after(ms, work)) });

/** A store that adds each commit of a run to `commits`. */
function recordCommits(store: Store, commits: string[]): Store {
  return {
    ...store,
    startRun(...args) {
      commits.push("startRun");
      return store.startRun(...args);
    },
    saveProgress(batch) {
      commits.push("saveProgress");
      return store.saveProgress(batch);
    },
  };
}

export function deferredContract(it: It): void {
  it("needs only one commit if it has no effects and its start is deferred", async (fixture) => {
    const createRun = await fixture.publish(
      [start, node("both", "Merge"), node("end", "Return", { value: { n: "{{ trigger.n }}" } })],
      edges("start > both > end"),
    );
    const commits: string[] = [];
    const runner = fixture.openRunner({
      store: recordCommits(fixture.store, commits),
      timers: withoutDelays(),
    });
    const run = createRun({ input: { n: 7 }, token_id: "ada" });
    const { id, ended, stored } = await runner.start(run, { deferred });
    expect(await fixture.status(id)).toBeUndefined();
    expect(await ended).toMatchObject({ id, status: "succeeded", output: { n: 7 }, claims: 1 });
    await stored;
    expect(commits).toEqual(["saveProgress"]);
    expect(await fixture.run(id)).toMatchObject({
      tenant: TENANT,
      flow_id: run.flow_id,
      input: { n: 7 },
      token_id: "ada",
      created_at: run.at,
      worker: null,
    });
    expect(await fixture.steps(id)).toEqual(["start done", "both done", "end done"]);
  });

  it("with a deferred start reports its steps and its end once, when they are stored", async (fixture) => {
    const createRun = await fixture.publish(
      [start, node("first", "Merge"), gate("a"), node("end", "Return", { value: 1 })],
      edges("start > first > a > end"),
    );
    const reports: string[] = [];
    const commits: string[] = [];
    const metrics = {
      observeRun: (outcome: string) => void reports.push(`run ${outcome} after ${commits.length}`),
      observeStep: (type: string) => void reports.push(`${type} after ${commits.length}`),
    };
    const store = recordCommits(fixture.store, commits);
    const { ended } = await fixture
      .openRunner({ store, metrics, timers: withoutDelays() })
      .start(createRun(), { deferred });
    await expect.poll(() => fixture.calls).toEqual(["a begins"]);
    expect(reports).toEqual(["Merge after 1"]);
    fixture.open("a");
    await ended;
    expect(reports).toHaveLength(4);
    expect(reports.filter((report) => /^(Merge|Return|run succeeded) /.test(report))).toHaveLength(
      3,
    );
  });

  it("with a deferred start is stored before a node with effects starts", async (fixture) => {
    const createRun = await fixture.publish(
      [start, node("first", "Merge"), gate("a"), node("end", "Return", { value: 1 })],
      edges("start > first > a > end"),
    );
    const { id, ended } = await fixture.openRunner().start(createRun(), { deferred });
    await expect.poll(() => fixture.calls).toEqual(["a begins"]);
    expect(await fixture.steps(id)).toEqual(["start done", "first done", "a running"]);
    fixture.open("a");
    expect(await ended).toMatchObject({ status: "succeeded", output: 1 });
    expect(await fixture.steps(id)).toEqual(["start done", "first done", "a done", "end done"]);
  });

  it("with a deferred start is stored when it is suspended, and continues after a crash", async (fixture) => {
    const createRun = await fixture.publish(
      [start, node("rest", "Wait", { seconds: 3600 }), probe("a")],
      edges("start > rest > a"),
    );
    const crashable = fixture.openCrashable();
    const { id } = await crashable.start(createRun(), { deferred });
    await expect.poll(() => fixture.status(id)).toBe("waiting");
    crashable.crash();
    fixture.openRunner({ now: () => Date.now() + 2 * HOUR });
    await expect.poll(() => fixture.status(id)).toBe("succeeded");
    expect(await fixture.steps(id)).toEqual(["start done", "rest done", "a done"]);
  });

  it("with a deferred start is stored after a short time, even if it has not ended", async (fixture) => {
    const createRun = await fixture.publish(
      [start, node("slow", "Code", { code: "0" })],
      edges("start > slow"),
    );
    const { id, stored } = await fixture
      .openRunner({}, neverEvaluate)
      .start(createRun(), { deferred });
    await stored;
    expect(await fixture.run(id)).toMatchObject({ status: "running", cause: "api" });
    expect(await fixture.steps(id)).toEqual(["start done", "slow running"]);
  });

  it("with a deferred start is stored and released when its runner stops", async (fixture) => {
    const createRun = await fixture.publish(
      [start, node("slow", "Code", { code: "0" })],
      edges("start > slow"),
    );
    const first = fixture.openRunner({}, neverEvaluate);
    const { id, ended } = await first.start(createRun(), { deferred });
    const rejected = expect(ended).rejects.toThrow("continues in another process");
    await first.close();
    await rejected;
    expect(await fixture.status(id)).toBe("queued");
    fixture.openRunner({}, async () => ({ output: 1, log: [] }));
    await expect.poll(() => fixture.status(id)).toBe("succeeded");
  });

  it("with a deferred start is cancelled and stored if its caller aborts it before it is stored", async (fixture) => {
    const createRun = await fixture.publish(
      [start, node("slow", "Code", { code: "0" })],
      edges("start > slow"),
    );
    const caller = new AbortController();
    const { id, ended } = await fixture
      .openRunner({}, neverEvaluate)
      .start(createRun(), { deferred, signal: caller.signal });
    caller.abort();
    expect((await ended).status).toBe("cancelled");
    expect(await fixture.steps(id)).toEqual(["start done", "slow failed"]);
  });

  it("with a deferred start fails if the result of a step without effects cannot be saved", async (fixture) => {
    const createRun = await fixture.publish(
      [start, node("first", "Merge"), node("end", "Return", { value: 1 })],
      edges("start > first > end"),
    );
    const saveProgress: Store["saveProgress"] = async (batch) => {
      if (batch.some(({ steps }) => steps.some((step) => step.node_id === "first" && step.output)))
        throw new RangeError("Invalid string length");
      return fixture.store.saveProgress(batch);
    };
    const runner = fixture.openRunner({
      store: { ...fixture.store, saveProgress },
      timers: withoutDelays(),
    });
    const { id, ended } = await runner.start(createRun(), { deferred });
    expect(await ended).toMatchObject({ status: "failed", error: { code: "cannot_be_saved" } });
    expect(await fixture.steps(id)).toEqual(["start done", "first done", "end failed"]);
  });

  it("with a deferred start rejects the promises of its caller if it cannot be stored", async (fixture) => {
    const createRun = await fixture.publish(
      [start, node("end", "Return", { value: 1 })],
      edges("start > end"),
    );
    const failing = async () => {
      throw new Error("the disk is full");
    };
    const runner = fixture.openRunner({ store: { ...fixture.store, saveProgress: failing } });
    const { id, ended, stored } = await runner.start(createRun(), { deferred });
    await expect(ended).rejects.toThrow("the disk is full");
    await expect(stored).rejects.toThrow("the disk is full");
    expect(await fixture.status(id)).toBeUndefined();
  });
}
