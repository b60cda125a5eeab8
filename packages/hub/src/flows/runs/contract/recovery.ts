/** Tests that runs continue after crashes, restarts and suspensions, without repeating completed steps. */
import { expect } from "vitest";
import type { It } from "../contract.ts";
import { edges, gate, HOUR, node, probe, start, TENANT } from "./fixture.ts";

/** A clock that is `ms` ahead, for example after the lease of a crashed runner. */
const clockAhead = (ms: number) => () => Date.now() + ms;

export function recoveryContract(it: It): void {
  it("is claimed and executed after it was queued", async (fixture) => {
    const createRun = await fixture.publish([start, probe("a")], edges("start > a"));
    const runner = fixture.openRunner({ concurrency: 4 });
    await runner.queue(Array.from({ length: 30 }, () => createRun()));
    await expect
      .poll(async () => {
        const ended = { tenant: TENANT, limit: 100, status: "succeeded" } as const;
        return (await fixture.store.listRuns(ended)).length;
      })
      .toBe(30);
    expect(fixture.calls.length).toBe(30);
  });

  it("is continued by another runner after a crash, with the same idempotency keys and without repeated steps", async (fixture) => {
    const createRun = await fixture.publish(
      [
        start,
        probe("a", { value: 1 }),
        node("each", "ForEach", { items: [0, 1, 2] }),
        probe("b", { value: "{{ item }}" }),
        gate("hold"),
        node("end", "Return", { value: ["{{ a }}", "{{ each }}"] }),
      ],
      edges("start > a > each.item > b > hold", "each.done > end"),
    );
    const crashable = fixture.openCrashable();
    const { id } = await crashable.start(createRun());
    await expect.poll(() => fixture.calls.at(-1)).toBe("hold begins");
    crashable.crash();
    // No other runner claims the run before its lease expires.
    const early = fixture.openRunner();
    await early.close();
    expect(fixture.calls).toEqual(["a a 1", "b b:each:0 1", "hold begins"]);
    fixture.openRunner({ now: clockAhead(HOUR / 2) });
    fixture.open("hold");
    await expect.poll(() => fixture.status(id)).toBe("succeeded");
    expect((await fixture.run(id)).output).toEqual([1, [null, null, null]]);
    expect(fixture.calls.filter((call) => !call.startsWith("hold"))).toEqual([
      "a a 1",
      "b b:each:0 1",
      "b b:each:1 1",
      "b b:each:2 1",
    ]);
    expect((await fixture.run(id)).claims).toBe(2);
  });

  it("does not repeat a failed iteration of a loop with continueOnError", async (fixture) => {
    const createRun = await fixture.publish(
      [
        start,
        node("each", "ForEach", { items: [0, 1, 2], settings: { continueOnError: true } }),
        node("which", "Switch", {
          value: "{{ item }}",
          cases: [
            { name: "zero", value: 0 },
            { name: "one", value: 1 },
          ],
        }),
        probe("bad", { fail: 1 }),
        gate("slow", { value: "{{ item }}" }),
        probe("good", { value: "{{ item }}" }),
      ],
      edges("start > each.item > which.zero > bad", "which.one > slow", "which.default > good"),
    );
    const first = fixture.openRunner();
    const { id } = await first.start(createRun());
    await expect.poll(() => fixture.calls).toContain("slow begins");
    await first.close();
    fixture.open("slow");
    fixture.openRunner();
    await expect.poll(() => fixture.status(id)).toBe("succeeded");
    expect((await fixture.run(id)).output).toEqual([
      { error: { code: "failed", message: "no luck" } },
      1,
      2,
    ]);
    expect(fixture.calls.filter((call) => call.startsWith("bad"))).toEqual(["bad bad:each:0 1"]);
  });

  it("is released when its runner stops, and claimed immediately by the next runner", async (fixture) => {
    const createRun = await fixture.publish([start, probe("a"), gate("b")], edges("start > a > b"));
    const first = fixture.openRunner();
    const { id, ended } = await first.start(createRun());
    await expect.poll(() => fixture.calls.at(-1)).toBe("b begins");
    await first.close();
    await expect(ended).rejects.toThrow("The hub is stopping");
    await expect(first.start(createRun())).rejects.toThrow("The hub is stopping");
    expect(await fixture.status(id)).toBe("queued");
    fixture.open("b");
    fixture.openRunner();
    await expect.poll(() => fixture.status(id)).toBe("succeeded");
    expect(fixture.calls.filter((call) => call.startsWith("a"))).toEqual(["a a 1"]);
  });

  it("waits again for its called run after a restart, even if the called flow was deleted", async (fixture) => {
    const child = await fixture.publish([start, gate("a", { value: 1 })], edges("start > a"));
    const flow = child().flow_id;
    const call = node("call", "CallFlow", { flow, trigger: "start" });
    const createRun = await fixture.publish([start, call], edges("start > call"));
    const first = fixture.openRunner();
    const { id } = await first.start(createRun());
    await expect.poll(() => fixture.calls).toEqual(["a begins"]);
    await first.close();
    await fixture.store.deleteFlow({ tenant: TENANT, id: flow }, Date.now());
    fixture.open("a");
    // A lower chain limit does not affect a run that has already been called.
    fixture.openRunner({}, undefined, { maxChain: 0 });
    await expect.poll(() => fixture.status(id)).toBe("succeeded");
    expect((await fixture.run(id)).output).toBe(1);
  });

  it("is suspended while it waits, and can be continued by another runner", async (fixture) => {
    const createRun = await fixture.publish(
      [start, probe("a"), node("rest", "Wait", { seconds: 3600 }), probe("b", { value: 1 })],
      edges("start > a > rest > b"),
    );
    const first = fixture.openRunner();
    const { id } = await first.start(createRun());
    await expect.poll(() => fixture.status(id)).toBe("waiting");
    expect(await fixture.steps(id)).toEqual(["start done", "a done", "rest waiting"]);
    const { due_at } = await fixture.run(id);
    expect(Math.abs((due_at ?? 0) - Date.now() - HOUR)).toBeLessThan(60_000);
    // The time limit does not include the time for which a run is suspended.
    fixture.openRunner({ now: clockAhead(2 * HOUR), runTimeoutMs: HOUR });
    await expect.poll(() => fixture.status(id)).toBe("succeeded");
    expect(fixture.calls).toEqual(["a a 1", "b b 1"]);
    expect(await fixture.steps(id)).toEqual(["start done", "a done", "rest done", "b done"]);
  });

  it("records the completed steps of one branch before it is suspended in another", async (fixture) => {
    const createRun = await fixture.publish(
      [start, node("rest", "Wait", { seconds: 3600 }), gate("a"), probe("b")],
      edges("start > rest", "start > a > b"),
    );
    const { id } = await fixture.openRunner().start(createRun());
    await expect.poll(() => fixture.steps(id)).toContain("rest waiting");
    fixture.open("a");
    await expect.poll(() => fixture.status(id)).toBe("waiting");
    expect((await fixture.steps(id)).toSorted()).toEqual([
      "a done",
      "b done",
      "rest waiting",
      "start done",
    ]);
  });

  it("retries a failed step at the scheduled time, even after a restart", async (fixture) => {
    const retries = { attempts: 3, backoffMs: HOUR };
    const createRun = await fixture.publish(
      [start, probe("a", { fail: 2, value: 1, settings: { retries } })],
      edges("start > a"),
    );
    const first = fixture.openRunner();
    const { id } = await first.start(createRun());
    await expect.poll(() => fixture.status(id)).toBe("waiting");
    await first.close();
    const second = fixture.openRunner({ now: clockAhead(HOUR + 60_000) });
    await expect.poll(() => fixture.calls.length).toBe(2);
    await expect.poll(() => fixture.status(id)).toBe("waiting");
    await second.close();
    // The backoff doubles.
    fixture.openRunner({ now: clockAhead(3 * HOUR + 120_000) });
    await expect.poll(() => fixture.status(id)).toBe("succeeded");
    expect(fixture.calls).toEqual(["a a 1", "a a 2", "a a 3"]);
  });

  it("waits at most 15 minutes for Retry-After, or as long as its own backoff", async (fixture) => {
    const publish = (retryAfterMs: number, backoffMs = 0) => {
      const settings = { retries: { attempts: 2, backoffMs } };
      return fixture.publish(
        [start, probe("a", { fail: 1, retryAfterMs, settings })],
        edges("start > a"),
      );
    };
    const runner = fixture.openRunner();
    const startOf = async (createRun: Awaited<ReturnType<typeof publish>>) =>
      await runner.start(createRun());
    const { ended } = await startOf(await publish(15 * 60_000 + 1_001));
    expect(await ended).toMatchObject({
      status: "failed",
      error: {
        code: "http_429",
        message: expect.stringMatching(
          /^no luck \(no retry: Retry-After is 90[12] s, and the maximum is 900 s\)$/,
        ),
      },
    });
    for (const waiting of [await publish(14 * 60_000), await publish(HOUR, HOUR)]) {
      const { id } = await startOf(waiting);
      await expect.poll(() => fixture.status(id)).toBe("waiting");
    }
    expect((await (await startOf(await publish(HOUR + 60_000, HOUR))).ended).status).toBe("failed");
  });

  it("continues at its failed step when a user retries it, with a new limit of attempts", async (fixture) => {
    const retries = { attempts: 2, backoffMs: 0 };
    const createRun = await fixture.publish(
      [start, probe("a"), probe("b", { fail: 3, value: 1, settings: { retries } })],
      edges("start > a > b"),
    );
    const { id, ended } = await fixture.openRunner().start(createRun());
    expect((await ended).status).toBe("failed");
    await fixture.store.retryRun(TENANT, id, Date.now());
    await expect.poll(() => fixture.status(id)).toBe("succeeded");
    expect(fixture.calls).toEqual(["a a 1", "b b 1", "b b 2", "b b 3", "b b 4"]);
  });

  it("can be cancelled before it starts, while it executes, and while it is suspended", async (fixture) => {
    const createRun = await fixture.publish([start, gate("a"), probe("b")], edges("start > a > b"));
    const waits = await fixture.publish(
      [start, node("rest", "Wait", { seconds: 3600 })],
      edges("start > rest"),
    );
    const queued = createRun();
    await fixture.openRunner({ concurrency: 0 }).queue([queued]);
    await fixture.store.cancelRun(TENANT, queued.id, Date.now());
    expect(await fixture.status(queued.id)).toBe("cancelled");

    const runner = fixture.openRunner();
    const firstCaller = new AbortController();
    const executing = await runner.start(createRun(), { signal: firstCaller.signal });
    await expect.poll(() => fixture.calls).toEqual(["a begins"]);
    firstCaller.abort();
    expect((await executing.ended).status).toBe("cancelled");
    expect(fixture.calls).toEqual(["a begins", "a aborted"]);
    expect(await fixture.steps(executing.id)).toEqual(["start done", "a failed"]);

    const secondCaller = new AbortController();
    const suspended = await runner.start(waits(), { signal: secondCaller.signal });
    await expect.poll(() => fixture.status(suspended.id)).toBe("waiting");
    secondCaller.abort();
    expect((await suspended.ended).status).toBe("cancelled");
    expect(await fixture.steps(suspended.id)).toEqual(["start done", "rest failed"]);
  });

  it("fails after three workers have crashed while executing it", async (fixture) => {
    const createRun = await fixture.publish([start, gate("a")], edges("start > a"));
    const run = createRun();
    await fixture.store.queueRuns([run]);
    for (let crashes = 0; crashes < 3; crashes += 1) {
      const crashable = fixture.openCrashable({ now: clockAhead(crashes * HOUR) });
      await expect.poll(() => fixture.calls.length).toBe(crashes + 1);
      crashable.crash();
    }
    fixture.openRunner({ now: clockAhead(3 * HOUR) });
    await expect.poll(() => fixture.status(run.id)).toBe("failed");
    expect(await fixture.run(run.id)).toMatchObject({ error: { code: "gave_up", node_id: "a" } });
    expect(await fixture.steps(run.id)).toEqual(["start done", "a failed"]);
  });

  it("is cancelled with its caller, even if the caller's worker has crashed", async (fixture) => {
    const child = await fixture.publish([start, gate("a")], edges("start > a"));
    const call = node("call", "CallFlow", { flow: child().flow_id, trigger: "start" });
    const createRun = await fixture.publish([start, call], edges("start > call"));
    const crashable = fixture.openCrashable();
    const { id } = await crashable.start(createRun());
    await expect.poll(() => fixture.calls).toEqual(["a begins"]);
    crashable.crash();
    await fixture.store.cancelRun(TENANT, id, Date.now());
    fixture.openRunner({ now: clockAhead(HOUR) });
    const statuses = async () =>
      (await fixture.store.listRuns({ tenant: TENANT, limit: 9 })).map(({ status }) => status);
    await expect.poll(statuses).toEqual(["cancelled", "cancelled"]);
  });

  it("can be cancelled while another runner executes it", async (fixture) => {
    const createRun = await fixture.publish([start, gate("a")], edges("start > a"));
    const crashable = fixture.openCrashable();
    const { id } = await crashable.start(createRun());
    await expect.poll(() => fixture.calls).toEqual(["a begins"]);
    await fixture.store.cancelRun(TENANT, id, Date.now());
    await expect.poll(() => fixture.status(id)).toBe("cancelled");
    // If that runner has crashed, the next runner cancels the run without executing a step.
    const second = await crashable.start(createRun());
    await expect.poll(() => fixture.calls.filter((call) => call === "a begins").length).toBe(2);
    crashable.crash();
    await fixture.store.cancelRun(TENANT, second.id, Date.now());
    fixture.openRunner({ now: clockAhead(HOUR) });
    await expect.poll(() => fixture.status(second.id)).toBe("cancelled");
    expect(fixture.calls.filter((call) => call === "a begins").length).toBe(2);
  });

  it("is not started again by a second start with the same key, which returns it", async (fixture) => {
    const createRun = await fixture.publish([start, gate("a", { value: 1 })], edges("start > a"));
    const runner = fixture.openRunner();
    const first = await runner.start(createRun({ key: "one" }));
    const second = await runner.start(createRun({ key: "one" }));
    expect(second.id).toBe(first.id);
    fixture.open("a");
    expect((await second.ended).output).toBe(1);
    const third = await runner.start(createRun({ key: "one" }));
    expect(await third.ended).toMatchObject({ id: first.id, output: 1 });
    expect(fixture.calls).toEqual(["a begins"]);
  });

  it("can be followed in another runner, which yields all steps first, then the steps that changed", async (fixture) => {
    const createRun = await fixture.publish([start, gate("a"), gate("b")], edges("start > a > b"));
    const other = fixture.openRunner({ concurrency: 0 });
    const { id } = await fixture.openRunner().start(createRun());
    await expect.poll(() => fixture.calls).toEqual(["a begins"]);
    const changes: string[] = [];
    const { signal } = new AbortController();
    const followed = (async () => {
      for await (const { run, steps } of other.follow(TENANT, id, signal))
        changes.push(
          [run.status, ...steps.map(({ node_id, status }) => `${node_id} ${status}`)].join(", "),
        );
    })();
    await expect.poll(() => changes).toEqual(["running, start done, a running"]);
    fixture.open("a");
    await expect.poll(() => changes.slice(1)).toEqual(["running, a done, b running"]);
    fixture.open("b");
    await followed;
    expect(changes.slice(2)).toEqual(["succeeded, b done"]);
  });

  it("respects the concurrency limit of its lane", async (fixture) => {
    const createRun = await fixture.publish([start, gate("a"), probe("b")], edges("start > a > b"));
    const runner = fixture.openRunner();
    const limit = { lane: "one lane", max: 2 };
    const runs = Array.from({ length: 5 }, () => createRun({ limit }));
    await runner.queue(runs);
    await expect.poll(() => fixture.calls.length).toBe(2);
    const statuses = await Promise.all(runs.map(({ id }) => fixture.status(id)));
    expect(statuses.filter((status) => status === "running").length).toBe(2);
    fixture.open("a");
    await expect
      .poll(async () => new Set(await Promise.all(runs.map(({ id }) => fixture.status(id)))))
      .toEqual(new Set(["succeeded"]));
    expect(fixture.calls.filter((call) => call.startsWith("b")).length).toBe(5);
  });

  it("starts immediately if its lane is below the limit, and otherwise when a runner claims it", async (fixture) => {
    const createRun = await fixture.publish([start, gate("a", { value: 1 })], edges("start > a"));
    const limit = { lane: "one lane", max: 1 };
    const withoutSlots = fixture.openRunner({ concurrency: 0 });
    const first = await withoutSlots.startInLane(createRun({ limit }));
    await expect.poll(() => fixture.calls).toEqual(["a begins"]);
    const second = await withoutSlots.startInLane(createRun({ limit }));
    const thirdCaller = new AbortController();
    const third = await withoutSlots.startInLane(createRun({ limit }), {
      signal: thirdCaller.signal,
    });
    if (first === "full" || second === "full" || third === "full") throw new Error("full");
    expect(await fixture.status(third.id)).toBe("held");
    thirdCaller.abort();
    expect((await third.ended).status).toBe("cancelled");
    fixture.openRunner();
    fixture.open("a");
    expect((await first.ended).output).toBe(1);
    expect((await second.ended).output).toBe(1);
    expect(fixture.calls).toEqual(["a begins", "a begins"]);
  });

  it("is skipped, or replaced by a newer run, if its lane has reached its limit", async (fixture) => {
    const createRun = await fixture.publish([start, gate("a")], edges("start > a"));
    const runner = fixture.openRunner();
    const skip = { lane: "skips", max: 1, whenFull: "skip" } as const;
    const replace = { lane: "replaces", max: 1, whenFull: "replace" } as const;
    expect(await runner.startInLane(createRun({ limit: skip }))).not.toBe("full");
    expect(await runner.startInLane(createRun({ limit: skip }))).toBe("full");
    await runner.startInLane(createRun({ limit: replace }));
    await expect.poll(() => fixture.calls).toEqual(["a begins", "a begins"]);
    const held = await runner.startInLane(createRun({ limit: replace }));
    const newer = await runner.startInLane(createRun({ limit: replace }));
    if (held === "full" || newer === "full") throw new Error("full");
    expect(await held.ended).toMatchObject({
      status: "cancelled",
      error: { code: "superseded", details: { run: newer.id } },
    });
    fixture.open("a");
    expect((await newer.ended).status).toBe("succeeded");
    await runner.close();
    await expect(runner.startInLane(createRun({ limit: replace }))).rejects.toThrow(
      "The hub is stopping",
    );
  });
}
