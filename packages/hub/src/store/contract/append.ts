import { expect } from "vitest";
import {
  allEvents,
  appendEvents,
  appendRequest,
  newRow,
  nth,
  sampleEvent,
  sampleEvents,
  seqsOf,
} from "./sample.ts";
import type { It } from "./subject.ts";

export function appendContract(it: It): void {
  it("stores every field of an event, with seq starting at 1", async ({ store }) => {
    const full = sampleEvent();
    const bare = sampleEvent({
      external_id: null,
      action: null,
      repo: null,
      sender: null,
      number: null,
      title: null,
      url: null,
    });
    const [first, second] = await store.appendEvents(
      [appendRequest([full]), appendRequest([bare])],
      null,
    );

    expect(first).toEqual({
      outcome: "stored",
      events: [{ id: full.id, seq: 1, duplicate: false }],
    });
    expect(second).toEqual({
      outcome: "stored",
      events: [{ id: bare.id, seq: 2, duplicate: false }],
    });
    expect(await store.getEvent("acme", full.id)).toEqual(newRow(full, 1));
    expect(await store.getEvent("acme", bare.id)).toEqual(newRow(bare, 2));
  });

  it("counts the seq of each tenant separately", async ({ store }) => {
    expect(await appendEvents(store, sampleEvents(2), "acme")).toEqual([1, 2]);
    expect(await appendEvents(store, sampleEvents(1), "umbrella")).toEqual([1]);
    expect(await appendEvents(store, sampleEvents(1), "acme")).toEqual([3]);
  });

  it("returns the stored events after a restart", async ({ store, reopen }) => {
    const event = sampleEvent();
    await appendEvents(store, [event]);
    const again = await reopen();
    expect(await again.getEvent("acme", event.id)).toEqual(newRow(event, 1));
    expect(await appendEvents(again, [sampleEvent()])).toEqual([2]);
  });

  it("stores a delivery once, in any combination of requests", async ({ store }) => {
    const original = sampleEvent({ external_id: "one" });
    const again = () => sampleEvent({ external_id: "one", title: "other" });
    const known = { id: original.id, seq: 1, duplicate: true };

    const [stored, later] = await store.appendEvents(
      [appendRequest([original, again()]), appendRequest([again()])],
      null,
    );
    expect(stored).toEqual({
      outcome: "stored",
      events: [{ id: original.id, seq: 1, duplicate: false }, known],
    });
    expect(later).toEqual({ outcome: "duplicate", events: [known] });
    expect(await store.appendEvents([appendRequest([again(), again()])], null)).toEqual([
      { outcome: "duplicate", events: [known, known] },
    ]);
    expect(await allEvents(store)).toEqual([newRow(original, 1)]);
    expect(await store.getTenant("acme")).toMatchObject({
      seq: 1,
      pending: 1,
      bytes: original.body.byteLength,
    });
  });

  it("distinguishes new events from duplicates within one request", async ({ store }) => {
    const known = sampleEvent();
    await appendEvents(store, [known]);
    const fresh = sampleEvents(2);
    const again = { ...sampleEvent(), external_id: known.external_id };
    expect(
      await store.appendEvents([appendRequest([nth(fresh, 0), again, nth(fresh, 1)])], null),
    ).toEqual([
      {
        outcome: "stored",
        events: [
          { id: fresh[0]?.id, seq: 2, duplicate: false },
          { id: known.id, seq: 1, duplicate: true },
          { id: fresh[1]?.id, seq: 3, duplicate: false },
        ],
      },
    ]);
  });

  it("treats the same delivery id on another endpoint or tenant as another event", async ({
    store,
  }) => {
    const event = () => sampleEvent({ external_id: "one" });
    await store.appendEvents(
      [
        appendRequest([event(), { ...event(), source_id: "other endpoint" }]),
        appendRequest([event()], "umbrella"),
      ],
      null,
    );
    await appendEvents(store, [{ ...event(), source_id: "third endpoint" }]);
    expect(await allEvents(store, "acme")).toHaveLength(3);
    expect(await allEvents(store, "umbrella")).toHaveLength(1);
  });

  it("distinguishes endpoints and ids whose concatenations are equal", async ({ store }) => {
    const tricky: [string, string][] = [
      ["a", "b\nc"],
      ["a\nb", "c"],
      ["a ", "b"],
      ["a", " b"],
    ];
    const events = tricky.map(([source_id, external_id]) =>
      sampleEvent({ source_id, external_id }),
    );
    expect(await appendEvents(store, events)).toEqual([1, 2, 3, 4]);
  });

  it("never treats events without a delivery id as duplicates", async ({ store }) => {
    const twins = () => sampleEvents(2, () => ({ external_id: null, title: "the same" }));
    await store.appendEvents([appendRequest(twins()), appendRequest(twins())], null);
    await appendEvents(store, twins());
    expect(await allEvents(store)).toHaveLength(6);
  });

  it("changes nothing when a processed event is delivered again", async ({ store, notices }) => {
    const event = sampleEvent({ external_id: "one" });
    await appendEvents(store, [event]);
    await store.claimEvents({ tenant: "acme", by: "agent", limit: 1, now: 1, until: 2 });
    await store.markProcessed("acme", [event.id], 77, "fixed");
    const before = {
      row: await store.getEvent("acme", event.id),
      tenant: await store.getTenant("acme"),
      payload: await store.getPayload("acme", 1),
      notices: await notices(),
    };
    expect(before.row).toMatchObject({ processed: true, processed_at: 77, note: "fixed" });

    const again = sampleEvent({ external_id: "one", body: new Uint8Array(3), type: "other" });
    expect(await store.appendEvents([appendRequest([again])], null)).toEqual([
      { outcome: "duplicate", events: [{ id: event.id, seq: 1, duplicate: true }] },
    ]);
    expect({
      row: await store.getEvent("acme", event.id),
      tenant: await store.getTenant("acme"),
      payload: await store.getPayload("acme", 1),
      notices: await notices(),
    }).toEqual(before);
    expect(await store.pendingStatus("acme")).toMatchObject({ pending_count: 0, types: {} });
  });

  it("assigns every seq once in concurrent appends", async ({ store }) => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        store.appendEvents(
          [
            appendRequest(sampleEvents(1 + (at % 3))),
            appendRequest(sampleEvents(1), `tenant-${at % 4}`),
          ],
          null,
        ),
      ),
    );
    const seqs = answers.flatMap(([appended]) => seqsOf(appended));
    const rows = await allEvents(store);
    expect(seqs.toSorted((a, b) => a - b)).toEqual(rows.map(({ seq }) => seq));
    expect(rows.map(({ seq }) => seq)).toEqual(seqs.map((_, at) => at + 1));
    for (const tenant of ["tenant-0", "tenant-1", "tenant-2", "tenant-3"])
      expect((await allEvents(store, tenant)).map(({ seq }) => seq)).toEqual(
        Array.from({ length: 10 }, (_, at) => at + 1),
      );
  });
}
