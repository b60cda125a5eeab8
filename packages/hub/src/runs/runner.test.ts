import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, inject, test } from "vitest";
import { createMigratedDatabase } from "../../../../test/support/postgres.ts";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { openPostgres } from "../store/backends/postgres.ts";
import { openSqlite } from "../store/backends/sqlite.ts";
import { allSteps, claimExactly, sampleStep, save } from "../store/contract/run-sample.ts";
import type { WrittenStep } from "../store/run-store.ts";
import { StorageUnavailable } from "../store/storage-unavailable.ts";
import type { Store } from "../store/store.ts";
import {
  createFixture,
  edges,
  type Fixture,
  gate,
  HOUR,
  node,
  probe,
  start,
  systemTimers,
  TENANT,
  withSavedSteps,
} from "./contract/fixture.ts";
import { runnerContract } from "./contract.ts";

async function inSqlite(body: (store: Store) => Promise<void>): Promise<void> {
  const store = openSqlite(`${tempFolder()}/runs.db`);
  await body(store).finally(() => store.close());
}

runnerContract("SQLite", inSqlite);
runnerContract("PostgreSQL", async (body) => {
  const url = await createMigratedDatabase(inject("postgresUrl"));
  const store = await openPostgres(url, { idleTimeoutMs: 60_000 });
  await body(store).finally(() => store.close());
});

/** These cases do not depend on the store, so they run only on SQLite. */
const inFixture = (title: string, body: (fixture: Fixture) => Promise<void>) =>
  test(
    title,
    () =>
      inSqlite(async (store) => {
        const fixture = createFixture(store);
        await body(fixture).finally(fixture.close);
      }),
    240_000,
  );

describe("a runner", () => {
  const timers = systemTimers({ defer: setImmediate });

  inFixture("does not retain the steps of 10,000 iterations in memory", async (f) => {
    const make = await f.publish(
      [
        start,
        node("each", "ForEach", { items: "{{ trigger.items }}", atOnce: 20 }),
        probe("a", { value: "{{ item }}" }),
      ],
      edges("start > each.item > a"),
    );
    const items = Array.from({ length: 10_000 }, (_, at) => at);
    const alive = new Set<WeakRef<WrittenStep>>();
    let maxAlive = 0;
    let seen = 0;
    const store = withSavedSteps(f.store, (step) => {
      alive.add(new WeakRef(step));
      seen += 1;
      if (seen % 4_000 !== 0) return;
      collectGarbage();
      for (const ref of alive) if (!ref.deref()) alive.delete(ref);
      maxAlive = Math.max(maxAlive, alive.size);
    });
    const { id, ended } = await f.openRunner({ store, timers }).start(make({ input: { items } }));
    expect((await ended).output).toEqual(items);
    expect((await allSteps(f.store, TENANT, id)).length).toBe(10_002);
    expect(maxAlive).toBeLessThan(1_000);
  });

  inFixture("keeps no large outputs in memory that no node reads", async (f) => {
    const slugs = Array.from({ length: 30 }, (_, at) => `n${at}`);
    const make = await f.publish(
      [start, ...slugs.map((slug) => probe(slug, { value: "x".repeat(1_000), times: 100 }))],
      edges(["start", ...slugs].join(" > ")),
    );
    const outputs: WeakRef<object>[] = [];
    let maxAlive = 0;
    const store = withSavedSteps(f.store, ({ status, output }) => {
      if (status !== "done" || !Array.isArray(output)) return;
      outputs.push(new WeakRef(output));
      collectGarbage();
      const alive = outputs.filter((ref) => ref.deref() !== undefined).length;
      maxAlive = Math.max(maxAlive, alive);
    });
    const { ended } = await f.openRunner({ store, timers }).start(make());
    expect((await ended).status).toBe("succeeded");
    expect(outputs).toHaveLength(30);
    expect(maxAlive).toBeLessThan(10);
  });

  inFixture(
    "starts a pure node during the write of its start, and any other node after it",
    async (f) => {
      const make = await f.publish(
        [start, node("pure", "Transform", { expression: "1" }), probe("effect")],
        edges("start > pure > effect"),
      );
      const writes: PromiseWithResolvers<void>[] = [];
      const store: Store = {
        ...f.store,
        async saveProgress(batch) {
          const write = Promise.withResolvers<void>();
          writes.push(write);
          await write.promise;
          return f.store.saveProgress(batch);
        },
      };
      const evaluated = Promise.withResolvers<void>();
      const runner = f.openRunner({ store, timers }, async () => {
        evaluated.resolve();
        return { log: [], output: 1 };
      });
      const { ended } = await runner.start(make());
      await evaluated.promise; // while the first write is held
      await expect.poll(() => writes.length).toBe(1);
      writes[0]?.resolve();
      await expect.poll(() => writes.length).toBe(2);
      expect(f.calls).toEqual([]); // the start of `effect` is not on disk yet
      writes[1]?.resolve();
      await expect.poll(() => writes.length).toBe(3);
      expect(f.calls).toEqual(["effect effect 1"]);
      writes[2]?.resolve();
      expect((await ended).status).toBe("succeeded");
    },
  );

  inFixture("masks secrets in every record, even if another node returns one", async (f) => {
    const make = await f.publish(
      [
        start,
        probe("a", { value: { echo: "Bearer {{ secrets.KEY }}" } }),
        probe("b", { value: "{{ a.echo }}" }),
        // A server may return a secret that an earlier step sent.
        probe("c", { value: "returns s3cret-value, after {{ b }}" }),
      ],
      edges("start > a > b > c"),
    );
    const runner = f.openRunner({ loadSecrets: async () => ({ KEY: "s3cret-value" }) });
    const { id, ended } = await runner.start(make());
    expect((await ended).output).toBe("returns •••, after Bearer •••");
    const stored = JSON.stringify([await f.run(id), await allSteps(f.store, TENANT, id)]);
    expect(stored).not.toContain("s3cret-value");
  });

  inFixture("fails a run that exceeds the maximum number of steps", async (f) => {
    const make = await f.publish([start, probe("a"), probe("b")], edges("start > a > b"));
    const run = make();
    await f.store.queueRuns([run]);
    const claimed = await claimExactly(f.store, 1, { now: Date.now() });
    // Steps are written twice, so 200,000 writes are the limit. Only "a" is left of it.
    await save(f.store, claimed, { steps: [sampleStep({ nth: 199_998 })] });
    f.openRunner();
    await expect.poll(() => f.status(run.id)).toBe("failed");
    expect((await f.store.getRun(TENANT, run.id))?.error).toMatchObject({ code: "too_many_steps" });
    expect(f.calls).toEqual(["a a 1"]);
  });

  inFixture("claims again after errors of the store", async (f) => {
    const make = await f.publish([start, probe("a")], edges("start > a"));
    let failures = 2;
    const store: Store = {
      ...f.store,
      claimRuns(...args) {
        if (failures-- > 0) return Promise.reject(new Error("no connection"));
        return f.store.claimRuns(...args);
      },
    };
    const run = make();
    await f.store.queueRuns([run]);
    f.openRunner({ store });
    await expect.poll(() => f.status(run.id)).toBe("succeeded");
    expect(f.errors).toEqual([new Error("no connection"), new Error("no connection")]);
  });

  inFixture("leaves a run to the next runner if it cannot save its steps", async (f) => {
    const make = await f.publish([start, probe("a"), probe("b")], edges("start > a > b"));
    const store: Store = {
      ...f.store,
      saveProgress: (batch) =>
        batch.some(({ steps }) => steps.some(({ node_id }) => node_id === "b"))
          ? Promise.reject(new Error("disk full"))
          : f.store.saveProgress(batch),
    };
    const { id } = await f.openRunner({ store }).start(make());
    await expect.poll(() => f.errors).toEqual([new Error("disk full")]);
    expect(await f.status(id)).toBe("running");
    f.openRunner({ now: () => Date.now() + HOUR });
    await expect.poll(() => f.status(id)).toBe("succeeded");
    // The step was not recorded, so it is repeated with the same key.
    expect(f.calls).toEqual(["a a 1", "a a 1", "b b 1"]);
  });

  /** A store that fails while `state.fails` and a step for which `isHit` returns true is saved. */
  const failing = (f: Fixture, isHit: (step: WrittenStep) => boolean) => {
    const state = { fails: true, count: 0 };
    const store: Store = {
      ...f.store,
      async saveProgress(batch) {
        if (!state.fails || !batch.some(({ steps }) => steps.some(isHit)))
          return f.store.saveProgress(batch);
        state.count += 1;
        throw new Error("no connection");
      },
    };
    return { state, store };
  };
  const isB = ({ node_id }: WrittenStep) => node_id === "b";

  inFixture("saves steps when the store works again, and does not repeat them", async (f) => {
    const make = await f.publish([start, probe("a"), probe("b")], edges("start > a > b"));
    const { state, store } = failing(f, isB);
    const { ended } = await f.openRunner({ store }).start(make());
    await expect.poll(() => state.count).toBeGreaterThan(2);
    state.fails = false;
    expect(await ended).toMatchObject({ status: "succeeded", claims: 1 });
    expect(f.errors).toEqual([new Error("no connection")]);
    expect(f.calls).toEqual(["a a 1", "b b 1"]);
  });

  /** Fails once, as in an outage. */
  const failingOnce = <Args extends unknown[], Result>(
    work: (...args: Args) => Promise<Result>,
  ) => {
    let fails = true;
    return (...args: Args): Promise<Result> => {
      if (!fails) return work(...args);
      fails = false;
      return Promise.reject(new StorageUnavailable("no connection"));
    };
  };

  inFixture("waits for a stored output during an outage, and repeats no step", async (f) => {
    const make = await f.publish(
      [start, probe("a", { value: "x".repeat(1_000), times: 100 }), gate("hold", { value: 1 })],
      edges("start > a", "start > hold"),
    );
    const crashable = f.openCrashable();
    const { id } = await crashable.start(make());
    await expect.poll(async () => await f.steps(id)).toContain("a done");
    await expect.poll(() => f.calls).toContain("hold begins");
    crashable.crash();
    f.open("hold");
    const store = { ...f.store, loadOutput: failingOnce(f.store.loadOutput) };
    f.openRunner({ store, now: () => Date.now() + HOUR });
    await expect.poll(() => f.status(id), { timeout: 10_000 }).toBe("succeeded");
    expect(await f.run(id)).toMatchObject({ claims: 2, output: { hold: 1 } });
    expect(f.calls.filter((call) => call === "hold begins")).toHaveLength(2);
  });

  inFixture("waits for secrets and called flows during an outage", async (f) => {
    const end = node("end", "Return", { value: "called" });
    const called = await f.publish([start, end], edges("start > end"));
    const make = await f.publish(
      [
        start,
        probe("a", { value: "{{ secrets.KEY }}" }),
        node("call", "CallFlow", { flow: called().flow_id }),
      ],
      edges("start > a > call"),
    );
    const startRun = failingOnce(f.store.startRun);
    const runner = f.openRunner({
      store: {
        ...f.store,
        startRun: (run, lease) => (run.parent_run ? startRun : f.store.startRun)(run, lease),
      },
      loadSecrets: failingOnce(async () => ({ KEY: "s3cret" })),
    });
    const { ended } = await runner.start(make());
    expect(await ended).toMatchObject({ status: "succeeded", output: "called" });
    expect(f.calls).toEqual(["a a 1"]);
  });

  inFixture("does not repeat the last step of a run whose end could not be saved", async (f) => {
    const make = await f.publish([start, probe("a")], edges("start > a"));
    const { state, store } = failing(f, (step) => step.node_id === "a" && step.status === "done");
    const { ended } = await f.openRunner({ store }).start(make());
    await expect.poll(() => state.count).toBeGreaterThan(2);
    state.fails = false;
    expect(await ended).toMatchObject({ status: "succeeded", claims: 1 });
    expect(f.calls).toEqual(["a a 1"]);
  });

  inFixture("does not repeat a part of a step whose record could not be written", async (f) => {
    const settings = { retries: { attempts: 3, backoffMs: 0 } };
    const agent = node("agent", "Parts", { parts: ["one", "two"], settings });
    const make = await f.publish([start, agent], edges("start > agent"));
    const { state, store } = failing(
      f,
      ({ item, status }) => item.startsWith("#") && status !== "running",
    );
    const { id, ended } = await f.openRunner({ store }).start(make());
    await expect.poll(() => state.count).toBeGreaterThan(2);
    state.fails = false;
    expect(await ended).toMatchObject({ status: "succeeded", output: ["one of 1", "two of 1"] });
    expect(f.calls).toEqual(["one 1", "two 1"]);
    expect(await f.steps(id)).toEqual([
      "start done",
      "agent done",
      "agent@#one done",
      "agent@#two done",
    ]);
  });

  inFixture("continues its own runs after an outage that is longer than their lease", async (f) => {
    const agent = node("agent", "Parts", { parts: ["one", "two"] });
    const make = await f.publish([start, agent], edges("start > agent"));
    const { state, store } = failing(f, ({ item, status }) => item === "#one" && status === "done");
    const failed = async () => {
      throw new Error("no connection");
    };
    const outage: Store = {
      ...store,
      renewRuns: (...args) => (state.fails ? failed() : f.store.renewRuns(...args)),
      claimRuns: (...args) => (state.fails ? failed() : f.store.claimRuns(...args)),
    };
    const leaseMs = 300;
    const { id, ended } = await f.openRunner({ store: outage, leaseMs }).start(make());
    await expect.poll(() => f.calls).toEqual(["one 1"]);
    const expired = Date.now() + 2 * leaseMs;
    await expect.poll(() => Date.now()).toBeGreaterThan(expired);
    state.fails = false;
    expect(await ended).toMatchObject({ id, status: "succeeded", claims: 1 });
    expect(f.calls).toEqual(["one 1", "two 1"]);
  });

  inFixture("cancels a run whose steps could not be saved, and saves them", async (f) => {
    const make = await f.publish([start, probe("a"), probe("b")], edges("start > a > b"));
    const { store } = failing(f, (step) => isB(step) && step.status === "running");
    const run = make();
    await f.store.queueRuns([run]);
    f.openRunner({ store, leaseMs: 30_000 });
    await expect.poll(() => f.errors).toEqual([new Error("no connection")]);
    await f.store.cancelRun(TENANT, run.id, Date.now());
    await expect.poll(() => f.status(run.id)).toBe("cancelled");
    expect(f.calls).toEqual(["a a 1"]);
    expect(await f.steps(run.id)).toEqual(["start done", "a done", "b failed"]);
  });

  inFixture(
    "cancels a run while the store fails, and records the steps of both writes",
    async (f) => {
      const make = await f.publish([start, probe("a"), probe("b")], edges("start > a > b"));
      const run = make();
      let attempts = 0;
      let endFailed = false;
      const store: Store = {
        ...f.store,
        async saveProgress(batch) {
          const isEnd = batch.some(({ next }) => next);
          if (
            batch.some(({ steps }) => steps.some((step) => isB(step) && step.status === "running"))
          ) {
            attempts += 1;
            // The write is being repeated when the run is cancelled.
            if (attempts === 2) await f.store.cancelRun(TENANT, run.id, Date.now());
          } else if (!isEnd || endFailed) return f.store.saveProgress(batch);
          endFailed ||= isEnd;
          throw new Error("no connection");
        },
      };
      await f.store.queueRuns([run]);
      f.openRunner({ store, leaseMs: 30_000 });
      await expect.poll(() => f.status(run.id)).toBe("cancelled");
      expect(endFailed).toBe(true);
      expect(await f.steps(run.id)).toEqual(["start done", "a done", "b failed"]);
    },
  );

  inFixture("cancels a called run that starts after its caller has ended", async (f) => {
    const child = await f.publish([start, gate("a")], edges("start > a"));
    const call = node("call", "CallFlow", { flow: child().flow_id, trigger: "start" });
    const make = await f.publish([start, call], edges("start > call"));
    const store: Store = {
      ...f.store,
      async startRun(run, lease) {
        if (run.parent_run !== undefined) {
          await f.store.cancelRun(TENANT, run.parent_run, Date.now());
          await expect.poll(() => f.status(run.parent_run ?? "")).toBe("cancelled");
        }
        return f.store.startRun(run, lease);
      },
    };
    await f.openRunner({ store }).start(make());
    const statuses = async () =>
      (await f.store.listRuns({ tenant: TENANT, limit: 9 })).map(({ status }) => status);
    await expect.poll(statuses).toEqual(["cancelled", "cancelled"]);
  });

  inFixture("fails only the run whose steps cannot be saved", async (f) => {
    const bad = probe("b", { value: "invalid" });
    const inside = await f.publish([start, bad, probe("c")], edges("start > b > c"));
    const atEnd = await f.publish([start, probe("a"), bad], edges("start > a > b"));
    const fine = await f.publish([start, probe("c")], edges("start > c"));
    const store: Store = {
      ...f.store,
      async saveProgress(batch) {
        for (const { steps } of batch)
          if (steps.some(({ output }) => output === "invalid"))
            throw new RangeError("Invalid string length");
        return f.store.saveProgress(batch);
      },
    };
    const runner = f.openRunner({ store });
    const started = await Promise.all([inside(), atEnd(), fine()].map((run) => runner.start(run)));
    const ended = await Promise.all(started.map(({ ended }) => ended));
    const error = { code: "cannot_be_saved", node_id: "b" };
    expect(ended).toMatchObject([
      { status: "failed", error },
      { status: "failed", error },
      { status: "succeeded" },
    ]);
    const [one, two] = started;
    expect(await f.steps(one?.id ?? "")).toEqual(["start done", "b failed", "c failed"]);
    expect(await f.steps(two?.id ?? "")).toEqual(["start done", "a done", "b failed"]);
    expect(f.errors).toEqual([]);
  });

  inFixture("fails a part of a step whose output exceeds the limit, without retries", async (f) => {
    const settings = { retries: { attempts: 3, backoffMs: 0 } };
    const output = "x".repeat(2_000_000);
    const make = await f.publish(
      [
        start,
        node("agent", "Parts", {
          parts: ["one", "two"],
          output: "{{ trigger.text }}",
          times: 9,
          settings,
        }),
      ],
      edges("start > agent"),
    );
    const run = await (await f.openRunner().start(make({ input: { text: output } }))).ended;
    expect(run).toMatchObject({
      status: "failed",
      error: { code: "output_too_large", node_id: "agent" },
    });
    expect(f.calls).toEqual(["one 1"]);
    expect((await f.steps(run.id)).slice(1)).toEqual(["agent failed", "agent@#one failed"]);
  });

  inFixture("fails a step whose output exceeds the limit", async (f) => {
    const make = await f.publish(
      [start, probe("a", { value: "{{ trigger.text }}", times: 2 }), probe("b")],
      edges("start > a > b"),
    );
    const runner = f.openRunner({ loadInput: async () => ({ text: "x".repeat(5_000_000) }) });
    const { id, ended } = await runner.start(make());
    expect((await ended).error).toMatchObject({ code: "output_too_large", node_id: "a" });
    const steps = await allSteps(f.store, TENANT, id);
    expect(steps.map(({ node_id, status }) => `${node_id} ${status}`)).toContain("a failed");
  });
});

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}
