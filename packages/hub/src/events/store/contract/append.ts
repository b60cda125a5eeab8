import { expect } from "vitest";
import type { It } from "../../../kernel/store/contract/subject.ts";
import { allNotices } from "./all-notices.ts";
import {
  allEvents,
  appendEvents,
  appendRequest,
  itemAt,
  newRow,
  sampleEvent,
  sampleEvents,
  seqsOf,
} from "./sample.ts";

export function appendContract(it: It): void {
  it("stores every field of an event, and starts the seq at 1", async ({ store }) => {
    const full = sampleEvent({
      check_result: { conclusion: null, head_branch: 'ünï"code', head_sha: "abc" },
    });
    const minimal = sampleEvent({
      external_id: null,
      action: null,
      repo: null,
      sender: null,
      number: null,
      title: null,
      url: null,
    });
    const [first, second] = await store.appendEvents(
      [appendRequest([full]), appendRequest([minimal])],
      null,
    );

    expect(first).toEqual({
      outcome: "stored",
      events: [{ id: full.id, seq: 1, duplicate: false }],
    });
    expect(second).toEqual({
      outcome: "stored",
      events: [{ id: minimal.id, seq: 2, duplicate: false }],
    });
    expect(await store.getEvent("acme", full.id)).toEqual(newRow(full, 1));
    expect(await store.getEvent("acme", minimal.id)).toEqual(newRow(minimal, 2));
  });

  it("numbers the events of each tenant separately", async ({ store }) => {
    expect(await appendEvents(store, sampleEvents(2), "acme")).toEqual([1, 2]);
    expect(await appendEvents(store, sampleEvents(1), "umbrella")).toEqual([1]);
    expect(await appendEvents(store, sampleEvents(1), "acme")).toEqual([3]);
  });

  it("stores events durably, and continues the seq after a restart", async ({ store, reopen }) => {
    const event = sampleEvent();
    await appendEvents(store, [event]);
    const reopened = await reopen();
    expect(await reopened.getEvent("acme", event.id)).toEqual(newRow(event, 1));
    expect(await appendEvents(reopened, [sampleEvent()])).toEqual([2]);
  });

  it("stores a delivery id once, within and across requests and batches", async ({ store }) => {
    const original = sampleEvent({ external_id: "one" });
    const redelivery = () => sampleEvent({ external_id: "one", title: "other" });
    const duplicate = { id: original.id, seq: 1, duplicate: true };

    const [stored, later] = await store.appendEvents(
      [appendRequest([original, redelivery()]), appendRequest([redelivery()])],
      null,
    );
    expect(stored).toEqual({
      outcome: "stored",
      events: [{ id: original.id, seq: 1, duplicate: false }, duplicate],
    });
    expect(later).toEqual({ outcome: "duplicate", events: [duplicate] });
    expect(await store.appendEvents([appendRequest([redelivery(), redelivery()])], null)).toEqual([
      { outcome: "duplicate", events: [duplicate, duplicate] },
    ]);
    expect(await allEvents(store)).toEqual([newRow(original, 1)]);
    expect(await store.getTenant("acme")).toMatchObject({ seq: 1, pending: 1 });
  });

  it("distinguishes new events from duplicates within one request", async ({ store }) => {
    const original = sampleEvent();
    await appendEvents(store, [original]);
    const newEvents = sampleEvents(2);
    const redelivery = { ...sampleEvent(), external_id: original.external_id };
    expect(
      await store.appendEvents(
        [appendRequest([itemAt(newEvents, 0), redelivery, itemAt(newEvents, 1)])],
        null,
      ),
    ).toEqual([
      {
        outcome: "stored",
        events: [
          { id: newEvents[0]?.id, seq: 2, duplicate: false },
          { id: original.id, seq: 1, duplicate: true },
          { id: newEvents[1]?.id, seq: 3, duplicate: false },
        ],
      },
    ]);
  });

  it("stores the same delivery id once for each endpoint and tenant", async ({ store }) => {
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
    const pairs: [string, string][] = [
      ["a", "b\nc"],
      ["a\nb", "c"],
      ["a ", "b"],
      ["a", " b"],
    ];
    const events = pairs.map(([source_id, external_id]) => sampleEvent({ source_id, external_id }));
    expect(await appendEvents(store, events)).toEqual([1, 2, 3, 4]);
  });

  it("never treats events without a delivery id as duplicates", async ({ store }) => {
    const pair = () => sampleEvents(2, () => ({ external_id: null, title: "the same" }));
    await store.appendEvents([appendRequest(pair()), appendRequest(pair())], null);
    await appendEvents(store, pair());
    expect(await allEvents(store)).toHaveLength(6);
  });

  it("changes nothing when a processed event is delivered again", async ({ store, notices }) => {
    const event = sampleEvent({ external_id: "one" });
    await appendEvents(store, [event]);
    await store.claimEvents({ tenant: "acme", by: "agent", limit: 1, now: 1, until: 2 });
    await store.markProcessed("acme", [event.id], 77, "fixed");
    const noticesOfAcme = async (marker: string) =>
      (await allNotices({ store, notices }, marker)).filter(
        (notice) => notice.topic !== "events" || notice.tenant === "acme",
      );
    const before = {
      row: await store.getEvent("acme", event.id),
      tenant: await store.getTenant("acme"),
      payload: await store.getPayload("acme", 1),
      notices: await noticesOfAcme("before"),
    };
    expect(before.row).toMatchObject({ processed: true, processed_at: 77, note: "fixed" });

    const redelivery = sampleEvent({ external_id: "one", body: new Uint8Array(3), type: "other" });
    expect(await store.appendEvents([appendRequest([redelivery])], null)).toEqual([
      { outcome: "duplicate", events: [{ id: event.id, seq: 1, duplicate: true }] },
    ]);
    expect({
      row: await store.getEvent("acme", event.id),
      tenant: await store.getTenant("acme"),
      payload: await store.getPayload("acme", 1),
      notices: await noticesOfAcme("after"),
    }).toEqual(before);
    expect(await store.pendingStatus("acme")).toMatchObject({ pending_count: 0, types: {} });
  });

  it("assigns each seq once in concurrent calls", async ({ store }) => {
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        store.appendEvents(
          [
            appendRequest(sampleEvents(1 + (index % 3))),
            appendRequest(sampleEvents(1), `tenant-${index % 4}`),
          ],
          null,
        ),
      ),
    );
    const seqs = results.flatMap(([appended]) => seqsOf(appended));
    const rows = await allEvents(store);
    expect(seqs.toSorted((a, b) => a - b)).toEqual(rows.map(({ seq }) => seq));
    expect(rows.map(({ seq }) => seq)).toEqual(seqs.map((_, index) => index + 1));
    for (const tenant of ["tenant-0", "tenant-1", "tenant-2", "tenant-3"])
      expect((await allEvents(store, tenant)).map(({ seq }) => seq)).toEqual(
        Array.from({ length: 10 }, (_, index) => index + 1),
      );
  });

  it("stores SQL, quotes and Unicode in any field unchanged", async ({ store }) => {
    const texts = [
      "'; DROP TABLE events; --",
      '"quoted" `ticked` $1 ? ?1 :name @p',
      "emoji 🚂👩‍👩‍👧 and ünïcödé, عربى, 漢字",
      "tab\tand\nline\r\nbreaks",
      "back\\slash \\' %s %_ {}",
      "x".repeat(2_000),
      "\u2028\u2029\ufeff\u200b",
    ];
    for (const text of texts) {
      const event = sampleEvent({
        external_id: text,
        type: text.slice(0, 200),
        source: text,
        source_id: text,
        action: text,
        sender: text,
        repo: text.slice(0, 200),
        title: text,
        url: text,
      });
      await appendEvents(store, [event], text);
      expect(await store.getEvent(text, event.id)).toMatchObject({
        tenant: text,
        external_id: text,
        source_id: text,
        title: text,
      });
      expect(
        await appendEvents(store, [{ ...sampleEvent(), external_id: text, source_id: text }], text),
      ).toEqual([1]);
      expect((await store.pendingStatus(text)).types).toEqual({ [text.slice(0, 200)]: 1 });
      const query = {
        tenant: text,
        limit: 10,
        type: event.type,
        repo: event.repo ?? "",
        source: text,
      };
      expect((await store.listEvents(query)).items).toHaveLength(1);
      expect(await store.markProcessed(text, [event.id, "' OR '1'='1"], 5, text)).toEqual({
        marked: [event.id],
        alreadyProcessed: [],
        unknown: ["' OR '1'='1"],
      });
      expect((await store.getEvent(text, event.id))?.note).toBe(text);
    }
  });

  it("stores an event whose title has a lone surrogate", async ({ store }) => {
    const event = sampleEvent({ title: "half \ud83d of a pair" });
    await appendEvents(store, [event]);
    expect((await store.getEvent("acme", event.id))?.title).toMatch(/^half .+ of a pair$/s);
  });
}
