/** A run that a caller waits for is stored late, but before anything depends on it. */
import { expect } from "vitest";
import type { Store } from "../../store/store.ts";
import type { It } from "../contract.ts";
import { edges, gate, HOUR, node, probe, start, systemTimers, TENANT } from "./fixture.ts";

const slow = () => new Promise<never>(() => {});
const deferred = true;

/** Delays never end, so that a slow machine does not store a run before its first commit. */
const endless = () =>
  systemTimers({ after: (ms, work) => (ms > 0 ? () => {} : systemTimers().after(ms, work)) });

/** A store that records its commits of runs. */
function withCommits(store: Store, commits: string[]): Store {
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
  it("without effects takes one commit if its caller waits for it", async (f) => {
    const make = await f.publish(
      [start, node("both", "Merge"), node("end", "Return", { value: { n: "{{ trigger.n }}" } })],
      edges("start > both > end"),
    );
    const commits: string[] = [];
    const runner = f.openRunner({ store: withCommits(f.store, commits), timers: endless() });
    const run = make({ input: { n: 7 }, token_id: "ada" });
    const { id, ended, stored } = await runner.start(run, { deferred });
    expect(await f.status(id)).toBeUndefined();
    expect(await ended).toMatchObject({ id, status: "succeeded", output: { n: 7 }, claims: 1 });
    await stored;
    expect(commits).toEqual(["saveProgress"]);
    expect(await f.run(id)).toMatchObject({
      tenant: TENANT,
      flow_id: run.flow_id,
      input: { n: 7 },
      token_id: "ada",
      created_at: run.at,
      worker: null,
    });
    expect(await f.steps(id)).toEqual(["start done", "both done", "end done"]);
  });

  it("reports its steps and its end once, when they are stored", async (f) => {
    const make = await f.publish(
      [start, node("first", "Merge"), gate("a"), node("end", "Return", { value: 1 })],
      edges("start > first > a > end"),
    );
    const reports: string[] = [];
    const commits: string[] = [];
    const metrics = {
      observeRun: (outcome: string) => void reports.push(`run ${outcome} after ${commits.length}`),
      observeStep: (type: string) => void reports.push(`${type} after ${commits.length}`),
    };
    const store = withCommits(f.store, commits);
    const { ended } = await f
      .openRunner({ store, metrics, timers: endless() })
      .start(make(), { deferred });
    await expect.poll(() => f.calls).toEqual(["a begins"]);
    expect(reports).toEqual(["Merge after 1"]);
    f.open("a");
    await ended;
    expect(reports).toHaveLength(4);
    expect(reports.filter((report) => /^(Merge|Return|run succeeded) /.test(report))).toHaveLength(
      3,
    );
  });

  it("with a node that has effects is stored before that node starts", async (f) => {
    const make = await f.publish(
      [start, node("first", "Merge"), gate("a"), node("end", "Return", { value: 1 })],
      edges("start > first > a > end"),
    );
    const { id, ended } = await f.openRunner().start(make(), { deferred });
    await expect.poll(() => f.calls).toEqual(["a begins"]);
    expect(await f.steps(id)).toEqual(["start done", "first done", "a running"]);
    f.open("a");
    expect(await ended).toMatchObject({ status: "succeeded", output: 1 });
    expect(await f.steps(id)).toEqual(["start done", "first done", "a done", "end done"]);
  });

  it("is stored when it waits, and continues after a crash", async (f) => {
    const make = await f.publish(
      [start, node("rest", "Wait", { seconds: 3600 }), probe("a")],
      edges("start > rest > a"),
    );
    const crashable = f.openCrashable();
    const { id } = await crashable.start(make(), { deferred });
    await expect.poll(() => f.status(id)).toBe("waiting");
    crashable.crash();
    f.openRunner({ now: () => Date.now() + 2 * HOUR });
    await expect.poll(() => f.status(id)).toBe("succeeded");
    expect(await f.steps(id)).toEqual(["start done", "rest done", "a done"]);
  });

  it("is stored after a short time if it has not ended, so that others can see it", async (f) => {
    const make = await f.publish(
      [start, node("slow", "Code", { code: "0" })],
      edges("start > slow"),
    );
    const { id, stored } = await f.openRunner({}, slow).start(make(), { deferred });
    await stored;
    expect(await f.run(id)).toMatchObject({ status: "running", cause: "api" });
    expect(await f.steps(id)).toEqual(["start done", "slow running"]);
  });

  it("is stored and released when its runner stops", async (f) => {
    const make = await f.publish(
      [start, node("slow", "Code", { code: "0" })],
      edges("start > slow"),
    );
    const first = f.openRunner({}, slow);
    const { id, ended } = await first.start(make(), { deferred });
    const rejected = expect(ended).rejects.toThrow("continues in another process");
    await first.close();
    await rejected;
    expect(await f.status(id)).toBe("queued");
    f.openRunner({}, async () => ({ output: 1, log: [] }));
    await expect.poll(() => f.status(id)).toBe("succeeded");
  });

  it("is cancelled and stored if its caller leaves before it is stored", async (f) => {
    const make = await f.publish(
      [start, node("slow", "Code", { code: "0" })],
      edges("start > slow"),
    );
    const caller = new AbortController();
    const { id, ended } = await f
      .openRunner({}, slow)
      .start(make(), { deferred, signal: caller.signal });
    caller.abort();
    expect((await ended).status).toBe("cancelled");
    expect(await f.steps(id)).toEqual(["start done", "slow failed"]);
  });

  it("fails if the result of a step without effects cannot be saved", async (f) => {
    const make = await f.publish(
      [start, node("first", "Merge"), node("end", "Return", { value: 1 })],
      edges("start > first > end"),
    );
    const saveProgress: Store["saveProgress"] = async (batch) => {
      if (batch.some(({ steps }) => steps.some((step) => step.node_id === "first" && step.output)))
        throw new RangeError("Invalid string length");
      return f.store.saveProgress(batch);
    };
    const runner = f.openRunner({ store: { ...f.store, saveProgress }, timers: endless() });
    const { id, ended } = await runner.start(make(), { deferred });
    expect(await ended).toMatchObject({ status: "failed", error: { code: "cannot_be_saved" } });
    expect(await f.steps(id)).toEqual(["start done", "first done", "end failed"]);
  });

  it("rejects its caller if it cannot be stored", async (f) => {
    const make = await f.publish(
      [start, node("end", "Return", { value: 1 })],
      edges("start > end"),
    );
    const failing = async () => {
      throw new Error("the disk is full");
    };
    const runner = f.openRunner({ store: { ...f.store, saveProgress: failing } });
    const { id, ended, stored } = await runner.start(make(), { deferred });
    await expect(ended).rejects.toThrow("the disk is full");
    await expect(stored).rejects.toThrow("the disk is full");
    expect(await f.status(id)).toBeUndefined();
  });
}
