import fc from "fast-check";
import { expect } from "vitest";
import { START } from "../../../../events/store/contract/sample.ts";
import { createIds } from "../../../../kernel/lib/ids.ts";
import type { It } from "../../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../../store.ts";
import {
  ALL_SHARES,
  type ClaimedRun,
  type NewRun,
  type Run,
  type RunProgress,
  type WhenFull,
} from "../../model.ts";
import { sampleRun } from "./run-sample.ts";

const worker = fc.constantFrom("ada", "bob");
const pick = fc.nat({ max: 200 });
const small = fc.nat({ max: 5 });
const LANES: Record<string, { max: number; whenFull?: WhenFull }> = {
  narrow: { max: 1 },
  wide: { max: 2 },
  skips: { max: 2, whenFull: "skip" },
  replaces: { max: 1, whenFull: "replace" },
  "replaces some": { max: 2, whenFull: "replace" },
};
const limitOf = (lane: string | null) => LANES[lane ?? ""]?.max ?? Infinity;
/** A run fails after this many claims without progress, if its worker has died with no other run. */
const MAX_DEATHS = 3;
/** Otherwise a run fails after this many claims without progress. */
const MAX_IDLE_CLAIMS = 10;
/** The store sets the due time of an admitted run this much earlier, so that it precedes other runs. */
const ADMISSION_LEAD_MS = 3_600_000;

const newRun = fc.record({
  tenant: fc.constantFrom("acme", "umbrella"),
  lane: fc.option(fc.constantFrom(...Object.keys(LANES))),
  key: fc.option(fc.constantFrom("1", "2", "3"), { freq: 2 }),
  delay: small,
});
const next = fc.constantFrom("continue", "continue", "succeeded", "failed", "waiting", "queued");

const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      operation: fc.constant("queue" as const),
      runs: fc.array(newRun, { maxLength: 5 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      operation: fc.constant("start" as const),
      run: newRun.map((run) => ({ ...run, key: null })),
      worker,
      lease: small,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      operation: fc.constant("claim" as const),
      worker,
      limit: small,
      lease: small,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      operation: fc.constant("save" as const),
      all: fc.array(fc.record({ pick, next, delay: small }), { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ operation: fc.constant("cancel" as const), pick }) },
  { weight: 1, arbitrary: fc.record({ operation: fc.constant("retry" as const), pick }) },
  {
    weight: 1,
    arbitrary: fc.record({ operation: fc.constant("renew" as const), worker, lease: small }),
  },
  { weight: 1, arbitrary: fc.record({ operation: fc.constant("release" as const), worker }) },
  { weight: 1, arbitrary: fc.record({ operation: fc.constant("advance" as const), time: small }) },
);
type Command = typeof command extends fc.Arbitrary<infer Value> ? Value : never;

/** The model does not distinguish held and queued runs: both can be claimed. */
type State = "open" | "running" | "waiting" | "succeeded" | "failed" | "cancelled";

interface ModelRun {
  id: string;
  tenant: string;
  lane: string | null;
  key: string | undefined;
  state: State;
  due: number;
  worker: string | null;
  until: number;
  claims: number;
  /** The number of claims since the last progress. */
  idleClaims: number;
  cancel: boolean;
}

/** A suspect that waits for another suspect is running, but has no worker. */
const isWaitingSuspect = ({ state, worker }: ModelRun) => state === "running" && worker === null;

type GeneratedRun = typeof newRun extends fc.Arbitrary<infer Value> ? Value : never;

/** Executes each command on the store and on a simple model, and compares all runs. */
class StoreAndModel {
  readonly #store: Store;
  readonly #tenantName: (tenant: string) => string;
  readonly #ids = createIds({ now: () => this.#now });
  readonly #runs: ModelRun[] = [];
  readonly #claims: ClaimedRun[] = [];
  #now = START;

  constructor(store: Store, tenantName: (tenant: string) => string) {
    this.#store = store;
    this.#tenantName = tenantName;
  }

  async execute(command: Command): Promise<void> {
    this.#now += 1;
    const now = this.#now;
    const run = "pick" in command ? this.#runs[command.pick % this.#runs.length] : undefined;
    switch (command.operation) {
      case "queue":
        await this.#queue(command.runs);
        break;
      case "start":
        await this.#start(command.run, command.worker, now + command.lease);
        break;
      case "claim":
        await this.#claim(command.worker, now + command.lease, command.limit);
        break;
      case "save":
        await this.#save(command.all);
        break;
      case "cancel":
        if (run) await this.#cancel(run);
        break;
      case "retry":
        if (run) await this.#retry(run);
        break;
      case "renew":
        await this.#renew(command.worker, now + command.lease);
        break;
      case "release":
        await this.#store.releaseRuns(command.worker, now);
        for (const running of this.#runningOn(command.worker)) {
          running.idleClaims = Math.max(0, running.idleClaims - 1);
          this.#release(running, "open", running.due);
        }
        break;
      case "advance":
        this.#now += command.time;
    }
    await this.compare();
  }

  #createRun = ({ tenant, lane, key, delay }: GeneratedRun): NewRun =>
    sampleRun({
      id: this.#ids(),
      tenant: this.#tenantName(tenant),
      at: this.#now,
      due_at: this.#now + delay,
      key: key ?? undefined,
      limit: lane === null ? undefined : { lane, max: limitOf(lane), ...LANES[lane] },
    });

  /** Returns the new run, the id of the run with the same key, or null if the run is skipped. */
  #toModel({ id, tenant, key, due_at, limit }: NewRun): ModelRun | string | null {
    const existing = this.#runs.find(
      (run) => key !== undefined && run.key === key && run.tenant === tenant,
    );
    if (existing) return existing.id;
    const lane = limit?.lane ?? null;
    const initial = { worker: null, until: 0, claims: 0, idleClaims: 0, cancel: false };
    const created: ModelRun = { id, tenant, lane, key, state: "open", due: due_at, ...initial };
    if (limit?.whenFull === "skip")
      if (this.#inLane(created, "open", "running").length >= limit.max) return null;
    return created;
  }

  async #queue(generated: readonly GeneratedRun[]) {
    const runs = generated.map(this.#createRun);
    const newest = new Map<string, ModelRun>();
    const ids = runs.map((run) => {
      const modelRun = this.#toModel(run);
      if (modelRun === null || typeof modelRun === "string") return modelRun;
      if (run.limit?.whenFull === "replace")
        newest.set(`${modelRun.tenant} ${modelRun.lane}`, modelRun);
      this.#runs.push(modelRun);
      return modelRun.id;
    });
    expect(await this.#store.queueRuns(runs)).toEqual(ids);
    for (const run of newest.values()) this.#replace(run);
  }

  async #start(generated: GeneratedRun, worker: string, until: number) {
    const now = this.#now;
    const run = this.#createRun({ ...generated, delay: 0 });
    const modelRun = this.#toModel(run);
    const started = await this.#store.startInLane(run, { worker, now, until });
    if (modelRun === null) return expect(started).toEqual({ outcome: "full" });
    if (typeof modelRun === "string")
      return expect(started).toEqual({ outcome: "queued", id: modelRun });
    if (run.limit?.whenFull === "replace") this.#replace(modelRun);
    const before = this.#inLane(modelRun, "open", "running").filter(
      ({ state, due }) => state === "running" || (due ?? 0) <= now,
    );
    this.#runs.push(modelRun);
    if (modelRun.lane !== null && before.length >= limitOf(modelRun.lane))
      return expect(started).toEqual({ outcome: "queued", id: run.id });
    if (started.outcome !== "started") throw new Error("not started");
    Object.assign(modelRun, { state: "running", worker, until, claims: 1, idleClaims: 1 });
    this.#claims.push(started.claimed);
  }

  /** Cancels the runs that wait above the limit of a `replace` lane, except `newest`. */
  #replace(newest: ModelRun) {
    const capacity = limitOf(newest.lane) - this.#inLane(newest, "running").length;
    const waiting = this.#inLane(newest, "open").filter((run) => run !== newest);
    waiting.sort((a, b) => a.due - b.due || (a.id < b.id ? -1 : 1));
    for (const run of waiting.slice(capacity)) if (run.claims === 0) run.state = "cancelled";
    const remaining = this.#inLane(newest, "open").filter(({ claims }) => claims === 0);
    expect(remaining.length).toBeLessThanOrEqual(capacity + 1);
  }

  async #claim(worker: string, until: number, limit: number): Promise<ClaimedRun[]> {
    const now = this.#now;
    const expired = this.#runs.filter((run) => this.#isExpired(run));
    const [killer, ...others] = this.#runs.filter(
      (run) => run.state === "running" && run.worker !== null && run.idleClaims >= MAX_DEATHS,
    );
    const isAlone = this.#runningOn(killer?.worker ?? "").length === 1;
    const isStuck = (run: ModelRun) =>
      run.idleClaims >= MAX_IDLE_CLAIMS ||
      (run === killer && others.length === 0 && run.worker !== worker && isAlone);
    const claimed = await this.#store.claimRuns({ worker, now, until }, limit, ALL_SHARES);
    expect(claimed.length).toBeLessThanOrEqual(limit);
    for (const { run } of claimed) {
      const modelRun = this.#runs.find(({ id }) => id === run.id) as ModelRun;
      expect(this.#isDue(modelRun) || this.#isExpired(modelRun) || isWaitingSuspect(modelRun)).toBe(
        true,
      );
      Object.assign(modelRun, { state: "running", worker, until, claims: modelRun.claims + 1 });
      modelRun.idleClaims += 1;
      expect(run).toMatchObject({
        status: "running",
        worker,
        claims: modelRun.claims,
        cancel_requested: modelRun.cancel,
      });
    }
    this.#claims.push(...claimed);
    // A claim requeues at most `limit` expired runs. The model reads from the store which ones.
    for (const modelRun of expired.filter((run) => this.#isExpired(run) && run.claims > 0)) {
      const run = (await this.#store.getRun(modelRun.tenant, modelRun.id)) as Run;
      if (run.status !== "running")
        this.#release(modelRun, isStuck(modelRun) ? "failed" : "open", modelRun.due);
    }
    return claimed;
  }

  async #save(all: readonly { pick: number; next: string; delay: number }[]) {
    const now = this.#now;
    const expected: ("saved" | "lost")[] = [];
    const batch: RunProgress[] = [];
    for (const { pick, next, delay } of all) {
      const claimed = this.#claims[pick % this.#claims.length];
      if (!claimed) continue;
      const { id, claims } = claimed.run;
      const modelRun = this.#runs.find((run) => run.id === id) as ModelRun;
      batch.push({ run: id, claim: claims, steps: [], now, ...progressOf(next, now + delay) });
      const isLeased = modelRun.state === "running" && modelRun.claims === claims;
      expected.push(isLeased ? "saved" : "lost");
      if (!isLeased || next === "continue") continue;
      modelRun.idleClaims = 0;
      const isSuspended = ["waiting", "queued"].includes(next);
      if (!isSuspended) this.#release(modelRun, next as State, modelRun.due);
      else if (modelRun.cancel) this.#release(modelRun, "cancelled", modelRun.due);
      else if (next === "queued") this.#release(modelRun, "open", now + delay);
      else this.#release(modelRun, "waiting", now + delay);
    }
    expect(await this.#store.saveProgress(batch)).toEqual(expected);
  }

  async #cancel(run: ModelRun) {
    await this.#store.cancelRun(run.tenant, run.id, this.#now);
    if (run.state === "open" || run.state === "waiting") run.state = "cancelled";
    else if (run.state !== "running") return;
    run.cancel = true;
  }

  async #retry(run: ModelRun) {
    const retried = await this.#store.retryRun(run.tenant, run.id, this.#now);
    const canRetry = run.state === "failed" || run.state === "cancelled";
    expect(retried !== undefined).toBe(canRetry);
    if (canRetry)
      Object.assign(run, { state: "open", due: this.#now, cancel: false, idleClaims: 0 });
  }

  async #renew(worker: string, until: number) {
    // The worker renews only half of its leases; the others expire.
    const renewed = this.#runs.filter((_, index) => index % 2 === 0);
    const lease = { worker, now: this.#now, until };
    const { cancelRequested } = await this.#store.renewRuns(
      lease,
      renewed.map(({ id }) => id),
    );
    // An expired lease is renewed too if no other worker has claimed the run.
    const leased = this.#runningOn(worker).filter((run) => renewed.includes(run));
    for (const run of leased) run.until = until;
    expect(cancelRequested.sort()).toEqual(
      leased
        .filter((run) => run.cancel)
        .map(({ id }) => id)
        .sort(),
    );
  }

  #release(run: ModelRun, state: State, due: number) {
    Object.assign(run, { state, due, worker: null });
  }
  #runningOn = (worker: string) =>
    this.#runs.filter((run) => run.state === "running" && run.worker === worker);
  #isDue = ({ state, due }: ModelRun) =>
    (state === "open" || state === "waiting") && due <= this.#now;
  #isExpired = ({ state, until }: ModelRun) => state === "running" && until <= this.#now;
  #inLane = ({ tenant, lane }: ModelRun, ...states: State[]) =>
    this.#runs.filter(
      (run) => run.tenant === tenant && run.lane === lane && states.includes(run.state),
    );
  #hasCapacity = (run: ModelRun) => this.#inLane(run, "running").length < limitOf(run.lane);

  async compare(): Promise<void> {
    const stored: Run[] = [];
    for (const tenant of ["acme", "umbrella"])
      stored.push(
        ...(await this.#store.listRuns({ tenant: this.#tenantName(tenant), limit: 999 })),
      );
    const byId = new Map(stored.map((run) => [run.id, run]));
    expect(stored).toHaveLength(this.#runs.length);
    for (const modelRun of this.#runs) {
      const { status, due_at, worker, claims, cancel_requested } = byId.get(modelRun.id) as Run;
      const isOpen = status === "queued" || status === "held";
      // A run that became due while its lane was at its limit is held.
      if (modelRun.state === "waiting" && isOpen) modelRun.state = "open";
      // The store has extended the lease of a suspect that waits for another one.
      if (modelRun.state === "running" && status === "running" && worker === null)
        modelRun.worker = null;
      // The store has admitted the run.
      const ahead = modelRun.due - due_at;
      if (
        modelRun.lane !== null &&
        modelRun.claims <= 1 &&
        ahead > 0 &&
        ahead % ADMISSION_LEAD_MS === 0
      )
        modelRun.due = due_at;
      const { state, due, lane, worker: holder, cancel } = modelRun;
      expect({ state: isOpen ? "open" : status, due_at, worker, claims, cancel_requested }).toEqual(
        {
          state,
          due_at: due,
          worker: holder,
          claims: modelRun.claims,
          cancel_requested: cancel,
        },
      );
      expect(this.#inLane(modelRun, "running").length).toBeLessThanOrEqual(
        lane === null ? Infinity : limitOf(lane),
      );
    }
    // If a run can be claimed, `nextDue` is not in the future.
    const due = (await this.#store.nextDue()) ?? Infinity;
    const hasClaimable = this.#runs.some(
      (run) =>
        (this.#isExpired(run) && !isWaitingSuspect(run)) ||
        (this.#isDue(run) && (run.lane === null || this.#hasCapacity(run))),
    );
    if (hasClaimable) expect(due).toBeLessThanOrEqual(this.#now);
  }

  /** Completes all runs. */
  async drain(): Promise<void> {
    this.#now += 100;
    for (let round = 0; ; round += 1) {
      expect(round).toBeLessThan(1_000);
      this.#now += 1;
      const claimed = await this.#claim("last worker", this.#now + 1, 3);
      const due = (await this.#store.nextDue()) ?? Infinity;
      if (claimed.length === 0 && due === Infinity) break;
      if (claimed.length === 0) this.#now = Math.max(this.#now, due);
      this.#claims.splice(0, Infinity, ...claimed);
      await this.#save(claimed.map((_, pick) => ({ pick, next: "succeeded", delay: 0 })));
    }
    await this.compare();
    const unfinished = this.#runs.filter(
      ({ state }) => state === "open" || state === "running" || state === "waiting",
    );
    expect(unfinished).toEqual([]);
  }
}

function progressOf(next: string, due_at: number): Pick<RunProgress, "next"> {
  switch (next) {
    case "continue":
      return {};
    case "succeeded":
      return { next: { status: "succeeded", output: null } };
    case "failed":
      return { next: { status: "failed", error: { code: "oops", message: "failed" } } };
    default:
      return { next: { status: next as "waiting" | "queued", due_at } };
  }
}

export function runModelContract(it: It): void {
  it("complete every run once, and never exceed the limit of a lane", async ({ store }) => {
    let round = 0;
    const sequence = fc.array(command, { minLength: 1, maxLength: 40 });
    const property = fc.asyncProperty(sequence, async (commands) => {
      round += 1;
      const storeAndModel = new StoreAndModel(store, (tenant) => `${tenant} ${round}`);
      for (const command of commands) await storeAndModel.execute(command);
      await storeAndModel.drain();
    });
    await fc.assert(property, { numRuns: 30 });
  });
}
