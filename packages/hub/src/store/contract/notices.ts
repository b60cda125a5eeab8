import { expect, vi } from "vitest";
import { arrival, keep, START, sampleEvent, sampleEvents } from "./sample.ts";
import type { It, Subject } from "./subject.ts";

/** Notices come in the order of the commits: when this one has come, so have all before it. */
async function heardUntilNow({ store, heard }: Subject) {
  await keep(store, [sampleEvent()], "the end");
  return await vi.waitFor(async () => {
    const notices = await heard();
    const end = notices.findIndex((one) => one.topic === "events" && one.tenant === "the end");
    expect(end).not.toBe(-1);
    return notices.slice(0, end);
  });
}

export function noticesContract(it: It): void {
  it("tell of what was committed: whose log, and how far it goes now", async (subject) => {
    const { store } = subject;
    await store.appendEvents(
      [
        arrival(sampleEvents(2)),
        arrival([sampleEvent()], "umbrella's 'own'"),
        arrival([sampleEvent()]),
      ],
      null,
    );
    await keep(store, [sampleEvent()]);
    const notices = await heardUntilNow(subject);
    const of = (tenant: string) =>
      notices.filter((one) => one.topic === "events" && one.tenant === tenant);
    expect(of("acme")).toEqual([
      { topic: "events", tenant: "acme", seq: 3 },
      { topic: "events", tenant: "acme", seq: 4 },
    ]);
    expect(of("umbrella's 'own'")).toEqual([
      { topic: "events", tenant: "umbrella's 'own'", seq: 1 },
    ]);
  });

  it("say nothing of duplicates, refusals, failures and work on events", async (subject) => {
    const { store } = subject;
    const event = sampleEvent({ external_id: "one" });
    await store.appendEvents([arrival([event])], 1);
    await store.appendEvents([arrival([sampleEvent({ external_id: "one" })])], 1);
    await store.appendEvents([arrival([sampleEvent()])], 1);
    await store.appendEvents([arrival([{ ...sampleEvent(), id: event.id }])], null).catch(() => {});
    await store.claimEvents({ tenant: "acme", by: "ada", limit: 1, now: START, until: START + 1 });
    await store.markProcessed("acme", [event.id], START, null);
    await store.sweep({ now: START, processedFor: 0, pendingFor: 0, maxBytes: 0, limit: 10 });
    expect(await heardUntilNow(subject)).toEqual([{ topic: "events", tenant: "acme", seq: 1 }]);
  });
}
