/**
 * Payloads are stored in packs: the payloads that were committed together, one after another, and
 * compressed as one where the engine has a codec. Webhooks of one sender are alike, so a pack is a
 * tenth of its parts, and writing it costs less than writing them. An event knows its pack and its
 * place in it; a pack goes when its last event goes. See docs/decisions/0005-payloads-in-packs.md.
 */
import { concat, utf8 } from "../lib/hmac.ts";
import type { Dialect, Value } from "./sql.ts";
import type { NewEvent, Payload } from "./store.ts";

export interface Codec {
  name: string;
  /** What it answers with shares no memory with what it was given. */
  encode(bytes: Uint8Array): Uint8Array;
  decode(bytes: Uint8Array): Uint8Array;
}

export const PACK_COLUMNS = ["tenant_id", "seq", "part", "codec", "events", "body"];

/** Where an event's payload is: in the pack that begins with the event `pack`, from `pack_at` on. */
export interface Packed {
  pack: number;
  pack_at: number;
  meta_size: number;
}

/** A pack is closed at this size: reading the first of its events means unpacking all of it. */
export const FULL_BYTES = 256 * 1024;

/**
 * Where a pack is laid out for the codec, used again for each of them: as much memory anew for every
 * pack would have the garbage collector look through the whole heap all the time.
 */
const workbench = new Uint8Array(FULL_BYTES);

interface Pack {
  seq: number;
  events: number;
  size: number;
  parts: Uint8Array[];
}

/** Gathers the packs of a batch; `rows` are those of the table `packs`. */
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
      const encoded = codec.encode(layOut(pack));
      if (encoded.byteLength < pack.size) [body, name] = [encoded, codec.name];
    }
    body ??= concat(pack.parts);
    for (let part = 0; part === 0 || part * maxBlob < body.byteLength; part += 1)
      rows.push([
        tenant,
        pack.seq,
        part,
        name,
        pack.events,
        body.subarray(part * maxBlob, (part + 1) * maxBlob),
      ]);
  };

  return {
    add(tenant: string, seq: number, { content_type, headers, body }: NewEvent): Packed {
      const meta = utf8(JSON.stringify({ content_type, headers }));
      const size = meta.byteLength + body.byteLength;
      let pack = open.get(tenant);
      // A large body does not join others: each of them would have to be read together with it.
      if (pack && pack.size + size > FULL_BYTES) {
        close(tenant);
        pack = undefined;
      }
      if (!pack) {
        pack = { seq, events: 0, size: 0, parts: [] };
        open.set(tenant, pack);
      }
      const place = { pack: pack.seq, pack_at: pack.size, meta_size: meta.byteLength };
      pack.parts.push(meta, body);
      pack.size += size;
      pack.events += 1;
      return place;
    },
    /** Closes what is open, and answers with all rows. */
    finish(): Value[][] {
      for (const tenant of open.keys()) close(tenant);
      return rows;
    },
  };
}

/** Only until the next pack is laid out. */
function layOut({ parts, size }: Pack): Uint8Array {
  let at = 0;
  for (const part of parts) {
    workbench.set(part, at);
    at += part.byteLength;
  }
  return workbench.subarray(0, size);
}

const decoder = new TextDecoder();

/** What a pack holds, given its rows in order. */
export function unpack(
  codec: Codec | undefined,
  rows: readonly { codec: string; body: Uint8Array | ArrayBuffer }[],
): Uint8Array {
  const name = rows[0]?.codec ?? "";
  if (name !== "" && name !== codec?.name)
    throw new Error(`A stored payload is packed with ${name}, which this host cannot unpack.`);
  const stored = rows.map(({ body }) => new Uint8Array(body));
  const whole = stored.length === 1 ? (stored[0] as Uint8Array) : concat(stored);
  return name === "" ? whole : (codec as Codec).decode(whole);
}

/** A view of the pack, as long as nobody writes into it: payloads are only ever read. */
export function payloadAt(
  pack: Uint8Array,
  { pack_at, meta_size, size }: Omit<Packed, "pack"> & { size: number },
): Payload {
  const meta = pack.subarray(pack_at, pack_at + meta_size);
  const body = pack.subarray(pack_at + meta_size, pack_at + meta_size + size);
  return { ...(JSON.parse(decoder.decode(meta)) as Omit<Payload, "body">), body };
}
