import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, inject, test } from "vitest";
import { createMigratedDatabase } from "../../../../../test/support/postgres.ts";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { openPostgres } from "../../kernel/backends/postgres.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import { StorageUnavailable } from "../../kernel/store/availability.ts";
import type { Store } from "../../store.ts";
import { storeDefinition } from "../../store.ts";
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
import type { WrittenStep } from "./model.ts";
import { allSteps, claimExactly, sampleStep, save } from "./store/contract/run-sample.ts";

async function inSqlite(body: (store: Store) => Promise<void>): Promise<void> {
  const store = openSqlite(storeDefinition, `${tempFolder()}/runs.db`);
  await body(store).finally(() => store.close());
}

runnerContract("SQLite", inSqlite);
runnerContract("PostgreSQL", async (body) => {
  const url = await createMigratedDatabase(inject("postgresUrl"));
  const store = await openPostgres(storeDefinition, url, { idleTimeoutMs: 60_000 });
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

  inFixture("does not retain the steps of 10,000 iterations in memory", async (fixture) => {
    const createRun = await fixture.publish(
      [
        start,
        node("each", "ForEach", { items: "{{ trigger.items }}", atOnce: 20 }),
        probe("a", { value: "{{ item }}" }),
      ],
      edges("start > each.item > a"),
    );
    const items = Array.from({ length: 10_000 }, (_, index) => index);
    const alive = new Set<WeakRef<WrittenStep>>();
    let maxAlive = 0;
    let savedSteps = 0;
    const store = withSavedSteps(fixture.store, (step) => {
      alive.add(new WeakRef(step));
      savedSteps += 1;
      if (savedSteps % 4_000 !== 0) return;
      collectGarbage();
      for (const ref of alive) if (!ref.deref()) alive.delete(ref);
      maxAlive = Math.max(maxAlive, alive.size);
    });
    const { id, ended } = await fixture
      .openRunner({ store, timers })
      .start(createRun({ input: { items } }));
    expect((await ended).output).toEqual(items);
    expect((await allSteps(fixture.store, TENANT, id)).length).toBe(10_002);
    expect(maxAlive).toBeLessThan(1_000);
  });

  inFixture("does not keep large outputs in memory if no node reads them", async (fixture) => {
    const slugs = Array.from({ length: 30 }, (_, index) => `n${index}`);
    const createRun = await fixture.publish(
      [start, ...slugs.map((slug) => probe(slug, { value: "x".repeat(1_000), times: 100 }))],
      edges(["start", ...slugs].join(" > ")),
    );
    const outputs: WeakRef<object>[] = [];
    let maxAlive = 0;
    const store = withSavedSteps(fixture.store, ({ status, output }) => {
      if (status !== "done" || !Array.isArray(output)) return;
      outputs.push(new WeakRef(output));
      collectGarbage();
      const alive = outputs.filter((ref) => ref.deref() !== undefined).length;
      maxAlive = Math.max(maxAlive, alive);
    });
    const { ended } = await fixture.openRunner({ store, timers }).start(createRun());
    expect((await ended).status).toBe("succeeded");
    expect(outputs).toHaveLength(30);
    expect(maxAlive).toBeLessThan(10);
  });

  inFixture(
    "starts a pure node while its start is written, and any other node after the write",
    async (fixture) => {
      const createRun = await fixture.publish(
        [start, node("pure", "Transform", { expression: "1" }), probe("effect")],
        edges("start > pure > effect"),
      );
      const writes: PromiseWithResolvers<void>[] = [];
      const store: Store = {
        ...fixture.store,
        async saveProgress(batch) {
          const write = Promise.withResolvers<void>();
          writes.push(write);
          await write.promise;
          return fixture.store.saveProgress(batch);
        },
      };
      const evaluated = Promise.withResolvers<void>();
      const runner = fixture.openRunner({ store, timers }, async () => {
        evaluated.resolve();
        return { log: [], output: 1 };
      });
      const { ended } = await runner.start(createRun());
      await evaluated.promise; // the first write has not ended yet
      await expect.poll(() => writes.length).toBe(1);
      writes[0]?.resolve();
      await expect.poll(() => writes.length).toBe(2);
      expect(fixture.calls).toEqual([]); // the start of `effect` is not on disk yet
      writes[1]?.resolve();
      await expect.poll(() => writes.length).toBe(3);
      expect(fixture.calls).toEqual(["effect effect 1"]);
      writes[2]?.resolve();
      expect((await ended).status).toBe("succeeded");
    },
  );

  inFixture("masks secrets in every record, even if another node returns one", async (fixture) => {
    const createRun = await fixture.publish(
      [
        start,
        probe("a", { value: { echo: "Bearer {{ secrets.KEY }}" } }),
        probe("b", { value: "{{ a.echo }}" }),
        // A server may return a secret that an earlier step sent.
        probe("c", { value: "returns s3cret-value, after {{ b }}" }),
      ],
      edges("start > a > b > c"),
    );
    const runner = fixture.openRunner({ loadSecrets: async () => ({ KEY: "s3cret-value" }) });
    const { id, ended } = await runner.start(createRun());
    expect((await ended).output).toBe("returns •••, after Bearer •••");
    const stored = JSON.stringify([
      await fixture.run(id),
      await allSteps(fixture.store, TENANT, id),
    ]);
    expect(stored).not.toContain("s3cret-value");
  });

  inFixture("fails a run that exceeds the maximum number of steps", async (fixture) => {
    const createRun = await fixture.publish(
      [start, probe("a"), probe("b")],
      edges("start > a > b"),
    );
    const run = createRun();
    await fixture.store.queueRuns([run]);
    const claimed = await claimExactly(fixture.store, 1, { now: Date.now() });
    // Steps are written twice, so 200,000 writes are the limit. Only the writes of "a" are left.
    await save(fixture.store, claimed, { steps: [sampleStep({ nth: 199_998 })] });
    fixture.openRunner();
    await expect.poll(() => fixture.status(run.id)).toBe("failed");
    expect((await fixture.store.getRun(TENANT, run.id))?.error).toMatchObject({
      code: "too_many_steps",
    });
    expect(fixture.calls).toEqual(["a a 1"]);
  });

  inFixture("claims runs again after errors of the store", async (fixture) => {
    const createRun = await fixture.publish([start, probe("a")], edges("start > a"));
    let failures = 2;
    const store: Store = {
      ...fixture.store,
      claimRuns(...args) {
        if (failures-- > 0) return Promise.reject(new Error("no connection"));
        return fixture.store.claimRuns(...args);
      },
    };
    const run = createRun();
    await fixture.store.queueRuns([run]);
    fixture.openRunner({ store });
    await expect.poll(() => fixture.status(run.id)).toBe("succeeded");
    expect(fixture.errors).toEqual([new Error("no connection"), new Error("no connection")]);
  });

  inFixture("leaves a run to the next runner if it cannot save its steps", async (fixture) => {
    const createRun = await fixture.publish(
      [start, probe("a"), probe("b")],
      edges("start > a > b"),
    );
    const store: Store = {
      ...fixture.store,
      saveProgress: (batch) =>
        batch.some(({ steps }) => steps.some(({ node_id }) => node_id === "b"))
          ? Promise.reject(new Error("disk full"))
          : fixture.store.saveProgress(batch),
    };
    const { id } = await fixture.openRunner({ store }).start(createRun());
    await expect.poll(() => fixture.errors).toEqual([new Error("disk full")]);
    expect(await fixture.status(id)).toBe("running");
    fixture.openRunner({ now: () => Date.now() + HOUR });
    await expect.poll(() => fixture.status(id)).toBe("succeeded");
    // The step was not recorded, so it is repeated with the same key.
    expect(fixture.calls).toEqual(["a a 1", "a a 1", "b b 1"]);
  });

  /** While `state.shouldFail`, the store fails to save steps for which `isHit` returns true. */
  const createFailingStore = (fixture: Fixture, isHit: (step: WrittenStep) => boolean) => {
    const state = { shouldFail: true, count: 0 };
    const store: Store = {
      ...fixture.store,
      async saveProgress(batch) {
        if (!state.shouldFail || !batch.some(({ steps }) => steps.some(isHit)))
          return fixture.store.saveProgress(batch);
        state.count += 1;
        throw new Error("no connection");
      },
    };
    return { state, store };
  };
  const isB = ({ node_id }: WrittenStep) => node_id === "b";

  inFixture("saves steps when the store works again, and does not repeat them", async (fixture) => {
    const createRun = await fixture.publish(
      [start, probe("a"), probe("b")],
      edges("start > a > b"),
    );
    const { state, store } = createFailingStore(fixture, isB);
    const { ended } = await fixture.openRunner({ store }).start(createRun());
    await expect.poll(() => state.count).toBeGreaterThan(2);
    state.shouldFail = false;
    expect(await ended).toMatchObject({ status: "succeeded", claims: 1 });
    expect(fixture.errors).toEqual([new Error("no connection")]);
    expect(fixture.calls).toEqual(["a a 1", "b b 1"]);
  });

  /** Returns a function that rejects the first call, as in an outage. */
  const failOnce = <Args extends unknown[], Result>(work: (...args: Args) => Promise<Result>) => {
    let shouldFail = true;
    return (...args: Args): Promise<Result> => {
      if (!shouldFail) return work(...args);
      shouldFail = false;
      return Promise.reject(new StorageUnavailable("no connection"));
    };
  };

  inFixture("waits for a stored output during an outage, and repeats no step", async (fixture) => {
    const createRun = await fixture.publish(
      [start, probe("a", { value: "x".repeat(1_000), times: 100 }), gate("hold", { value: 1 })],
      edges("start > a", "start > hold"),
    );
    const crashable = fixture.openCrashable();
    const { id } = await crashable.start(createRun());
    await expect.poll(async () => await fixture.steps(id)).toContain("a done");
    await expect.poll(() => fixture.calls).toContain("hold begins");
    crashable.crash();
    fixture.open("hold");
    const store = { ...fixture.store, loadOutput: failOnce(fixture.store.loadOutput) };
    fixture.openRunner({ store, now: () => Date.now() + HOUR });
    await expect.poll(() => fixture.status(id), { timeout: 10_000 }).toBe("succeeded");
    expect(await fixture.run(id)).toMatchObject({ claims: 2, output: { hold: 1 } });
    expect(fixture.calls.filter((call) => call === "hold begins")).toHaveLength(2);
  });

  inFixture("waits for secrets and called flows during an outage", async (fixture) => {
    const end = node("end", "Return", { value: "called" });
    const called = await fixture.publish([start, end], edges("start > end"));
    const createRun = await fixture.publish(
      [
        start,
        probe("a", { value: "{{ secrets.KEY }}" }),
        node("call", "CallFlow", { flow: called().flow_id }),
      ],
      edges("start > a > call"),
    );
    const startRun = failOnce(fixture.store.startRun);
    const runner = fixture.openRunner({
      store: {
        ...fixture.store,
        startRun: (run, lease) => (run.parent_run ? startRun : fixture.store.startRun)(run, lease),
      },
      loadSecrets: failOnce(async () => ({ KEY: "s3cret" })),
    });
    const { ended } = await runner.start(createRun());
    expect(await ended).toMatchObject({ status: "succeeded", output: "called" });
    expect(fixture.calls).toEqual(["a a 1"]);
  });

  inFixture(
    "does not repeat the last step of a run if the store first fails to save its end",
    async (fixture) => {
      const createRun = await fixture.publish([start, probe("a")], edges("start > a"));
      const { state, store } = createFailingStore(
        fixture,
        (step) => step.node_id === "a" && step.status === "done",
      );
      const { ended } = await fixture.openRunner({ store }).start(createRun());
      await expect.poll(() => state.count).toBeGreaterThan(2);
      state.shouldFail = false;
      expect(await ended).toMatchObject({ status: "succeeded", claims: 1 });
      expect(fixture.calls).toEqual(["a a 1"]);
    },
  );

  inFixture(
    "does not repeat a part of a step if the store first fails to save its record",
    async (fixture) => {
      const settings = { retries: { attempts: 3, backoffMs: 0 } };
      const agent = node("agent", "Parts", { parts: ["one", "two"], settings });
      const createRun = await fixture.publish([start, agent], edges("start > agent"));
      const { state, store } = createFailingStore(
        fixture,
        ({ item, status }) => item.startsWith("#") && status !== "running",
      );
      const { id, ended } = await fixture.openRunner({ store }).start(createRun());
      await expect.poll(() => state.count).toBeGreaterThan(2);
      state.shouldFail = false;
      expect(await ended).toMatchObject({ status: "succeeded", output: ["one of 1", "two of 1"] });
      expect(fixture.calls).toEqual(["one 1", "two 1"]);
      expect(await fixture.steps(id)).toEqual([
        "start done",
        "agent done",
        "agent@#one done",
        "agent@#two done",
      ]);
    },
  );

  inFixture(
    "continues its own runs after an outage that is longer than their lease",
    async (fixture) => {
      const agent = node("agent", "Parts", { parts: ["one", "two"] });
      const createRun = await fixture.publish([start, agent], edges("start > agent"));
      const { state, store } = createFailingStore(
        fixture,
        ({ item, status }) => item === "#one" && status === "done",
      );
      const reject = async () => {
        throw new Error("no connection");
      };
      const outage: Store = {
        ...store,
        renewRuns: (...args) => (state.shouldFail ? reject() : fixture.store.renewRuns(...args)),
        claimRuns: (...args) => (state.shouldFail ? reject() : fixture.store.claimRuns(...args)),
      };
      const leaseMs = 300;
      const { id, ended } = await fixture.openRunner({ store: outage, leaseMs }).start(createRun());
      await expect.poll(() => fixture.calls).toEqual(["one 1"]);
      const expiresAt = Date.now() + 2 * leaseMs;
      await expect.poll(() => Date.now()).toBeGreaterThan(expiresAt);
      state.shouldFail = false;
      expect(await ended).toMatchObject({ id, status: "succeeded", claims: 1 });
      expect(fixture.calls).toEqual(["one 1", "two 1"]);
    },
  );

  inFixture(
    "cancels a run while a write of its steps fails, and saves the steps with its end",
    async (fixture) => {
      const createRun = await fixture.publish(
        [start, probe("a"), probe("b")],
        edges("start > a > b"),
      );
      const { store } = createFailingStore(
        fixture,
        (step) => isB(step) && step.status === "running",
      );
      const run = createRun();
      await fixture.store.queueRuns([run]);
      fixture.openRunner({ store, leaseMs: 30_000 });
      await expect.poll(() => fixture.errors).toEqual([new Error("no connection")]);
      await fixture.store.cancelRun(TENANT, run.id, Date.now());
      await expect.poll(() => fixture.status(run.id)).toBe("cancelled");
      expect(fixture.calls).toEqual(["a a 1"]);
      expect(await fixture.steps(run.id)).toEqual(["start done", "a done", "b failed"]);
    },
  );

  inFixture(
    "cancels a run while the store fails, and records the steps of all failed writes",
    async (fixture) => {
      const createRun = await fixture.publish(
        [start, probe("a"), probe("b")],
        edges("start > a > b"),
      );
      const run = createRun();
      let attempts = 0;
      let hasEndFailed = false;
      const store: Store = {
        ...fixture.store,
        async saveProgress(batch) {
          const isEnd = batch.some(({ next }) => next);
          if (
            batch.some(({ steps }) => steps.some((step) => isB(step) && step.status === "running"))
          ) {
            attempts += 1;
            // The write is being repeated when the run is cancelled.
            if (attempts === 2) await fixture.store.cancelRun(TENANT, run.id, Date.now());
          } else if (!isEnd || hasEndFailed) return fixture.store.saveProgress(batch);
          hasEndFailed ||= isEnd;
          throw new Error("no connection");
        },
      };
      await fixture.store.queueRuns([run]);
      fixture.openRunner({ store, leaseMs: 30_000 });
      await expect.poll(() => fixture.status(run.id)).toBe("cancelled");
      expect(hasEndFailed).toBe(true);
      expect(await fixture.steps(run.id)).toEqual(["start done", "a done", "b failed"]);
    },
  );

  inFixture("cancels a called run that starts after its caller has ended", async (fixture) => {
    const child = await fixture.publish([start, gate("a")], edges("start > a"));
    const call = node("call", "CallFlow", { flow: child().flow_id, trigger: "start" });
    const createRun = await fixture.publish([start, call], edges("start > call"));
    const store: Store = {
      ...fixture.store,
      async startRun(run, lease) {
        if (run.parent_run !== undefined) {
          await fixture.store.cancelRun(TENANT, run.parent_run, Date.now());
          await expect.poll(() => fixture.status(run.parent_run ?? "")).toBe("cancelled");
        }
        return fixture.store.startRun(run, lease);
      },
    };
    await fixture.openRunner({ store }).start(createRun());
    const statuses = async () =>
      (await fixture.store.listRuns({ tenant: TENANT, limit: 9 })).map(({ status }) => status);
    await expect.poll(statuses).toEqual(["cancelled", "cancelled"]);
  });

  inFixture("fails only the run whose steps cannot be saved", async (fixture) => {
    const bad = probe("b", { value: "invalid" });
    const inside = await fixture.publish([start, bad, probe("c")], edges("start > b > c"));
    const atEnd = await fixture.publish([start, probe("a"), bad], edges("start > a > b"));
    const fine = await fixture.publish([start, probe("c")], edges("start > c"));
    const store: Store = {
      ...fixture.store,
      async saveProgress(batch) {
        for (const { steps } of batch)
          if (steps.some(({ output }) => output === "invalid"))
            throw new RangeError("Invalid string length");
        return fixture.store.saveProgress(batch);
      },
    };
    const runner = fixture.openRunner({ store });
    const started = await Promise.all([inside(), atEnd(), fine()].map((run) => runner.start(run)));
    const ended = await Promise.all(started.map(({ ended }) => ended));
    const error = { code: "cannot_be_saved", node_id: "b" };
    expect(ended).toMatchObject([
      { status: "failed", error },
      { status: "failed", error },
      { status: "succeeded" },
    ]);
    const [first, second] = started;
    expect(await fixture.steps(first?.id ?? "")).toEqual(["start done", "b failed", "c failed"]);
    expect(await fixture.steps(second?.id ?? "")).toEqual(["start done", "a done", "b failed"]);
    expect(fixture.errors).toEqual([]);
  });

  inFixture(
    "fails a part of a step whose output exceeds the limit, without retries",
    async (fixture) => {
      const settings = { retries: { attempts: 3, backoffMs: 0 } };
      const output = "x".repeat(2_000_000);
      const createRun = await fixture.publish(
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
      const run = await (await fixture.openRunner().start(createRun({ input: { text: output } })))
        .ended;
      expect(run).toMatchObject({
        status: "failed",
        error: { code: "output_too_large", node_id: "agent" },
      });
      expect(fixture.calls).toEqual(["one 1"]);
      expect((await fixture.steps(run.id)).slice(1)).toEqual(["agent failed", "agent@#one failed"]);
    },
  );

  inFixture("fails a step whose output exceeds the limit", async (fixture) => {
    const createRun = await fixture.publish(
      [start, probe("a", { value: "{{ trigger.text }}", times: 2 }), probe("b")],
      edges("start > a > b"),
    );
    const runner = fixture.openRunner({ loadInput: async () => ({ text: "x".repeat(5_000_000) }) });
    const { id, ended } = await runner.start(createRun());
    expect((await ended).error).toMatchObject({ code: "output_too_large", node_id: "a" });
    const steps = await allSteps(fixture.store, TENANT, id);
    expect(steps.map(({ node_id, status }) => `${node_id} ${status}`)).toContain("a failed");
  });
});

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}
