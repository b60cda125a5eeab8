import { concat, utf8 } from "../lib/bytes.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { Codec, Dialect, Value } from "./sql.ts";

export const PACK_COLUMNS = ["tenant_id", "seq", "part", "codec", "events", "body"];

/** Where a payload is stored. */
export interface PayloadPosition {
  /** The pack: the `seq` of its first event. */
  pack: number;
  /** The offset in the unpacked pack. The metadata is stored there, followed by the body. */
  pack_at: number;
  /** The size of the content type and the headers, as JSON. */
  meta_size: number;
}

/** The maximum size of a pack with several events: reading one event unpacks the whole pack. */
export const FULL_BYTES = 256 * 1024;

/**
 * The input buffer of the codec, reused for every pack: allocating it each time would trigger full
 * garbage collections.
 */
const buffer = new Uint8Array(FULL_BYTES);

/** A pack to which payloads are still added. */
interface OpenPack {
  /** The `seq` of its first event. */
  seq: number;
  events: number;
  size: number;
  /** The metadata and bodies of the events. */
  chunks: Uint8Array[];
  ratio: PackRatio;
}

/** The stored bytes of a pack per byte of its payloads; known when the packs are finished. */
interface PackRatio {
  stored: number;
}

/** The place of an event that was added to a pack. */
export interface PackedPayload extends PayloadPosition {
  ratio: PackRatio;
}

/** The pack of one large event. It is encoded before the transaction, because encoding takes long. */
interface LargePack {
  meta_size: number;
  codec: string;
  body: Uint8Array;
}

/**
 * The body of an event, with those request headers that its source stores. If a request has several
 * events, the body of each event is its own part of the request body.
 */
export interface Payload {
  content_type: string;
  headers: Record<string, string>;
  body: Uint8Array;
}

/** A payload, with its compressed form if `packLarge` has compressed it. */
export interface NewPayload extends Payload {
  pack?: LargePack;
}

const metaOf = ({ content_type, headers }: Payload): Uint8Array =>
  utf8(JSON.stringify({ content_type, headers }));

/** A request whose payloads are stored in packs. */
export interface PackRequest {
  events: NewPayload[];
}

export type PackLarge = <Request extends PackRequest>(request: Request) => MaybePromise<Request>;

/** `packLarge` returns a promise only if an event is large. */
export const createPackLarge =
  ({ codec }: Pick<Dialect, "codec">): PackLarge =>
  (request) =>
    codec && request.events.some(isLarge) ? packLarge(codec, request) : request;

const isLarge = ({ body }: Payload): boolean => body.byteLength > FULL_BYTES;

async function packLarge<Request extends PackRequest>(
  codec: Codec,
  request: Request,
): Promise<Request> {
  const events: NewPayload[] = [];
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
export function createPacker(dialect: Pick<Dialect, "codec" | "maxBlob" | "pageBytes">) {
  const { codec, maxBlob } = dialect;
  const rows: Value[][] = [];
  /** By tenant. */
  const openPacks = new Map<string, OpenPack>();

  const close = (tenant: string) => {
    const pack = openPacks.get(tenant);
    if (!pack) return;
    openPacks.delete(tenant);
    let body: Uint8Array | undefined;
    let codecName = "";
    if (codec && pack.events > 1) {
      const encoded = codec.encode(fillBuffer(pack));
      if (encoded.byteLength < pack.size) [body, codecName] = [encoded, codec.name];
    }
    addRows(tenant, pack, codecName, body ?? concat(pack.chunks));
  };
  const addRows = (
    tenant: string,
    { seq, events, size, ratio }: Omit<OpenPack, "chunks">,
    codecName: string,
    body: Uint8Array,
  ) => {
    ratio.stored = packBytes(body.byteLength, dialect) / size;
    for (let part = 0; part === 0 || part * maxBlob < body.byteLength; part += 1)
      rows.push([
        tenant,
        seq,
        part,
        codecName,
        events,
        body.subarray(part * maxBlob, (part + 1) * maxBlob),
      ]);
  };

  return {
    add(tenant: string, seq: number, event: NewPayload): PackedPayload {
      if (event.pack) {
        const { meta_size, codec: codecName, body } = event.pack;
        const size = meta_size + event.body.byteLength;
        const ratio = { stored: 1 };
        addRows(tenant, { seq, events: 1, size, ratio }, codecName, body);
        return { pack: seq, pack_at: 0, meta_size, ratio };
      }
      const { body } = event;
      const meta = metaOf(event);
      const size = meta.byteLength + body.byteLength;
      let pack = openPacks.get(tenant);
      // A full pack is closed: reading one event unpacks all events of its pack.
      if (pack && pack.size + size > FULL_BYTES) {
        close(tenant);
        pack = undefined;
      }
      if (!pack) {
        pack = { seq, events: 0, size: 0, chunks: [], ratio: { stored: 1 } };
        openPacks.set(tenant, pack);
      }
      const position = {
        pack: pack.seq,
        pack_at: pack.size,
        meta_size: meta.byteLength,
        ratio: pack.ratio,
      };
      pack.chunks.push(meta, body);
      pack.size += size;
      pack.events += 1;
      return position;
    },
    /** Closes the open packs and returns all rows. */
    finish(): Value[][] {
      for (const tenant of openPacks.keys()) close(tenant);
      return rows;
    },
  };
}

/** The event's share of its pack in bytes, when the packs are finished. */
export const sharedPackBytes = (
  { meta_size, ratio }: PackedPayload,
  { body }: Pick<Payload, "body">,
): number => Math.round(ratio.stored * (meta_size + body.byteLength));

/** Copies the payloads of a pack to `buffer`. The result is valid until the next call. */
function fillBuffer({ chunks, size }: OpenPack): Uint8Array {
  let offset = 0;
  for (const chunk of chunks) {
    buffer.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return buffer.subarray(0, size);
}

const decoder = new TextDecoder();

/**
 * Returns the contents of a pack. `rows` are its parts, in order. Returns a promise if the pack is encoded
 * and `maxSize` is above `FULL_BYTES`.
 */
export function unpack(
  codec: Codec | undefined,
  rows: readonly { codec: string; body: Uint8Array | ArrayBuffer }[],
  maxSize = FULL_BYTES,
): MaybePromise<Uint8Array> {
  const name = rows[0]?.codec ?? "";
  if (name !== "" && name !== codec?.name)
    throw new Error(`A stored payload is packed with ${name}, which this host cannot unpack.`);
  const parts = rows.map(({ body }) => new Uint8Array(body));
  const whole = parts.length === 1 ? (parts[0] as Uint8Array) : concat(parts);
  if (name === "") return whole;
  const { decode, decodeLarge } = codec as Codec;
  return maxSize <= FULL_BYTES ? decode(whole, maxSize) : decodeLarge(whole, maxSize);
}

/** Returns a view of the pack. Callers must not write to it. */
export function payloadAt(
  pack: Uint8Array,
  { pack_at, meta_size, size }: Omit<PayloadPosition, "pack"> & { size: number },
): Payload {
  const meta = pack.subarray(pack_at, pack_at + meta_size);
  const body = pack.subarray(pack_at + meta_size, pack_at + meta_size + size);
  return { ...(JSON.parse(decoder.decode(meta)) as Omit<Payload, "body">), body };
}

/** The bytes of a pack. With `pageBytes`, a part that does not fill a page leaves space next to it. */
function packBytes(bytes: number, { pageBytes }: Pick<Dialect, "pageBytes">): number {
  if (pageBytes === undefined || bytes < MIN_LOCAL_BYTES) return PACK_BYTES + bytes;
  const rest = bytes % pageBytes;
  const local = Math.max(rest, MIN_LOCAL_BYTES);
  // The packs next to it may be smaller, so only half of the free space counts.
  const share = (local + pageBytes / Math.max(1, Math.floor(pageBytes / local))) / 2;
  return PACK_BYTES + bytes - rest + share;
}

/** The row of a pack without its body, and its index entry. */
const PACK_BYTES = 60;

/** SQLite stores at least so many bytes of a value in its row, and the rest in pages of its own. */
const MIN_LOCAL_BYTES = 1_000;
