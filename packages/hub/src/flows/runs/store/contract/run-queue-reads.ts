import { expect } from "vitest";
import { itemAt, START } from "../../../../events/store/contract/sample.ts";
import type { It } from "../../../../kernel/store/contract/subject.ts";
import { MAX_RUN_WAITS, type RunWait } from "../../model.ts";
import { claimExactly, FAR, LEASE, sampleRun, sampleRuns, save, succeeded } from "./run-sample.ts";

const waitOf = (overrides: Partial<RunWait & { tenant: string }> = {}) => ({
  tenant: "acme",
  app: "desk",
  flow_id: "a flow",
  kind: "response" as const,
  target: "https://api.example",
  runs: 2,
  since: START - 5,
  run_ids: ["r1", "r2"],
  ...overrides,
});

export function runQueueReadsContract(it: It): void {
  it("counts the due runs of each flow, up to a maximum, with the time of the oldest", async ({
    store,
  }) => {
    await store.queueRuns([
      ...sampleRuns(5, (index) => ({ at: START + index, due_at: START + index })),
      sampleRun({ app: "shop", flow_id: "b", due_at: START + 3 }),
      sampleRun({ flow_id: "later", due_at: FAR }),
      sampleRun({ tenant: "umbrella", due_at: START + 2 }),
    ]);
    const flow = { app: "desk", flow_id: "a flow", flow_name: null, held: 0 };
    const shop = { app: "shop", flow_id: "b", flow_name: null, queued: 1, held: 0 };
    expect(await store.readQueue("acme", START + 9, 99)).toEqual({
      flows: [
        { ...flow, queued: 5, since: START },
        { ...shop, since: START + 3 },
      ],
      more_flows: false,
      more_held_flows: false,
      waits: [],
      more_waits: false,
    });
    const { flows } = await store.readQueue("acme", START + 2, 2);
    expect(flows).toEqual([{ ...flow, queued: 2, since: START }]);
    expect(await store.measureQueues(START + 9, 3)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ tenant: "acme", queued: 3, since: START }),
        expect.objectContaining({ tenant: "acme", queued: 1, since: START + 3 }),
        expect.objectContaining({ tenant: "umbrella", queued: 1, since: START + 2 }),
      ]),
    );
    await claimExactly(store, 7, { now: START + 9 });
    expect(await store.readQueue("acme", START + 9, 99)).toMatchObject({ flows: [] });
    expect(await store.measureQueues(START + 9, 99)).toEqual([]);
  });

  it("counts held runs, and counts the time of an admitted one from its creation", async ({
    store,
  }) => {
    const limit = { lane: "l", max: 1, whenFull: "queue" } as const;
    await store.queueRuns(sampleRuns(3, () => ({ limit })));
    const [first] = await claimExactly(store, 1);
    const report = async () => itemAt((await store.readQueue("acme", START + LEASE, 99)).flows, 0);
    // A claim holds the runs for which the lane has no capacity.
    expect(await report()).toMatchObject({ queued: 0, held: 2, since: null });
    await save(store, [first], { next: succeeded });
    expect(await report()).toMatchObject({ queued: 1, held: 1, since: START });
  });

  it("counts the held runs of each flow, also of one behind a flow that holds more than the maximum", async ({
    store,
    sql,
  }) => {
    await store.queueRuns([
      ...sampleRuns(5, () => ({ flow_id: "a" })),
      sampleRun({ app: "shop", flow_id: "b" }),
      sampleRun({ tenant: "umbrella", flow_id: "c" }),
    ]);
    await sql("UPDATE runs SET status = 'held' RETURNING id");
    expect(await store.readQueue("acme", START, 3)).toMatchObject({
      flows: [
        { app: "desk", flow_id: "a", held: 3 },
        { app: "shop", flow_id: "b", held: 1 },
      ],
      more_held_flows: false,
    });
    await store.queueRuns(sampleRuns(99, (index) => ({ flow_id: `more ${index}` })));
    await sql("UPDATE runs SET status = 'held' RETURNING id");
    const { flows, more_held_flows } = await store.readQueue("acme", START, 3);
    expect([flows.length, more_held_flows]).toEqual([100, true]);
  });

  it("reads what workers report, of one tenant, until a report is replaced or old", async ({
    store,
  }) => {
    const limit = waitOf({ kind: "limit", runs: 3, run_ids: ["r5"] });
    await store.saveRunWaits("ada", START, [waitOf(), limit, waitOf({ tenant: "umbrella" })]);
    await store.saveRunWaits("bob", START, [waitOf({ since: START - 9, run_ids: ["r3"] })]);
    const { tenant: _, ...wait } = waitOf({ flow_id: "a flow" });
    const { tenant: __, ...limitWait } = limit;
    const named = { flow_name: null };
    const waitsOf = async (tenant: string, now = START + 5) =>
      (await store.readQueue(tenant, now, 99)).waits;
    const both = { ...wait, ...named, runs: 4, since: START - 9, run_ids: ["r1", "r2", "r3"] };
    expect(await waitsOf("acme")).toEqual([both, { ...limitWait, ...named }]);
    expect(await waitsOf("umbrella")).toEqual([{ ...wait, ...named }]);
    expect(await waitsOf("acme", START + 60_000)).toEqual([]);
    await store.saveRunWaits("ada", START + 5, []);
    expect(await waitsOf("acme")).toMatchObject([{ runs: 2, run_ids: ["r3"] }]);
    expect(await waitsOf("umbrella")).toEqual([]);
    // A worker also removes the reports of those that have stopped.
    await store.saveRunWaits("cy", START + 60_001, []);
    expect(await waitsOf("acme")).toEqual([]);
  });

  it("returns the largest groups that workers report, and that there are more", async ({
    store,
  }) => {
    const groups = (count: number) =>
      Array.from({ length: count }, (_, index) => waitOf({ target: `t${index}`, runs: index + 1 }));
    await store.saveRunWaits("ada", START, groups(MAX_RUN_WAITS));
    const read = () => store.readQueue("acme", START, 99);
    expect(await read()).toMatchObject({ waits: { length: MAX_RUN_WAITS }, more_waits: false });
    await store.saveRunWaits("bob", START, [waitOf({ runs: 1 })]);
    const { waits, more_waits } = await read();
    expect([waits.length, more_waits]).toEqual([MAX_RUN_WAITS, true]);
    expect(waits[0]).toMatchObject({ target: "t49", runs: 50 });
  });
}
