import { expect, vi } from "vitest";
import {
  appendEvents,
  ids,
  itemAt,
  START,
  sampleEvent,
  type Tuple,
} from "../../../../events/store/contract/sample.ts";
import type { It } from "../../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../../store.ts";
import { ALL_SHARES, type ClaimedRun, type ClaimShares, type NewRun } from "../../model.ts";
import {
  allSteps,
  claim,
  claimExactly,
  FAR,
  LEASE,
  lease,
  progress,
  runIds,
  sampleRun,
  sampleRuns,
  sampleStep,
  save,
  succeeded,
} from "./run-sample.ts";

/** Claims runs with concurrent workers until none is due. Returns the run ids of each worker. */
export async function claimAll(
  stores: readonly Store[],
  workers: number,
  now = START,
): Promise<string[][]> {
  return Promise.all(
    Array.from({ length: workers }, async (_, index) => {
      const store = itemAt(stores, index % stores.length);
      const claimed: string[] = [];
      for (let attempt = 0; attempt < 1_000; attempt += 1) {
        const more = await claim(store, { by: `worker ${index}`, limit: 7, now });
        claimed.push(...runIds(more));
        // A claim can return fewer runs while another worker claims.
        if (more.length === 0 && ((await store.nextDue()) ?? Infinity) > now) return claimed;
      }
      throw new Error("a run is due, but cannot be claimed");
    }),
  );
}

/** Returns three runs. Each one has called the next. */
function sampleCallChain(): Tuple<3, NewRun> {
  const [top, middle, bottom] = sampleRuns(3, () => ({ cause: "flow" }));
  return [
    top,
    { ...middle, parent_run: top.id, depth: 1 },
    { ...bottom, parent_run: middle.id, depth: 2 },
  ];
}

const tenantsOf = (claimed: readonly ClaimedRun[]) => claimed.map(({ run }) => run.tenant);

export function runClaimsContract(it: It): void {
  it("claims due runs only, oldest first", async ({ store }) => {
    const [late, early, future, middle] = sampleRuns(4, (index) => ({
      due_at: START + ([3, 1, 9, 2][index] ?? 0),
    }));
    await store.queueRuns([late, early, future, middle]);
    expect(await claim(store, { now: START })).toEqual([]);
    const now = START + 3;
    const claimed = await claim(store, { now, limit: 2 });
    expect(runIds(claimed)).toEqual([early.id, middle.id]);
    expect(claimed).toMatchObject([
      { run: { status: "running", worker: "ada", claims: 1, started_at: now }, steps: [] },
      {},
    ]);
    expect(await store.getRun("acme", early.id)).toEqual(itemAt(claimed, 0).run);
    expect(runIds(await claim(store, { now }))).toEqual([late.id]);
    expect(await claim(store, { now })).toEqual([]);
    expect(runIds(await claim(store, { now: START + 9 }))).toEqual([future.id]);
    expect(await claim(store, { now: START + 9, limit: 0 })).toEqual([]);
  });

  it("serves tenants round robin, however long the backlog of one tenant is", async ({ store }) => {
    const backlog = sampleRuns(1_000, () => ({ tenant: "many" }));
    for (let index = 0; index < 1_000; index += 200)
      await store.queueRuns(backlog.slice(index, index + 200));
    await store.queueRuns(sampleRuns(3, () => ({ tenant: "few", at: START + 9 })));
    const first = await claim(store, { limit: 10 });
    const second = await claim(store, { limit: 10, now: START + 1 });
    expect([...first, ...second]).toHaveLength(20);
    expect(tenantsOf([...first, ...second]).filter((tenant) => tenant === "few")).toHaveLength(3);
    // Even if each claim takes one run, a tenant is served again only after all others.
    await store.queueRuns(sampleRuns(2, () => ({ tenant: "few", due_at: START + 2 })));
    await store.queueRuns(sampleRuns(2, () => ({ tenant: "late", due_at: START + 2 })));
    const served: string[] = [];
    for (let index = 0; index < 6; index += 1)
      served.push(...tenantsOf(await claim(store, { limit: 1, now: START + 3 + index })));
    expect(served.slice(0, 3).sort()).toEqual(["few", "late", "many"]);
    expect(served.slice(3).sort()).toEqual(["few", "late", "many"]);
  });

  it("distributes the unused share of a tenant among the others", async ({ store }) => {
    await store.queueRuns([
      ...sampleRuns(20, () => ({ tenant: "a" })),
      ...sampleRuns(1, () => ({ tenant: "b" })),
      ...sampleRuns(20, () => ({ tenant: "c" })),
      ...sampleRuns(2, () => ({ tenant: "d" })),
    ]);
    const claimed = tenantsOf(await claim(store, { limit: 20 }));
    expect(claimed).toHaveLength(20);
    expect(new Set(claimed)).toEqual(new Set(["a", "b", "c", "d"]));
  });

  it("serves the apps of a tenant and the flows of an app round robin", async ({ store }) => {
    const flood = { app: "busy", flow_id: "flood" };
    await store.queueRuns(sampleRuns(50, () => flood));
    await store.queueRuns([
      ...sampleRuns(2, () => ({ app: "busy", flow_id: "calm" })),
      ...sampleRuns(2, () => ({ app: "quiet", flow_id: "other" })),
      // An app with many flows gets no larger share than the others.
      ...sampleRuns(40, (index) => ({ app: "wide", flow_id: `wide ${index}` })),
    ]);
    const first = await claim(store, { limit: 12 });
    const countBy = (claimed: readonly ClaimedRun[], field: "app" | "flow_id") =>
      Object.fromEntries(
        [...Map.groupBy(claimed, ({ run }) => run[field])].map(([name, runs]) => [
          name,
          runs.length,
        ]),
      );
    expect(countBy(first, "app")).toEqual({ busy: 5, quiet: 2, wide: 5 });
    expect(countBy(first, "flow_id")).toMatchObject({ flood: 3, calm: 2, other: 2 });
    // One run at a time: each app is served again only after the others.
    const served: string[] = [];
    for (let index = 0; index < 4; index += 1)
      served.push(
        ...(await claim(store, { limit: 1, now: START + 1 + index })).map(({ run }) => run.app),
      );
    expect(served.slice(0, 2).sort()).toEqual(["busy", "wide"]);
    expect(served.slice(2).sort()).toEqual(["busy", "wide"]);
  });

  it("claims no more runs of a tenant, app or flow than its share", async ({ store }) => {
    await store.queueRuns(
      ["a", "b"].flatMap((tenant) =>
        ["one", "two"].flatMap((app) =>
          ["x", "y"].flatMap((flow) =>
            sampleRuns(20, () => ({ tenant, app, flow_id: `${tenant} ${app} ${flow}` })),
          ),
        ),
      ),
    );
    const limits = new Map([
      [JSON.stringify(["a"]), 9],
      [JSON.stringify(["a", "one"]), 3],
      [JSON.stringify(["a", "two", "a two x"]), 0],
      [JSON.stringify(["b", "one"]), 0],
      [JSON.stringify(["b", "two", "b two x"]), 2],
    ]);
    const leftOut: string[] = [];
    const shares: ClaimShares = {
      draft() {
        const taken = new Map<string, number>();
        const room = (path: readonly string[]) =>
          Math.min(
            ...path.map((_, index) => {
              const key = JSON.stringify(path.slice(0, index + 1));
              return (limits.get(key) ?? 100) - (taken.get(key) ?? 0);
            }),
          );
        return {
          room,
          countFull: () => 1,
          take(path) {
            for (const index of path.keys()) {
              const key = JSON.stringify(path.slice(0, index + 1));
              taken.set(key, (taken.get(key) ?? 0) + 1);
            }
          },
          leaveOut: (path) => leftOut.push(path.join(" / ")),
        };
      },
    };
    const claimed = await claim(store, { limit: 100, shares });
    const flows = Map.groupBy(claimed, ({ run }) => run.flow_id);
    const counts = Object.fromEntries([...flows].map(([flow, runs]) => [flow, runs.length]));
    expect(counts).toEqual({
      "a one x": expect.any(Number),
      "a one y": expect.any(Number),
      "a two y": 6,
      "b two x": 2,
      "b two y": 20,
    });
    expect((counts["a one x"] ?? 0) + (counts["a one y"] ?? 0)).toBe(3);
    expect(leftOut).toEqual(
      expect.arrayContaining(["a", "a / one", "a / two / a two x", "b / one"]),
    );
    // The runs that were left out are due, but a worker without room for them can skip their flows.
    expect(await store.nextDue()).toBeLessThanOrEqual(START);
    await store.queueRuns([sampleRun({ tenant: "b", flow_id: "later", due_at: START + 7 })]);
    expect(await store.nextDue(START)).toBe(START + 7);
  });

  it("gives each run to one of many concurrent workers", async ({ store }) => {
    const runs = sampleRuns(150, (index) => ({ tenant: `tenant ${index % 4}` }));
    await store.queueRuns(runs);
    const claimed = (await claimAll([store], 8)).flat();
    expect(claimed.sort()).toEqual(ids(runs).sort());
  });

  it("returns a run of a dead worker, with its steps, only after the lease has expired", async ({
    store,
    reopen,
  }) => {
    const run = sampleRun();
    await store.queueRuns([run]);
    const [first] = await claimExactly(store, 1);
    const open = sampleStep({ nth: 2, node_id: "next", status: "running" });
    await save(store, [first], { steps: [sampleStep(), open] });
    const reopened = await reopen();
    expect(await claim(reopened, { by: "bob", now: START + LEASE - 1 })).toEqual([]);
    const [second] = await claim(reopened, { by: "bob", now: START + LEASE });
    expect(second).toMatchObject({ run: { id: run.id, worker: "bob", claims: 2 } });
    expect(second?.steps).toEqual([sampleStep({ input: null }), open]); // ended steps need no input
    // The two steps have two inputs and two outputs. Each has the size of this JSON.
    expect(second?.bytes).toBe(4 * '{"a":1}'.length);
    expect(await claim(reopened, { by: "cy", now: START + 2 * LEASE - 1 })).toEqual([]);
    expect(await claim(reopened, { by: "cy", now: START + 2 * LEASE })).toMatchObject([
      { run: { claims: 3 }, steps: [sampleStep({ input: null }), open] },
    ]);
  });

  it("fails a run whose worker has died three times while it executed the run", async ({
    store,
  }) => {
    const [killer, other] = sampleRuns(2, (index) => ({ due_at: START + index * 2 * LEASE }));
    await store.queueRuns([killer, other]);
    let now = START;
    for (let deaths = 0; deaths < 3; deaths += 1, now += LEASE) {
      const claimed = await claim(store, { by: `worker ${deaths}`, now });
      expect(runIds(claimed)).toContain(killer.id);
      // A step that was interrupted, and that begins again, is no progress.
      const open = sampleStep({ status: "running", finished_at: null });
      await save(store, claimed, { steps: [open] });
    }
    expect(runIds(await claim(store, { by: "worker 3", now }))).toEqual([other.id]);
    expect(await store.getRun("acme", killer.id)).toMatchObject({
      status: "failed",
      claims: 3,
      error: {
        code: "gave_up",
        message:
          "The run was claimed 3 times in a row, and each time its worker stopped before the run finished a step. " +
          "The step may need too much memory or computing time.",
        node_id: "start",
      },
    });
  });

  it("counts no stop, suspension or progress of a run as a death of its worker", async ({
    store,
  }) => {
    const [released, suspended, progressing] = sampleRuns(3);
    let now = START;
    const die = async (id: string, by: string) => {
      const [{ run }] = await claimExactly(store, 1, { by, now });
      expect(run).toMatchObject({ id, worker: by });
      now += LEASE;
    };
    for (const { run, end } of [
      { run: released, end: (by: string) => store.releaseRuns(by, now) },
      {
        run: suspended,
        end: (_: string, claimed: ClaimedRun) =>
          save(store, [claimed], { next: { status: "waiting", due_at: now }, now }),
      },
      {
        run: progressing,
        end: (_: string, claimed: ClaimedRun) =>
          save(store, [claimed], {
            steps: [sampleStep({ node_id: `step ${claimed.run.claims}` })],
            now,
          }),
      },
    ]) {
      await store.queueRuns([{ ...run, due_at: now }]);
      // A stop does not reset the count, so this run may die only twice.
      if (run === released) await die(run.id, "dies first");
      for (let round = 0; round < 5; round += 1) {
        for (let deaths = 0; run !== released && deaths < 2; deaths += 1)
          await die(run.id, `dies ${round} ${deaths}`);
        const by = `ends ${round}`;
        const [claimed] = await claimExactly(store, 1, { by, now });
        await end(by, claimed);
        now += run === progressing ? LEASE : 0;
      }
      await die(run.id, "dies last");
      await save(store, await claimExactly(store, 1, { by: "last", now }));
      expect(await store.getRun("acme", run.id)).toMatchObject({ status: "succeeded" });
    }
  });

  it("fails no run whose worker may have died because of another run", async ({ store }) => {
    const [first, second] = sampleRuns(2);
    await store.queueRuns([first, second]);
    let now = START;
    for (let deaths = 0; deaths < 2; deaths += 1, now += LEASE)
      await claimExactly(store, 2, { by: `worker ${deaths}`, now });
    // A worker has both: the trial of one ends, and the other begins.
    const trial = await claimExactly(store, 1, { by: "worker 2", now });
    now = (await store.nextDue()) as number;
    trial.push(...(await claimExactly(store, 1, { by: "worker 2", now })));
    expect(runIds(trial).sort()).toEqual(ids([first, second]).sort());
    now += LEASE;
    const [retried] = await claimExactly(store, 1, { by: "worker 3", now });
    expect(retried.run.claims).toBe(4);
    expect(await claim(store, { by: "worker 3", now })).toEqual([]);
    // This time only one of them dies with its worker.
    now += LEASE;
    const [innocent] = await claimExactly(store, 1, { by: "worker 4", now });
    expect(innocent.run.id).not.toBe(retried.run.id);
    await save(store, [innocent]);
    expect(await store.getRun("acme", retried.run.id)).toMatchObject({
      error: { code: "gave_up" },
    });
    expect(await store.getRun("acme", innocent.run.id)).toMatchObject({ status: "succeeded" });
  });

  it("fails no run whose third worker had other runs, also if their leases have expired before", async ({
    store,
  }) => {
    const [suspect, companion] = sampleRuns(2);
    await store.queueRuns([suspect]);
    let now = START;
    for (const by of ["ada", "bob", "cy"]) {
      expect(runIds(await claim(store, { by, now }))).toEqual([suspect.id]);
      now += LEASE;
    }
    // "cy" has claimed the other run earlier, and renews only the lease of the suspect before it dies.
    await store.queueRuns([companion]);
    await claim(store, { by: "cy", now: now - 1 });
    await store.renewRuns(lease("cy", now - 1), [suspect.id]);
    await store.renewRuns({ worker: "cy", now: now - 1, until: now }, [companion.id]);
    expect(runIds(await claim(store, { by: "dee", now }))).toEqual([companion.id]);
    await claim(store, { by: "dee", now: now + LEASE });
    expect(await store.getRun("acme", suspect.id)).toMatchObject({
      status: "running",
      error: null,
    });
  });

  it("fails no run whose third worker has died while it executed other runs too", async ({
    store,
  }) => {
    const [suspect, ...others] = sampleRuns(3, (index) => ({ due_at: START + index * 2 * LEASE }));
    await store.queueRuns([suspect, ...others]);
    let now = START;
    for (let deaths = 0; deaths < 2; deaths += 1, now += LEASE)
      expect(runIds(await claim(store, { by: `worker ${deaths}`, now }))).toEqual([suspect.id]);
    expect(runIds(await claim(store, { by: "worker 2", now }))).toEqual([suspect.id]);
    expect(await claim(store, { by: "worker 2", now })).toHaveLength(1);
    now += LEASE;
    const [retried] = await claim(store, { by: "worker 3", now });
    expect(retried).toMatchObject({ run: { id: suspect.id, claims: 4 } });
    now += LEASE;
    await save(store, await claim(store, { by: "worker 4", now }));
    expect(await store.getRun("acme", suspect.id)).toMatchObject({ error: { code: "gave_up" } });
  });

  it("fails a run that was claimed repeatedly without progress", async ({ store, notices }) => {
    const event = sampleEvent();
    await appendEvents(store, [event]);
    const limit = { lane: "one", max: 1 };
    const [poison, next] = sampleRuns(2, () => ({ limit, event_id: event.id }));
    await store.queueRuns([poison, next]);
    const interrupted = sampleStep({ nth: 2, node_id: "b", status: "running", finished_at: null });
    let now = START;
    for (let count = 1; count <= 10; count += 1, now += LEASE) {
      const [claimed, ...others] = await claim(store, { now });
      expect(claimed).toMatchObject({ run: { id: poison.id, claims: count } });
      expect(others).toEqual([]);
      // Starting the interrupted step again does not count as progress.
      if (claimed)
        await save(store, [claimed], {
          steps: [...(count === 1 ? [sampleStep()] : []), interrupted],
        });
    }
    // The failed run no longer occupies its lane, so the next run is admitted.
    expect(runIds(await claim(store, { now }))).toEqual([next.id]);
    const error = {
      code: "gave_up",
      message:
        "The run was claimed 10 times in a row, and each time its worker stopped before the run finished a step. " +
        "The step may need too much memory or computing time.",
      node_id: "b",
    };
    expect(await store.getRun("acme", poison.id)).toMatchObject({
      status: "failed",
      worker: null,
      error,
      finished_at: now,
    });
    expect(await allSteps(store, "acme", poison.id)).toEqual([
      sampleStep(),
      { ...interrupted, status: "failed", output: null, error, finished_at: now },
    ]);
    await vi.waitFor(
      async () =>
        expect(await notices()).toContainEqual({
          topic: "run_ended",
          tenant: "acme",
          run: poison.id,
          status: "failed",
          took: now - START,
        }),
      60_000,
    );
    // A retry resets the count.
    await store.retryRun("acme", poison.id, now);
    await save(store, await claim(store, { now: now + LEASE }));
    expect((await store.getRun("acme", poison.id))?.status).not.toBe("failed");
  });

  it("returns a claimed run without the large values of its ended steps", async ({ store }) => {
    await store.queueRuns([sampleRun()]);
    const [first] = await claimExactly(store, 1);
    const text = "x".repeat(20_000);
    const large = { input: text, output: { text } };
    const open = sampleStep({ nth: 2, node_id: "b", status: "waiting", ...large });
    await save(store, [first], { steps: [sampleStep(large), open] });
    const [reclaimed] = await claimExactly(store, 1, { now: START + LEASE });
    expect(reclaimed.steps).toEqual([
      sampleStep({ input: null, output: null, omitted: true }),
      open,
    ]);
    expect(reclaimed.bytes).toBe(2 * (20_002 + 20_011));
    const { id } = first.run;
    const step = { node_id: "start", item: "", attempt: 1 };
    expect(await store.loadOutput(id, step)).toEqual({ text });
    await expect(store.loadOutput(id, { ...step, attempt: 2 })).rejects.toThrow("has no step");
  });

  it("returns a claimed run with all its steps, but only the outputs that fit", async ({
    store,
  }) => {
    await store.queueRuns([sampleRun()]);
    const [first] = await claimExactly(store, 1);
    const text = "x".repeat(15_000);
    const steps = Array.from({ length: 700 }, (_, index) =>
      sampleStep({ nth: index + 1, item: `${index}`, output: index === 690 ? 1 : text }),
    );
    await save(store, [first], { steps });
    const [reclaimed] = await claimExactly(store, 1, { now: START + LEASE });
    expect(reclaimed.steps.map(({ item }) => item)).toEqual(steps.map(({ item }) => item));
    const loaded = reclaimed.steps.filter(({ omitted }) => !omitted);
    expect(reclaimed.steps.slice(0, 200)).toEqual(loaded.slice(0, 200));
    expect(loaded.at(-1)).toEqual({ ...steps[690], input: null });
    expect(loaded.length * 15_000).toBeLessThan(9_000_000);
    expect(reclaimed.bytes).toBe(699 * 15_002 + 1 + 700 * 7);
    const last = { node_id: "start", item: "699", attempt: 1 };
    expect(await store.loadOutput(first.run.id, last)).toBe(text);
  });

  it("counts a claim whose steps cannot be loaded, and gives the run up", async ({
    store,
    sql,
  }) => {
    const run = sampleRun();
    await store.queueRuns([run]);
    await save(store, await claimExactly(store, 1), { steps: [sampleStep()] });
    const storedOutput = (await sql("SELECT output FROM steps"))[0]?.output;
    await sql("UPDATE steps SET output = 'not JSON' RETURNING nth");
    let now = START;
    // The saved step is progress of the first claim. All later claims make no progress.
    for (let count = 2; count <= 10; count += 1) {
      now += LEASE;
      await expect(claim(store, { now })).rejects.toThrow();
      expect(await store.getRun("acme", run.id)).toMatchObject({ claims: count });
    }
    now += LEASE;
    expect(await claim(store, { now })).toEqual([]);
    expect(await store.getRun("acme", run.id)).toMatchObject({ error: { code: "gave_up" } });
    await sql(`UPDATE steps SET output = '${storedOutput}' RETURNING nth`);
    expect(await allSteps(store, "acme", run.id)).toEqual([sampleStep()]);
  });

  it("returns a run again while it makes progress or is released", async ({ store }) => {
    const [progressing, released] = sampleRuns(2, (index) => ({
      tenant: index === 0 ? "acme" : "umbrella",
    }));
    await store.queueRuns([progressing, released]);
    let now = START;
    for (let count = 1; count <= 25; count += 1, now += LEASE) {
      const claimed = await claim(store, { now });
      expect(claimed).toHaveLength(2);
      for (const claimedRun of claimed)
        if (claimedRun.run.id === progressing.id)
          await save(store, [claimedRun], {
            steps: [sampleStep({ node_id: `step ${count}` })],
          });
      // A hub that stops releases its runs, so their leases do not expire.
      await store.renewRuns(lease("ada", now), [released.id]);
      await store.releaseRuns("ada", now);
    }
    // Only leases that expired since the last progress count.
    const claims = new Map<string, number>();
    for (; ; now += LEASE) {
      const claimed = await claim(store, { now });
      if (claimed.length === 0) break;
      for (const claimedRun of claimed) {
        const { id } = claimedRun.run;
        const count = (claims.get(id) ?? 0) + 1;
        claims.set(id, count);
        if (count === 10)
          await save(store, [claimedRun], { steps: [sampleStep({ node_id: "last step" })] });
      }
    }
    expect([...claims.values()]).toEqual([20, 20]);
  });

  it("claims a run alone after two crashes, and gives up only the run that crashes its workers", async ({
    store,
  }) => {
    const runs = sampleRuns(8, (index) => ({ tenant: index % 2 === 0 ? "acme" : "umbrella" }));
    const killer = itemAt(runs, 3);
    await store.queueRuns(runs);
    let now = START;
    for (let crashes = 0; ; crashes += 1, now += LEASE) {
      for (let batch = [itemAt(runs, 0).id]; batch.length > 0 && !batch.includes(killer.id); ) {
        const claimed = await claim(store, { now, by: `worker ${crashes}` });
        batch = runIds(claimed);
        if (!batch.includes(killer.id)) await save(store, claimed);
      }
      const { status, claims } = (await store.getRun(killer.tenant, killer.id)) ?? {};
      if (status === "failed") break;
      expect(claims).toBeLessThanOrEqual(3);
    }
    expect(await store.getRun(killer.tenant, killer.id)).toMatchObject({
      claims: 3,
      error: { code: "gave_up" },
    });
    // The others were suspects until they were claimed without the killer.
    for (; (await store.nextDue()) !== null; now += LEASE)
      await save(store, await claim(store, { now }));
    for (const { id, tenant } of runs)
      if (id !== killer.id)
        expect(await store.getRun(tenant, id)).toMatchObject({ status: "succeeded", claims: 3 });
  });

  it("claims the next suspect when the previous one has made progress or ended, or after its trial", async ({
    store,
  }) => {
    const runs = sampleRuns(12, (index) => ({ tenant: `tenant ${index % 3}` }));
    await store.queueRuns(runs);
    let now = START;
    for (let crashes = 0; crashes < 2; crashes += 1, now += LEASE)
      expect((await claimAll([store], 1, now)).flat()).toHaveLength(12);
    const claimOne = () => claimExactly(store, 1, { now, limit: 4 });
    const held: ClaimedRun[] = [];
    // Two suspects make progress, and the one between them ends.
    for (const saved of [{ steps: [sampleStep()] }, undefined, { steps: [sampleStep()] }]) {
      const [next] = await claimOne();
      expect(next.run.claims).toBe(3);
      // Neither this worker nor another one claims two suspects together.
      expect(await claim(store, { now })).toEqual([]);
      expect(await claim(store, { now, by: "bob" })).toEqual([]);
      const open = sampleStep({ nth: 2, node_id: "b", status: "running", finished_at: null });
      await save(store, [next], { steps: [open], now });
      expect(await claim(store, { now })).toEqual([]);
      await save(store, [next], { now, ...(saved ?? { next: succeeded }) });
      if (saved) held.push(next);
    }
    // The remaining suspects make no progress.
    const first = now;
    for (;;) {
      held.push(...(await claimOne()));
      if (held.length === 11) break;
      const due = (await store.nextDue()) ?? 0;
      expect(due).toBeGreaterThan(now);
      now = due;
      await store.renewRuns(lease("ada", now), runIds(held));
    }
    expect(now - first).toBeLessThanOrEqual(LEASE);
    for (const { run } of held) expect(run.claims).toBe(3);
    await save(store, held);
    expect(await store.nextDue()).toBeNull();
  });

  it("returns a caller again while the runs that it called make progress", async ({ store }) => {
    const [top, middle, bottom] = sampleCallChain();
    await store.queueRuns([top, middle, bottom]);
    let now = START;
    for (let count = 1; count <= 13; count += 1, now += LEASE) {
      const claimed = await claim(store, { now });
      expect(runIds(claimed).sort()).toEqual(ids([top, middle, bottom]).sort());
      const bottomRun = claimed.filter(({ run }) => run.id === bottom.id);
      await save(store, bottomRun, { steps: [sampleStep({ node_id: `step ${count}` })] });
    }
    // The called runs fail before their callers.
    const failed = new Set<string>();
    for (; (await claim(store, { now })).length > 0; now += LEASE)
      for (const { id, tenant } of [top, middle, bottom])
        if ((await store.getRun(tenant, id))?.error?.code === "gave_up") failed.add(id);
    expect([...failed]).toEqual(ids([bottom, middle]));
    expect(await store.getRun("acme", top.id)).toMatchObject({ error: { code: "gave_up" } });
  });

  it("cancels the runs that a failed run has called", async ({ store, notices }) => {
    const [top, waiting, queued] = sampleCallChain();
    const running = sampleRun({ cause: "flow", parent_run: top.id });
    await store.queueRuns([waiting]);
    await save(store, await claim(store), {
      steps: [sampleStep({ status: "waiting", finished_at: null })],
      next: { status: "waiting", due_at: FAR },
    });
    await store.queueRuns([running]);
    await store.claimRuns({ ...lease("bob"), until: START + 99 * LEASE }, 1, ALL_SHARES);
    await store.queueRuns([{ ...queued, due_at: START + 99 * LEASE }, top]);
    let now = START;
    for (let count = 1; count <= 10; count += 1, now += LEASE)
      expect(runIds(await claim(store, { now }))).toEqual([top.id]);
    expect(await claim(store, { now })).toEqual([]);
    expect(await store.getRun("acme", top.id)).toMatchObject({ status: "failed" });
    const end = { status: "cancelled", cancel_requested: true, finished_at: now };
    expect(await store.getRun("acme", waiting.id)).toMatchObject(end);
    expect(await store.getRun("acme", queued.id)).toMatchObject(end);
    expect(await allSteps(store, "acme", waiting.id)).toMatchObject([
      { status: "failed", error: { code: "cancelled" } },
    ]);
    // The worker of the running run is asked to cancel it.
    expect(await store.getRun("acme", running.id)).toMatchObject({
      status: "running",
      cancel_requested: true,
    });
    await vi.waitFor(async () => {
      expect(await notices()).toContainEqual({ topic: "run_cancel", run: running.id });
      for (const [run, status, took] of [
        [top, "failed", now - START],
        [waiting, "cancelled", now - START],
        [queued, "cancelled", null],
      ] as const) {
        const ended = { topic: "run_ended", tenant: "acme", run: run.id, status, took };
        expect(await notices()).toContainEqual(ended);
      }
    }, 60_000);
  });

  it("serves other tenants when a worker with many runs has died", async ({ store }) => {
    await store.queueRuns(sampleRuns(50, () => ({ tenant: "many" })));
    await claim(store, { limit: 50 });
    const now = START + LEASE;
    await store.queueRuns(sampleRuns(3, () => ({ tenant: "few", due_at: now })));
    const claimed = [...(await claim(store, { now })), ...(await claim(store, { now }))];
    expect(tenantsOf(claimed).filter((tenant) => tenant === "few")).toHaveLength(3);
    expect(claimed).toHaveLength(20);
  });

  it("renews only leases that have not expired", async ({ store }) => {
    const [first, second, third] = sampleRuns(3);
    await store.queueRuns([first, second, third]);
    await claim(store, { limit: 2 });
    await claim(store, { by: "bob", limit: 1 });
    const now = START + LEASE - 1;
    const all = ids([first, second, third]);
    expect(await store.renewRuns(lease("ada", now), all)).toMatchObject({ cancelRequested: [] });
    // The lease of bob was not renewed, so his run can be claimed.
    expect(runIds(await claim(store, { by: "cy", now: START + LEASE }))).toEqual([third.id]);
    await store.cancelRun("acme", second.id, now);
    expect(await store.renewRuns(lease("ada", now + 1), all)).toMatchObject({
      cancelRequested: [second.id],
    });
    // Another worker has claimed the run of bob, so he cannot renew its lease.
    expect(await store.renewRuns(lease("bob", now + 1), all)).toEqual({
      renewed: [],
      cancelRequested: [],
    });
    const { renewed } = await store.renewRuns(lease("ada", now + 1), all);
    expect(renewed.sort()).toEqual(ids([first, second]).sort());
    expect(await store.getRun("acme", third.id)).toMatchObject({ worker: "cy", claims: 2 });
    // A worker keeps a run whose lease has expired, until another worker claims it.
    const expired = now + 1 + LEASE;
    expect(await store.renewRuns(lease("ada", expired), [first.id])).toMatchObject({
      cancelRequested: [],
    });
    // The third run was claimed twice without progress, so it is a suspect and is claimed alone.
    const dee = { by: "dee", now: expired };
    expect(runIds(await claim(store, dee))).toEqual([third.id]);
    expect(runIds(await claim(store, dee))).toEqual([second.id]);
    expect(await store.renewRuns(lease("ada", expired + 1), all)).toMatchObject({
      cancelRequested: [],
    });
    expect(await store.getRun("acme", second.id)).toMatchObject({ worker: "dee" });
  });

  it("renews only the leases of the given runs", async ({ store }) => {
    const runs = sampleRuns(250);
    const [omitted, ...renewed] = runs;
    await store.queueRuns(runs.slice(0, 125));
    await store.queueRuns(runs.slice(125));
    expect(await claim(store, { limit: 250 })).toHaveLength(250);
    await store.cancelRun("acme", itemAt(runs, 0).id, START);
    await store.cancelRun("acme", itemAt(runs, 249).id, START);
    const now = START + LEASE - 1;
    expect(await store.renewRuns(lease("ada", now), [])).toMatchObject({ cancelRequested: [] });
    expect(await store.renewRuns(lease("ada", now), ids(renewed))).toMatchObject({
      cancelRequested: [itemAt(runs, 249).id],
    });
    // The lease of the omitted run expires. The same worker can claim it again.
    expect(await claim(store, { now: START + LEASE, limit: 250 })).toMatchObject([
      { run: { id: omitted?.id, worker: "ada", claims: 2, cancel_requested: true } },
    ]);
  });

  it("releases the runs of a worker that stops, and returns them first", async ({ store }) => {
    const [one, two, three] = sampleRuns(3);
    await store.queueRuns([one, two, three]);
    const [first] = await claimExactly(store, 1, { limit: 1 });
    await claim(store, { by: "bob", limit: 1 });
    await save(store, [first], { steps: [sampleStep()] });
    await store.releaseRuns("ada", START + 1);
    expect(await store.getRun("acme", one.id)).toMatchObject({ status: "queued", worker: null });
    expect(await claim(store, { by: "cy", now: START + 1 })).toMatchObject([
      { run: { id: one.id, claims: 2 }, steps: [sampleStep({ input: null })] },
      { run: { id: three.id, claims: 1 } },
    ]);
    expect(await store.saveProgress([progress(first)])).toEqual(["lost"]);
    await store.releaseRuns("unknown worker", START + 1);
  });

  it("returns the time when the next run is due or the next lease expires", async ({ store }) => {
    expect(await store.nextDue()).toBeNull();
    await store.queueRuns([sampleRun({ due_at: START + 500 }), sampleRun({ due_at: START + 20 })]);
    expect(await store.nextDue()).toBe(START + 20);
    const [claimed] = await claimExactly(store, 1, { now: START + 20 });
    expect(await store.nextDue()).toBe(START + 20 + LEASE);
    await save(store, [claimed], { next: { status: "waiting", due_at: FAR } });
    expect(await store.nextDue()).toBe(START + 500);
    await claim(store, { now: START + 500, limit: 1 });
    await store.releaseRuns("ada", START + 501);
    expect(await store.nextDue()).toBe(START + 501);
    for (const { id } of await store.listRuns({ tenant: "acme", limit: 9 }))
      await store.cancelRun("acme", id, START + 502);
    await claim(store, { now: START + 502 });
    expect(await store.nextDue()).toBeNull();
  });

  it("sends notices of runs that are cancelled while they wait, or instead of being suspended", async ({
    store,
    notices,
  }) => {
    const [queued, suspended, running] = sampleRuns(3, () => ({}));
    await store.queueRuns([suspended, running]);
    const claimed = await claim(store);
    const waiting = { next: { status: "waiting", due_at: FAR } } as const;
    const claimOf = ({ id }: { id: string }) => claimed.filter(({ run }) => run.id === id);
    await save(store, claimOf(suspended), waiting);
    await store.queueRuns([queued]);
    for (const { id } of [queued, suspended, running])
      await store.cancelRun("acme", id, START + 20);
    await save(store, claimOf(running), { ...waiting, now: START + 30 });
    const ended = { topic: "run_ended", tenant: "acme", status: "cancelled" };
    await vi.waitFor(
      async () =>
        expect((await notices()).filter(({ topic }) => topic === "run_ended")).toEqual([
          { ...ended, run: queued.id, took: null },
          { ...ended, run: suspended.id, took: 20 },
          { ...ended, run: running.id, took: 30 },
        ]),
      60_000,
    );
  });

  it("sends notices of due, cancelled and ended runs", async ({ store, notices }) => {
    const run = sampleRun({ due_at: START + 7 });
    await store.queueRuns([run, sampleRun({ tenant: "umbrella", due_at: START + 5 })]);
    const [, claimed] = await claimExactly(store, 2, { now: START + 7 });
    await store.cancelRun("acme", run.id, START);
    await save(store, [claimed]);
    await vi.waitFor(
      async () =>
        expect((await notices()).filter(({ topic }) => topic !== "gap")).toEqual([
          { topic: "runs", due: START + 5 },
          { topic: "run_cancel", run: run.id },
          { topic: "run_ended", tenant: "acme", run: run.id, status: "succeeded", took: 0 },
        ]),
      60_000,
    );
  });
}
