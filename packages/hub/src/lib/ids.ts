/**
 * UUIDv7, monotonic within a process: ids of the same millisecond have a counter. Sorting by id sorts
 * by time, and an index on ids grows only at its end.
 */
export interface IdOptions {
  now?: () => number;
  random?: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const hex = (byte: number | undefined) => HEX[(byte ?? 0) & 0xff] as string;

export function createIds({
  now = Date.now,
  random = (bytes) => crypto.getRandomValues(bytes),
}: IdOptions = {}): () => string {
  // Random bytes for many ids: one call per id would cost more than the id itself.
  const pool = new Uint8Array(10 * 256);
  let used = pool.length;
  let lastMs = 0;
  let counter = 0;

  return () => {
    if (used + 10 > pool.length) {
      random(pool);
      used = 0;
    }
    const at = used;
    used += 10;
    const ms = Math.max(Math.floor(now()), lastMs);
    // A counter of 12 bits follows the time. When it overflows, the next millisecond is used.
    if (ms === lastMs && counter < 0xfff) counter += 1;
    else {
      lastMs = ms === lastMs ? ms + 1 : ms;
      counter = (pool[at] as number) & 0x7f;
    }
    const high = Math.floor(lastMs / 0x100000000);
    const low = lastMs >>> 0;
    return (
      `${hex(high >>> 8)}${hex(high)}${hex(low >>> 24)}${hex(low >>> 16)}-` +
      `${hex(low >>> 8)}${hex(low)}-${hex(0x70 | (counter >>> 8))}${hex(counter)}-` +
      `${hex(0x80 | ((pool[at + 1] as number) & 0x3f))}${hex(pool[at + 2])}-` +
      `${hex(pool[at + 3])}${hex(pool[at + 4])}${hex(pool[at + 5])}` +
      `${hex(pool[at + 6])}${hex(pool[at + 7])}${hex(pool[at + 8])}`
    );
  };
}

/** The smallest UUIDv7 of a time: all earlier ids sort before it. */
export function idFloor(ms: number): string {
  const time = Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
export const isId = (text: string): boolean => UUID.test(text);
