/**
 * Ids are UUIDv7. Within a process they increase monotonically, because a counter follows the
 * millisecond. Sorting by id sorts by time, and an index on ids grows only at its end.
 */

export interface IdOptions {
  now?: () => number;
  /** Fills the array with random bytes. */
  random?: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const toHex = (byte: number | undefined) => HEX[(byte ?? 0) & 0xff] as string;

/** One byte for the start of the counter, eight for the last two groups of the UUID. */
const BYTES_PER_ID = 9;

/** Returns a function that creates ids. */
export function createIds({
  now = Date.now,
  random = (bytes) => crypto.getRandomValues(bytes),
}: IdOptions = {}): () => string {
  // One call of `random` provides the bytes of many ids, because a call per id would be slow.
  const pool = new Uint8Array(BYTES_PER_ID * 256);
  let used = pool.length;
  let lastMs = 0;
  let counter = 0;

  return () => {
    if (used + BYTES_PER_ID > pool.length) {
      random(pool);
      used = 0;
    }
    const at = used;
    used += BYTES_PER_ID;
    const ms = Math.max(Math.floor(now()), lastMs);
    // The counter has 12 bits. When it overflows, the id has the time of the next millisecond. The
    // counter starts below 128, so that a millisecond has capacity for almost 4,000 ids.
    if (ms === lastMs && counter < 0xfff) counter += 1;
    else {
      lastMs = ms === lastMs ? ms + 1 : ms;
      counter = (pool[at] as number) & 0x7f;
    }
    const high = Math.floor(lastMs / 0x100000000);
    const low = lastMs >>> 0;
    return (
      `${toHex(high >>> 8)}${toHex(high)}${toHex(low >>> 24)}${toHex(low >>> 16)}-` +
      `${toHex(low >>> 8)}${toHex(low)}-${toHex(0x70 | (counter >>> 8))}${toHex(counter)}-` +
      `${toHex(0x80 | ((pool[at + 1] as number) & 0x3f))}${toHex(pool[at + 2])}-` +
      `${toHex(pool[at + 3])}${toHex(pool[at + 4])}${toHex(pool[at + 5])}` +
      `${toHex(pool[at + 6])}${toHex(pool[at + 7])}${toHex(pool[at + 8])}`
    );
  };
}

/** Returns the smallest UUIDv7 of a time. All ids of earlier times sort before it. */
export function idFloor(ms: number): string {
  const time = Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
}

/** Returns the time in a UUIDv7. */
export const timeOfId = (id: string): number =>
  Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
export const isId = (text: string): boolean => UUID.test(text);
