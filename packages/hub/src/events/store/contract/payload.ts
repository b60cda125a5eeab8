import { expect } from "vitest";
import { utf8 } from "../../../kernel/lib/bytes.ts";
import type { It } from "../../../kernel/store/contract/subject.ts";
import { appendEvents, appendRequest, DAY, itemAt, START, sampleEvent, seqsOf } from "./sample.ts";

const everyByte = Uint8Array.from({ length: 256 }, (_, index) => index);
/** Returns bytes that do not compress well. */
const noise = (length: number) =>
  Uint8Array.from({ length }, (_, index) => (Math.imul(index, 2_654_435_761) >>> 13) & 0xff);

const bodies: Record<string, Uint8Array> = {
  "of JSON": new TextEncoder().encode('{"title":"Grüße 🚂"}'),
  "that is empty": new Uint8Array(0),
  "that is not UTF-8": Uint8Array.of(0xff, 0xfe, 0x00, 0xc3, 0x28, 0x80),
  "of every byte": everyByte,
  "that is a view of a larger buffer": noise(1_000).subarray(100, 110),
  "that is an empty view of a larger buffer": noise(1_000).subarray(100, 100),
  "that looks like another engine's escape": new TextEncoder().encode("\\xdeadbeef"),
  "of 1 MiB": noise(1024 * 1024),
  // GitHub's limit. A Durable Object stores at most 2 MB per value.
  "of 25 MiB": noise(25 * 1024 * 1024),
};

const sha256 = async (bytes: Uint8Array) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", Uint8Array.from(bytes))).join();

export function payloadContract(it: It): void {
  for (const [description, body] of Object.entries(bodies))
    it(`returns a body ${description}, byte for byte`, async ({ store }) => {
      const event = sampleEvent({ body });
      const [seq = 0] = await appendEvents(store, [event]);
      const payload = await store.getPayload("acme", seq);
      if (!payload) throw new Error("there is no payload");
      expect(payload.body).toBeInstanceOf(Uint8Array);
      expect(payload.body.byteLength).toBe(body.byteLength);
      // The bodies are compared by hash, because a diff of megabytes would be slow.
      expect(await sha256(payload.body)).toBe(await sha256(body));
      expect(await store.getEvent("acme", event.id)).toMatchObject({ size: body.byteLength });
    });

  it("returns slices of a body that is not compressed", async ({ store }) => {
    const body = noise(5_000_000);
    const event = sampleEvent({ body });
    const [seq = 0] = await appendEvents(store, [event]);
    for (const [from, to] of [
      [0, 10],
      [1_899_000, 1_901_000], // spans two rows of a Durable Object
      [1_000_000, 4_500_000],
      [4_999_990, 6_000_000],
      [5_000_000, 5_000_010],
      [6_000_000, 6_000_010],
    ] as const) {
      const slice = await store.slicePayload("acme", seq, from, to);
      expect(slice).toMatchObject({ content_type: event.content_type, headers: event.headers });
      expect(await sha256(slice?.body ?? everyByte)).toBe(await sha256(body.subarray(from, to)));
    }
    expect(await store.slicePayload("umbrella", seq, 0, 10)).toBeUndefined();
  });

  it("returns a large body that was compressed before the transaction, next to other bodies", async ({
    store,
  }) => {
    const bodies = ["{}", `{"text":"${"lamp ".repeat(1_000_000)}"}`, "[]"];
    const request = appendRequest(bodies.map((text) => sampleEvent({ body: utf8(text) })));
    const [result] = await store.appendEvents([await store.packLarge(request)], null);
    if (itemAt((await store.packLarge(request)).events, 1).pack)
      expect(await store.slicePayload("acme", itemAt(seqsOf(result), 1), 0, 10)).toBeUndefined();
    for (const [at, seq] of seqsOf(result).entries()) {
      const payload = await store.getPayload("acme", seq);
      expect(payload?.headers).toEqual(itemAt(request.events, at).headers);
      expect(await sha256(payload?.body ?? utf8(""))).toBe(
        await sha256(itemAt(request.events, at).body),
      );
    }
  });

  it("returns each payload of a batch, small or large", async ({ store }) => {
    const events = Array.from({ length: 40 }, (_, index) =>
      sampleEvent({
        headers: { "x-index": String(index) },
        body:
          index % 13 === 12
            ? noise(70_000)
            : utf8(`{"index":${index},"text":"${"lamp ".repeat(2_000)}"}`),
      }),
    );
    const others = [sampleEvent({ body: utf8("{}") }), sampleEvent({ body: new Uint8Array(0) })];
    const [mine, theirs] = await store.appendEvents(
      [appendRequest(events), appendRequest(others, "umbrella")],
      null,
    );
    for (const [tenant, seqs, sent] of [
      ["acme", seqsOf(mine), events],
      ["umbrella", seqsOf(theirs), others],
    ] as const)
      for (const [index, seq] of seqs.entries()) {
        const payload = await store.getPayload(tenant, seq);
        expect(payload?.headers).toEqual(itemAt(sent, index).headers);
        expect(await sha256(payload?.body ?? everyByte)).toBe(
          await sha256(itemAt(sent, index).body),
        );
      }
  });

  it("returns a payload after other events of its pack were removed", async ({ store }) => {
    const events = Array.from({ length: 3 }, (_, index) =>
      sampleEvent({ body: utf8(`{"index":${index},"text":"${"lamp ".repeat(1_000)}"}`) }),
    );
    const seqs = await appendEvents(store, events);
    const sweep = () =>
      store.sweep({ now: START, processedFor: 0, pendingFor: 90 * DAY, maxBytes: 1e12, limit: 10 });
    for (const index of [1, 0]) {
      await store.markProcessed("acme", [itemAt(events, index).id], START, null);
      expect(await sweep()).toMatchObject({ processed: 1 });
      expect(await store.getPayload("acme", itemAt(seqs, index))).toBeUndefined();
      expect((await store.getPayload("acme", itemAt(seqs, 2)))?.body).toEqual(
        itemAt(events, 2).body,
      );
    }
    await store.markProcessed("acme", [itemAt(events, 2).id], START, null);
    expect(await sweep()).toMatchObject({ processed: 1 });
    expect(await store.getPayload("acme", itemAt(seqs, 2))).toBeUndefined();
  });

  it("returns content type and headers unchanged", async ({ store }) => {
    const event = sampleEvent({
      content_type: 'application/json; charset="utf-8"',
      headers: { "x-quote": `'"\\`, "x-unicode": "🚂\u2028ü", ["__proto__"]: "odd" },
    });
    const [seq = 0] = await appendEvents(store, [event]);
    const payload = await store.getPayload("acme", seq);
    expect(payload).toEqual({
      content_type: event.content_type,
      headers: event.headers,
      body: event.body,
    });
  });

  it("returns a payload only for its tenant and seq", async ({ store }) => {
    const [seq = 0] = await appendEvents(store, [sampleEvent()]);
    expect(await store.getPayload("acme", seq + 1)).toBeUndefined();
    expect(await store.getPayload("umbrella", seq)).toBeUndefined();
  });
}
