import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import type { AppendRequest, AppendResult } from "../../events/model.ts";
import { appendRequest, sampleEvents } from "../../events/store/contract/sample.ts";
import { createGroupCommit, type GroupCommitOptions } from "./group-commit.ts";

/** A store whose writes end when the test calls `finish` or `fail`. Each result names its tenant. */
function createSlowStore() {
  const batches: AppendRequest[][] = [];
  const pending: PromiseWithResolvers<void>[] = [];
  return {
    batches,
    sizes: () => batches.map((batch) => batch.length),
    async appendEvents(batch: AppendRequest[]): Promise<AppendResult[]> {
      batches.push(batch);
      const write = Promise.withResolvers<void>();
      pending.push(write);
      await write.promise;
      return batch.map(resultOf);
    },
    isDataError: (error: unknown) => error instanceof RangeError,
    finish: () => pending.shift()?.resolve(),
    fail: (error: Error) => pending.shift()?.reject(error),
  };
}

/** A store that writes immediately, but rejects batches that contain a bad request. */
function createStrictStore(isBad: (request: AppendRequest) => boolean) {
  const store = {
    ...createSlowStore(),
    async appendEvents(batch: AppendRequest[]): Promise<AppendResult[]> {
      store.batches.push(batch);
      if (batch.some(isBad))
        throw new RangeError(`bad: ${batch.filter(isBad).map(({ tenant }) => tenant)}`);
      return batch.map(resultOf);
    },
  };
  return store;
}

const resultOf = ({ tenant }: AppendRequest): AppendResult => ({
  outcome: "duplicate",
  events: [{ id: tenant, seq: 1, duplicate: true }],
});

const requestOf = (tenant: string, bytes = [10]): AppendRequest =>
  appendRequest(
    sampleEvents(bytes.length, (at) => ({ body: new Uint8Array(bytes[at] ?? 0) })),
    tenant,
  );

const defer = (work: () => void) => void setImmediate(work);
/** Resolves after the deferred work has run. */
const runDeferred = () => new Promise<void>((resolve) => setImmediate(resolve));

function setup(options: Partial<GroupCommitOptions<AppendRequest, AppendResult>> = {}) {
  const store = createSlowStore();
  return { store, commit: createGroupCommit({ store, quota: null, defer, ...options }) };
}

describe("group commit", () => {
  test("writes requests that arrive together in one batch, and returns each its own result", async () => {
    const { store, commit } = setup();
    const results = Promise.all(["a", "b", "c"].map((name) => commit.append(requestOf(name))));
    await runDeferred();
    expect(store.sizes()).toEqual([3]);
    store.finish();
    expect(await results).toEqual(["a", "b", "c"].map((name) => resultOf(requestOf(name))));
  });

  test("collects the next batch while one is being written", async () => {
    const { store, commit } = setup();
    const first = commit.append(requestOf("a"));
    await runDeferred();
    const later = [commit.append(requestOf("b")), commit.append(requestOf("c"))];
    await runDeferred();
    later.push(commit.append(requestOf("d")));
    await runDeferred();
    expect(store.sizes()).toEqual([1]);
    store.finish();
    await first;
    await vi.waitFor(() => expect(store.sizes()).toEqual([1, 3]), 60_000);
    expect(store.batches[1]?.map(({ tenant }) => tenant)).toEqual(["b", "c", "d"]);
    store.finish();
    await Promise.all(later);
  });

  test("passes the quota to the store", async () => {
    const quotas: (number | null)[] = [];
    const store = {
      isDataError: () => false,
      async appendEvents(batch: AppendRequest[], quota: number | null) {
        quotas.push(quota);
        return batch.map(resultOf);
      },
    };
    await createGroupCommit({ store, quota: 7 }).append(requestOf("a"));
    await createGroupCommit({ store, quota: null }).append(requestOf("a"));
    expect(quotas).toEqual([7, null]);
  });

  test("fills batches in order up to the limits, and writes a larger request alone", async () => {
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
        const store = createStrictStore(() => false);
        const commit = createGroupCommit({ store, quota: null, defer, maxEvents, maxBytes });
        await Promise.all(arrivals.map((bytes, at) => commit.append(requestOf(`${at}`, bytes))));

        expect(store.batches.flat().map(({ tenant }) => tenant)).toEqual(
          arrivals.map((_, at) => `${at}`),
        );
        const events = (batch: AppendRequest[]) => batch.flatMap((request) => request.events);
        const bytes = (batch: AppendRequest[]) =>
          events(batch).reduce((sum, { body }) => sum + body.byteLength, 0);
        const fits = (batch: AppendRequest[]) =>
          events(batch).length <= maxEvents && bytes(batch) <= maxBytes;
        for (const [at, batch] of store.batches.entries()) {
          expect(batch.length === 1 || fits(batch)).toBe(true);
          // Each batch was filled: the next request would have exceeded a limit.
          const next = store.batches[at + 1]?.[0];
          if (next) expect(fits([...batch, next])).toBe(false);
        }
      }),
    );
  });

  test("rejects the whole batch on an outage, and writes the next batch", async () => {
    const { store, commit } = setup();
    const outage = new Error("disk full");
    const failed = ["a", "b"].map((name) => commit.append(requestOf(name)));
    await runDeferred();
    const later = commit.append(requestOf("c"));
    store.fail(outage);
    expect(await Promise.allSettled(failed)).toEqual([
      { status: "rejected", reason: outage },
      { status: "rejected", reason: outage },
    ]);
    await vi.waitFor(() => expect(store.sizes()).toEqual([2, 1]), 60_000);
    store.finish();
    expect(await later).toEqual(resultOf(requestOf("c")));
  });

  test("rejects only the requests that cause a data error, each with its own error", async () => {
    const bad = fc.uniqueArray(fc.nat({ max: 40 }), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(bad, fc.integer({ min: 1, max: 40 }), async (bad, count) => {
        const store = createStrictStore(({ tenant }) => bad.includes(Number(tenant)));
        const commit = createGroupCommit({ store, quota: null, defer });
        const results = await Promise.allSettled(
          Array.from({ length: count }, (_, at) => commit.append(requestOf(`${at}`))),
        );
        for (const [at, result] of results.entries())
          if (bad.includes(at))
            expect(result).toMatchObject({ status: "rejected", reason: { message: `bad: ${at}` } });
          else expect(result).toEqual({ status: "fulfilled", value: resultOf(requestOf(`${at}`)) });
      }),
    );
  });

  test("finds one bad request in a large batch with few writes", async () => {
    const store = createStrictStore(({ tenant }) => tenant === "77");
    const commit = createGroupCommit({ store, quota: null, defer });
    await Promise.allSettled(
      Array.from({ length: 256 }, (_, at) => commit.append(requestOf(`${at}`))),
    );
    expect(store.batches.length).toBeLessThan(20);
  });

  test("reports the size of each batch that was written, but not of failed batches", async () => {
    const sizes: number[] = [];
    const store = createStrictStore(({ tenant }) => tenant === "b");
    const commit = createGroupCommit({
      store,
      quota: null,
      defer,
      onBatch: (size) => sizes.push(size),
    });
    await Promise.allSettled(["a", "b"].map((name) => commit.append(requestOf(name))));
    await Promise.all(["c", "d"].map((name) => commit.append(requestOf(name))));
    expect(sizes).toEqual([1, 2]);
  });

  test("writes requests without the option `defer`", async () => {
    const commit = createGroupCommit({ store: createStrictStore(() => false), quota: null });
    expect(await commit.append(requestOf("a"))).toEqual(resultOf(requestOf("a")));
  });
});

describe("drain", () => {
  test("resolves only when every request has its result", async () => {
    const { store, commit } = setup({ maxEvents: 1 });
    const written: string[] = [];
    for (const name of ["a", "b", "c"])
      void commit.append(requestOf(name)).then(() => written.push(name));
    let drained = false;
    const drain = commit.drain().then(() => {
      drained = true;
    });
    for (const name of ["a", "b", "c"]) {
      while (store.batches.at(-1)?.[0]?.tenant !== name) await runDeferred();
      expect(drained).toBe(false);
      store.finish();
    }
    await drain;
    expect(written).toEqual(["a", "b", "c"]);
  });

  test("resolves when the last batch failed", async () => {
    const { store, commit } = setup();
    const settled = expect(commit.append(requestOf("a"))).rejects.toThrow("disk full");
    await runDeferred();
    const drain = commit.drain();
    store.fail(new Error("disk full"));
    await drain;
    await settled;
  });

  test("waits for a request whose payload is still being compressed", async () => {
    const packing = Promise.withResolvers<void>();
    const store = {
      ...createSlowStore(),
      packLarge: <Request>(request: Request) => packing.promise.then(() => request),
    };
    const { commit } = setup({ store });
    const done: string[] = [];
    const append = commit.append(requestOf("a")).then(() => done.push("stored"));
    const drain = commit.drain().then(() => done.push("drained"));
    await runDeferred();
    expect(done).toEqual([]);
    packing.resolve();
    while (store.batches.length === 0) await runDeferred();
    expect(done).toEqual([]);
    store.finish();
    await Promise.all([append, drain]);
    expect(done).toEqual(["stored", "drained"]);
  });

  test("resolves when a payload could not be compressed", async () => {
    const store = {
      ...createSlowStore(),
      packLarge: () => Promise.reject(new Error("out of memory")),
    };
    const { commit } = setup({ store });
    const settled = expect(commit.append(requestOf("a"))).rejects.toThrow("out of memory");
    await commit.drain();
    await settled;
  });

  test("resolves immediately when nothing was appended", async () => {
    await setup().commit.drain();
  });
});
