import { describe, expect, it } from "vitest";
import { appendRequest, sampleEvent } from "../../events/store/contract/sample.ts";
import { zstd } from "../backends/zstd.ts";
import { utf8 } from "../lib/bytes.ts";
import {
  createPacker,
  createPackLarge,
  FULL_BYTES,
  type PayloadPosition,
  payloadAt,
  unpack,
} from "./packs.ts";

const KILOBYTE = 1024;
const event = (bytes: number) =>
  sampleEvent({ body: new TextEncoder().encode("lamp ".repeat(bytes / 5)) });
const rowsOf = (codec: typeof zstd | undefined, sizes: number[], maxBlob = 1e9) => {
  const packer = createPacker({ codec, maxBlob, pageBytes: undefined });
  for (const [at, size] of sizes.entries()) packer.add("acme", at + 1, event(size));
  return packer.finish().map(([, seq, part, codecName, events, body]) => ({
    seq,
    part: part as number,
    codec: codecName as string,
    events,
    body: body as Uint8Array,
  }));
};

describe("packs", () => {
  it("contain the payloads of one commit, up to the maximum size", () => {
    const rows = rowsOf(zstd, new Array(26).fill(10 * KILOBYTE));
    expect(rows.map(({ seq, events }) => [seq, events])).toEqual([
      [1, 25],
      [26, 1],
    ]);
  });

  it("keep their contents when the buffer is reused", async () => {
    const packer = createPacker({ codec: zstd, maxBlob: 1e9, pageBytes: undefined });
    const characters = ["a", "b", "c", "d"];
    const positions = characters.map((character, at) =>
      packer.add("acme", at + 1, {
        ...sampleEvent(),
        body: new TextEncoder().encode(character.repeat(120 * KILOBYTE)),
      }),
    );
    const rows = packer.finish().map(([, seq, part, codec, , body]) => ({
      seq,
      part: part as number,
      codec: codec as string,
      body: body as Uint8Array,
    }));
    expect(rows.map(({ seq, codec }) => [seq, codec])).toEqual([
      [1, "zstd"],
      [3, "zstd"],
    ]);
    for (const [at, position] of positions.entries()) {
      const pack = rows.filter(({ seq }) => seq === position.pack);
      const { body } = payloadAt(await unpack(zstd, pack), {
        ...position,
        size: 120 * KILOBYTE,
      });
      expect(new TextDecoder().decode(body)).toBe(characters[at]?.repeat(120 * KILOBYTE));
    }
  });

  it("compress similar payloads", () => {
    const [row] = rowsOf(zstd, [10 * KILOBYTE, 10 * KILOBYTE, 10 * KILOBYTE]);
    expect(row?.codec).toBe("zstd");
    expect(row?.body.byteLength).toBeLessThan(1 * KILOBYTE);
  });

  it("store a single payload, or one that does not shrink, without compression", () => {
    expect(rowsOf(zstd, [10 * KILOBYTE])[0]?.codec).toBe("");
    const packer = createPacker({ codec: zstd, maxBlob: 1e9, pageBytes: undefined });
    for (const seq of [1, 2])
      packer.add("acme", seq, {
        ...sampleEvent(),
        headers: {},
        content_type: "",
        body: crypto.getRandomValues(new Uint8Array(10 * KILOBYTE)),
      });
    expect(packer.finish()[0]?.[3]).toBe("");
  });

  it("store a large payload in its own pack", () => {
    const rows = rowsOf(undefined, [KILOBYTE, 300 * KILOBYTE, KILOBYTE]);
    expect(rows.map(({ seq, events }) => [seq, events])).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
    ]);
  });

  it("are encoded before the transaction if they are large", async () => {
    const packLarge = createPackLarge({ codec: zstd });
    const small = appendRequest([event(KILOBYTE)]);
    expect(packLarge(small)).toBe(small);
    const large = appendRequest([event(KILOBYTE), event(900 * KILOBYTE), event(KILOBYTE)]);
    const packed = await packLarge(large);
    expect(packed.events.map(({ pack }) => pack?.codec)).toEqual([undefined, "zstd", undefined]);
    const packer = createPacker({ codec: zstd, maxBlob: 1e9, pageBytes: undefined });
    const positions = packed.events.map((packedEvent, at) =>
      packer.add("acme", at + 1, packedEvent),
    );
    const rows = packer.finish().map(([, seq, , codec, events, body]) => ({
      seq,
      events,
      codec: codec as string,
      body: body as Uint8Array,
    }));
    expect(rows.map(({ seq, events }) => [seq, events])).toEqual([
      [2, 1],
      [1, 2],
    ]);
    expect(rows[0]?.body.byteLength).toBeLessThan(10 * KILOBYTE);
    for (const [at, original] of large.events.entries()) {
      const position = positions[at] as PayloadPosition;
      const size = original.body.byteLength;
      const pack = rows.filter(({ seq }) => seq === position.pack);
      const unpacked = await unpack(zstd, pack, FULL_BYTES + size);
      const payload = payloadAt(unpacked, { ...position, size });
      expect(payload.headers).toEqual(original.headers);
      expect(Buffer.compare(payload.body, original.body)).toBe(0);
    }
  });

  it("are decoded in another thread if they are large", async () => {
    const contents = utf8("lamp ".repeat(100 * KILOBYTE));
    const rows = [{ codec: "zstd", body: await zstd.encodeLarge(contents) }];
    const unpacked = unpack(zstd, rows, contents.byteLength + 1);
    expect(unpacked).toBeInstanceOf(Promise);
    expect(Buffer.compare(await unpacked, contents)).toBe(0);
  });

  it("are not encoded if that does not shrink them, or the host has no codec", async () => {
    const noise = new Uint8Array(600 * KILOBYTE);
    for (let at = 0; at < noise.length; at += 60_000)
      crypto.getRandomValues(noise.subarray(at, Math.min(at + 60_000, noise.length)));
    const request = appendRequest([sampleEvent({ body: noise })]);
    expect(await createPackLarge({ codec: zstd })(request)).toEqual(request);
    expect(createPackLarge({ codec: undefined })(request)).toBe(request);
  });

  it("are split into parts of the maximum blob size", () => {
    const rows = rowsOf(undefined, [5 * KILOBYTE], 2 * KILOBYTE);
    expect(rows.map(({ part, events }) => [part, events])).toEqual([
      [0, 1],
      [1, 1],
      [2, 1],
    ]);
    expect(rows.map(({ body }) => body.byteLength).slice(0, 2)).toEqual([2048, 2048]);
  });

  it("cannot be unpacked without their codec, which the error names", () => {
    const rows = rowsOf(zstd, [KILOBYTE, KILOBYTE]);
    expect(() => unpack(undefined, rows)).toThrow(/packed with zstd/);
  });
});

it("decodes a small pack into only the memory that it needs", () => {
  const bytes = utf8("a lamp ".repeat(300));
  const decoded = zstd.decode(zstd.encode(bytes), FULL_BYTES);
  expect(decoded).toEqual(bytes);
  expect(decoded.buffer.byteLength).toBe(bytes.byteLength);
});
