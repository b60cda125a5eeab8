/**
 * Payloads are stored in packs: the concatenated payloads of one tenant in one commit, compressed if
 * the host has a codec. Webhooks of one sender are similar, so compression makes a pack about ten times
 * smaller, and faster to write. An event refers to its pack and to its offset in the pack. A pack
 * is deleted with its last event.
 * See docs/decisions/0005-payloads-in-packs.md.
 */
import { concat, type MaybePromise, utf8 } from "../lib/hmac.ts";
import type { Dialect, Value } from "./sql.ts";
import type { AppendRequest, NewEvent, Payload, Store } from "./store.ts";

export interface Codec {
  name: string;
  /** The result shares no memory with the argument. */
  encode(bytes: Uint8Array): Uint8Array;
  /** Encodes a large payload in another thread. */
  encodeLarge(bytes: Uint8Array): Promise<Uint8Array>;
  /** The result has at most `maxSize` bytes; it is fastest if it has fewer. */
  decode(bytes: Uint8Array, maxSize: number): Uint8Array;
  /** Decodes a large payload in another thread. */
  decodeLarge(bytes: Uint8Array, maxSize: number): Promise<Uint8Array>;
}

export const PACK_COLUMNS = ["tenant_id", "seq", "part", "codec", "events", "body"];

/** Where a payload is stored: `pack` is the `seq` of the pack's first event, `pack_at` the offset. */
export interface Packed {
  pack: number;
  pack_at: number;
  meta_size: number;
}

/** The maximum size of a pack with several events. Reading one event unpacks the whole pack. */
export const FULL_BYTES = 256 * 1024;

/**
 * The input buffer of the codec, reused for every pack: allocating it each time would trigger full
 * garbage collections.
 */
const buffer = new Uint8Array(FULL_BYTES);

interface Pack {
  seq: number;
  events: number;
  size: number;
  parts: Uint8Array[];
}

/** The pack of one large event. It is encoded before the transaction, because that takes long. */
export interface LargePack {
  meta_size: number;
  codec: string;
  body: Uint8Array;
}

const metaOf = ({ content_type, headers }: NewEvent): Uint8Array =>
  utf8(JSON.stringify({ content_type, headers }));

/** Returns no promise if no event is large. */
export const createPackLarge =
  ({ codec }: Pick<Dialect, "codec">): Store["packLarge"] =>
  (request) =>
    codec && request.events.some(isLarge) ? packLarge(codec, request) : request;

const isLarge = ({ body }: NewEvent): boolean => body.byteLength > FULL_BYTES;

async function packLarge(codec: Codec, request: AppendRequest): Promise<AppendRequest> {
  const events: NewEvent[] = [];
  for (const event of request.events) {
    const meta = metaOf(event);
    const pack = isLarge(event) && concat([meta, event.body]);
    const body = pack && (await codec.encodeLarge(pack));
    events.push(
      body && body.byteLength < pack.byteLength
        ? { ...event, pack: { meta_size: meta.byteLength, codec: codec.name, body } }
        : event,
    );
  }
  return { ...request, events };
}

/** Collects the payloads of a batch into rows of the table `packs`. */
export function createPacker({ codec, maxBlob }: Pick<Dialect, "codec" | "maxBlob">) {
  const rows: Value[][] = [];
  const open = new Map<string, Pack>();

  const close = (tenant: string) => {
    const pack = open.get(tenant);
    if (!pack) return;
    open.delete(tenant);
    let body: Uint8Array | undefined;
    let name = "";
    if (codec && pack.events > 1) {
      const encoded = codec.encode(fillBuffer(pack));
      if (encoded.byteLength < pack.size) [body, name] = [encoded, codec.name];
    }
    write(tenant, pack, name, body ?? concat(pack.parts));
  };
  const write = (
    tenant: string,
    { seq, events }: Pick<Pack, "seq" | "events">,
    name: string,
    body: Uint8Array,
  ) => {
    for (let part = 0; part === 0 || part * maxBlob < body.byteLength; part += 1)
      rows.push([
        tenant,
        seq,
        part,
        name,
        events,
        body.subarray(part * maxBlob, (part + 1) * maxBlob),
      ]);
  };

  return {
    add(tenant: string, seq: number, event: NewEvent): Packed {
      if (event.pack) {
        const { meta_size, codec: name, body } = event.pack;
        write(tenant, { seq, events: 1 }, name, body);
        return { pack: seq, pack_at: 0, meta_size };
      }
      const { body } = event;
      const meta = metaOf(event);
      const size = meta.byteLength + body.byteLength;
      let pack = open.get(tenant);
      // A large body gets its own pack: otherwise reading the other events would read it too.
      if (pack && pack.size + size > FULL_BYTES) {
        close(tenant);
        pack = undefined;
      }
      if (!pack) {
        pack = { seq, events: 0, size: 0, parts: [] };
        open.set(tenant, pack);
      }
      const packed = { pack: pack.seq, pack_at: pack.size, meta_size: meta.byteLength };
      pack.parts.push(meta, body);
      pack.size += size;
      pack.events += 1;
      return packed;
    },
    /** Closes the open packs and returns all rows. */
    finish(): Value[][] {
      for (const tenant of open.keys()) close(tenant);
      return rows;
    },
  };
}

/** The result is valid until the next call. */
function fillBuffer({ parts, size }: Pack): Uint8Array {
  let at = 0;
  for (const part of parts) {
    buffer.set(part, at);
    at += part.byteLength;
  }
  return buffer.subarray(0, size);
}

const decoder = new TextDecoder();

/** Returns the contents of a pack; a promise if it is large and encoded. `rows` are its parts, in order. */
export function unpack(
  codec: Codec | undefined,
  rows: readonly { codec: string; body: Uint8Array | ArrayBuffer }[],
  maxSize = FULL_BYTES,
): MaybePromise<Uint8Array> {
  const name = rows[0]?.codec ?? "";
  if (name !== "" && name !== codec?.name)
    throw new Error(`A stored payload is packed with ${name}, which this host cannot unpack.`);
  const stored = rows.map(({ body }) => new Uint8Array(body));
  const whole = stored.length === 1 ? (stored[0] as Uint8Array) : concat(stored);
  if (name === "") return whole;
  const { decode, decodeLarge } = codec as Codec;
  return maxSize <= FULL_BYTES ? decode(whole, maxSize) : decodeLarge(whole, maxSize);
}

/** Returns a view of the pack. Callers must not write to it. */
export function payloadAt(
  pack: Uint8Array,
  { pack_at, meta_size, size }: Omit<Packed, "pack"> & { size: number },
): Payload {
  const meta = pack.subarray(pack_at, pack_at + meta_size);
  const body = pack.subarray(pack_at + meta_size, pack_at + meta_size + size);
  return { ...(JSON.parse(decoder.decode(meta)) as Omit<Payload, "body">), body };
}
