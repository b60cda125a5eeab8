import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { arrival, sampleEvents } from "./contract/sample.ts";
import { createGroupCommit, type GroupCommitOptions } from "./group-commit.ts";
import type { AppendRequest, AppendResult } from "./store.ts";

/** A store whose writes end when the test says so. Its answer to an arrival carries its tenant's name. */
function createSlowStore() {
  const batches: AppendRequest[][] = [];
  const pending: PromiseWithResolvers<void>[] = [];
  return {
    batches,
    sizes: () => batches.map((batch) => batch.length),
    async appendEvents(batch: AppendRequest[]): Promise<AppendResult[]> {
      batches.push(batch);
      const turn = Promise.withResolvers<void>();
      pending.push(turn);
      await turn.promise;
      return batch.map(answerTo);
    },
    isDataError: (error: unknown) => error instanceof RangeError,
    finish: () => pending.shift()?.resolve(),
    fail: (error: Error) => pending.shift()?.reject(error),
  };
}

/** As `createSlowStore`, but writes at once, and refuses batches with a bad arrival in it. */
function createPickyStore(isBad: (arrived: AppendRequest) => boolean) {
  const store = {
    ...createSlowStore(),
    async appendEvents(batch: AppendRequest[]): Promise<AppendResult[]> {
      store.batches.push(batch);
      if (batch.some(isBad))
        throw new RangeError(`bad: ${batch.filter(isBad).map(({ tenant }) => tenant)}`);
      return batch.map(answerTo);
    },
  };
  return store;
}

const answerTo = ({ tenant }: AppendRequest): AppendResult => ({
  outcome: "duplicate",
  events: [{ id: tenant, seq: 1, duplicate: true }],
});

const of = (tenant: string, bytes = [10]): AppendRequest =>
  arrival(
    sampleEvents(bytes.length, (at) => ({ body: new Uint8Array(bytes[at] ?? 0) })),
    tenant,
  );

/** Lets the group commit's own turns pass; nothing here waits for the time. */
const soon = (work: () => void) => void setImmediate(work);
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function setup(options: Partial<GroupCommitOptions> = {}) {
  const store = createSlowStore();
  return { store, commit: createGroupCommit({ store, quota: null, soon, ...options }) };
}

describe("group commit", () => {
  test("writes together what arrives together, and gives each its own answer", async () => {
    const { store, commit } = setup();
    const answers = Promise.all(["a", "b", "c"].map((name) => commit.append(of(name))));
    await turn();
    expect(store.sizes()).toEqual([3]);
    store.finish();
    expect(await answers).toEqual(["a", "b", "c"].map((name) => answerTo(of(name))));
  });

  test("gathers the next batch while one is being written", async () => {
    const { store, commit } = setup();
    const first = commit.append(of("a"));
    await turn();
    const later = [commit.append(of("b")), commit.append(of("c"))];
    await turn();
    later.push(commit.append(of("d")));
    await turn();
    expect(store.sizes()).toEqual([1]);
    store.finish();
    await first;
    await vi.waitFor(() => expect(store.sizes()).toEqual([1, 3]), 10_000);
    expect(store.batches[1]?.map(({ tenant }) => tenant)).toEqual(["b", "c", "d"]);
    store.finish();
    await Promise.all(later);
  });

  test("hands the quota on", async () => {
    const quotas: (number | null)[] = [];
    const store = {
      isDataError: () => false,
      async appendEvents(batch: AppendRequest[], quota: number | null) {
        quotas.push(quota);
        return batch.map(answerTo);
      },
    };
    await createGroupCommit({ store, quota: 7 }).append(of("a"));
    await createGroupCommit({ store, quota: null }).append(of("a"));
    expect(quotas).toEqual([7, null]);
  });

  test("keeps to the limits of a batch, in order, and writes what is larger alone", async () => {
    const sizes = fc.array(fc.array(fc.nat({ max: 50 }), { minLength: 1, maxLength: 6 }), {
      minLength: 1,
      maxLength: 30,
    });
    const limits = fc.record({
      maxEvents: fc.integer({ min: 1, max: 8 }),
      maxBytes: fc.integer({ min: 1, max: 120 }),
    });
    await fc.assert(
      fc.asyncProperty(sizes, limits, async (arrivals, { maxEvents, maxBytes }) => {
        const store = createPickyStore(() => false);
        const commit = createGroupCommit({ store, quota: null, soon, maxEvents, maxBytes });
        await Promise.all(arrivals.map((bytes, at) => commit.append(of(`${at}`, bytes))));

        expect(store.batches.flat().map(({ tenant }) => tenant)).toEqual(
          arrivals.map((_, at) => `${at}`),
        );
        const events = (batch: AppendRequest[]) => batch.flatMap((one) => one.events);
        const bytes = (batch: AppendRequest[]) =>
          events(batch).reduce((sum, { body }) => sum + body.byteLength, 0);
        const fits = (batch: AppendRequest[]) =>
          events(batch).length <= maxEvents && bytes(batch) <= maxBytes;
        for (const [at, batch] of store.batches.entries()) {
          expect(batch.length === 1 || fits(batch)).toBe(true);
          // No batch was closed that had room for what followed.
          const next = store.batches[at + 1]?.[0];
          if (next) expect(fits([...batch, next])).toBe(false);
        }
      }),
    );
  });

  test("answers all of a batch with the error of an outage, and goes on with the next", async () => {
    const { store, commit } = setup();
    const outage = new Error("disk full");
    const lost = ["a", "b"].map((name) => commit.append(of(name)));
    await turn();
    const later = commit.append(of("c"));
    store.fail(outage);
    expect(await Promise.allSettled(lost)).toEqual([
      { status: "rejected", reason: outage },
      { status: "rejected", reason: outage },
    ]);
    await vi.waitFor(() => expect(store.sizes()).toEqual([2, 1]), 10_000);
    store.finish();
    expect(await later).toEqual(answerTo(of("c")));
  });

  test("fails only for the arrivals that are at fault, each with its own error", async () => {
    const bad = fc.uniqueArray(fc.nat({ max: 40 }), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(bad, fc.integer({ min: 1, max: 40 }), async (bad, count) => {
        const store = createPickyStore(({ tenant }) => bad.includes(Number(tenant)));
        const commit = createGroupCommit({ store, quota: null, soon });
        const answers = await Promise.allSettled(
          Array.from({ length: count }, (_, at) => commit.append(of(`${at}`))),
        );
        for (const [at, answer] of answers.entries())
          if (bad.includes(at))
            expect(answer).toMatchObject({ status: "rejected", reason: { message: `bad: ${at}` } });
          else expect(answer).toEqual({ status: "fulfilled", value: answerTo(of(`${at}`)) });
      }),
    );
  });

  test("finds one bad arrival in a large batch with few writes", async () => {
    const store = createPickyStore(({ tenant }) => tenant === "77");
    const commit = createGroupCommit({ store, quota: null, soon });
    await Promise.allSettled(Array.from({ length: 256 }, (_, at) => commit.append(of(`${at}`))));
    expect(store.batches.length).toBeLessThan(20);
  });

  test("tells the size of each batch that was written, and of no other", async () => {
    const sizes: number[] = [];
    const store = createPickyStore(({ tenant }) => tenant === "b");
    const commit = createGroupCommit({
      store,
      quota: null,
      soon,
      onBatch: (size) => sizes.push(size),
    });
    await Promise.allSettled(["a", "b"].map((name) => commit.append(of(name))));
    await Promise.all(["c", "d"].map((name) => commit.append(of(name))));
    expect(sizes).toEqual([1, 2]);
  });

  test("works without a host's help", async () => {
    const commit = createGroupCommit({ store: createPickyStore(() => false), quota: null });
    expect(await commit.append(of("a"))).toEqual(answerTo(of("a")));
  });
});

describe("draining", () => {
  test("ends when all that was handed in has been answered, and not before", async () => {
    const { store, commit } = setup({ maxEvents: 1 });
    const answered: string[] = [];
    for (const name of ["a", "b", "c"])
      void commit.append(of(name)).then(() => answered.push(name));
    let drained = false;
    const drain = commit.drain().then(() => {
      drained = true;
    });
    for (const name of ["a", "b", "c"]) {
      while (store.batches.at(-1)?.[0]?.tenant !== name) await turn();
      expect(drained).toBe(false);
      store.finish();
    }
    await drain;
    expect(answered).toEqual(["a", "b", "c"]);
  });

  test("ends also when what was handed in failed", async () => {
    const { store, commit } = setup();
    const lost = commit.append(of("a"));
    const settled = expect(lost).rejects.toThrow("disk full");
    await turn();
    const drain = commit.drain();
    store.fail(new Error("disk full"));
    await drain;
    await settled;
  });

  test("ends at once when there is nothing", async () => {
    await setup().commit.drain();
  });
});
