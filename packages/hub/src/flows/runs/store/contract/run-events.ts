import { expect } from "vitest";
import {
  appendEvents,
  itemAt,
  START,
  sampleEvent,
  sampleEvents,
} from "../../../../events/store/contract/sample.ts";
import type { It } from "../../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../../store.ts";
import {
  claim,
  claimExactly,
  failed,
  LEASE,
  lease,
  sampleRun,
  sampleRuns,
  save,
} from "./run-sample.ts";

const statusOf = async (store: Store, event: { id: string }) => {
  const row = await store.getEvent("acme", event.id);
  return [row?.trigger_status, row?.last_triggered_at];
};

export function runEventsContract(it: It): void {
  it("have the combined status of their runs", async ({ store }) => {
    const [event, other] = sampleEvents(2);
    await appendEvents(store, [event, other]);
    expect(await statusOf(store, event)).toEqual([null, null]);
    const runs = sampleRuns(3, () => ({ event_id: event.id }));
    await store.queueRuns(runs);
    expect(await statusOf(store, event)).toEqual(["pending", null]);

    const [first] = await claimExactly(store, 1, { limit: 1, now: START + 1 });
    expect(await statusOf(store, event)).toEqual(["running", START + 1]);
    await save(store, [first]);
    expect(await statusOf(store, event)).toEqual(["running", START + 1]);
    const [second, third] = await claimExactly(store, 2, { now: START + 2 });
    await save(store, [second], { next: { status: "waiting", due_at: START + 3 } });
    await save(store, [third]);
    expect(await statusOf(store, event)).toEqual(["running", START + 2]);
    const [reclaimed] = await claimExactly(store, 1, { now: START + 3 });
    await save(store, [reclaimed]);
    expect(await statusOf(store, event)).toEqual(["succeeded", START + 2]);
    expect(await statusOf(store, other)).toEqual([null, null]);
  });

  it("are failed if a run failed or was cancelled, until it is retried", async ({ store }) => {
    const event = sampleEvent();
    await appendEvents(store, [event]);
    const [failing, cancelled] = sampleRuns(2, () => ({ event_id: event.id }));
    await store.queueRuns([failing, cancelled]);
    const [first] = await claimExactly(store, 1, { limit: 1 });
    await save(store, [first], { next: failed });
    expect(await statusOf(store, event)).toEqual(["running", START]);
    await store.cancelRun("acme", cancelled.id, START);
    expect(await statusOf(store, event)).toEqual(["failed", START]);
    await store.retryRun("acme", failing.id, START);
    await store.retryRun("acme", cancelled.id, START);
    expect(await statusOf(store, event)).toEqual(["pending", START]);
    await save(store, await claim(store, { now: START + 4 }));
    expect(await statusOf(store, event)).toEqual(["succeeded", START + 4]);
    // The status does not change when the runs are removed.
    await store.sweepRuns(START * 2, 99);
    expect(await statusOf(store, event)).toEqual(["succeeded", START + 4]);
  });

  it("change their status when a worker dies or releases its runs", async ({ store }) => {
    const event = sampleEvent();
    await appendEvents(store, [event]);
    const started = await store.startRun(sampleRun({ event_id: event.id }), lease());
    expect(await statusOf(store, event)).toEqual(["running", START]);
    await store.releaseRuns("ada", START);
    expect(await statusOf(store, event)).toEqual(["pending", START]);
    await claim(store, { by: "bob" });
    expect(await statusOf(store, event)).toEqual(["running", START]);
    const [last] = await claimExactly(store, 1, { by: "cy", now: START + LEASE });
    expect(last.run.id).toBe(started?.run.id);
    await save(store, [last], { next: failed });
    expect(await statusOf(store, event)).toEqual(["failed", START]);
  });

  it("are not changed by runs of another tenant", async ({ store }) => {
    const event = sampleEvent();
    await appendEvents(store, [event]);
    await store.queueRuns([sampleRun({ tenant: "umbrella", event_id: event.id })]);
    await save(store, await claim(store));
    expect(await statusOf(store, event)).toEqual([null, null]);
    expect(await store.listRuns({ tenant: "acme", limit: 9, event: event.id })).toEqual([]);
  });

  it("change their status in batches of hundreds, and have no runs after their removal", async ({
    store,
  }) => {
    const events = sampleEvents(150);
    await appendEvents(store, events);
    await store.queueRuns(events.map(({ id }) => sampleRun({ event_id: id })));
    await save(store, await claim(store, { limit: 150 }));
    expect(await statusOf(store, itemAt(events, 0))).toEqual(["succeeded", START]);
    expect(await statusOf(store, itemAt(events, 149))).toEqual(["succeeded", START]);
    await store.markProcessed("acme", [itemAt(events, 0).id], START, null);
    await store.sweep({ now: START, processedFor: 0, pendingFor: 1e12, maxBytes: 1e12, limit: 9 });
    const event = itemAt(events, 0).id;
    expect(await store.listRuns({ tenant: "acme", limit: 9, event })).toEqual([]);
  });

  it("have no verdicts if they were stored without a plan", async ({ store }) => {
    const event = sampleEvent();
    await appendEvents(store, [event]);
    expect(await store.listVerdicts("acme", event.id)).toEqual([]);
    expect(await store.listVerdicts("acme", "unknown")).toEqual([]);
  });
}
