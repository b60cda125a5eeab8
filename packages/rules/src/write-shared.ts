import { jsonBytes, type SizeCache } from "./json-bytes.ts";
import { LargeJson, type MixedJson, writeJson, writeMembers } from "./large-json.ts";

/**
 * The members of an array or object are written separately only if they have more bytes on average.
 * For short members, one call of `JSON.stringify` is faster.
 */
const MIN_AVERAGE_BYTES = 100;

const isContainer = (value: MixedJson) => typeof value === "object" && value !== null;

/**
 * Like `writeJson`, for values in which long parts occur several times, such as a config with many
 * references to one value. It serializes each long part once, and caches the JSON in `texts`. Several
 * calls can share one cache.
 */
export function writeShared(value: MixedJson, texts = new Map<MixedJson, string>()): string {
  const sizes: SizeCache = new Map();
  const write = (part: MixedJson): string => {
    if (part instanceof LargeJson) return part.text;
    const cached = texts.get(part);
    if (cached !== undefined) return cached;
    const bytes = jsonBytes(part, Number.POSITIVE_INFINITY, undefined, sizes);
    // `jsonBytes` caches only the sizes of long parts.
    if (!sizes.has(part)) return writeJson(part);
    const hasLongMembers =
      isContainer(part) && bytes > MIN_AVERAGE_BYTES * Object.keys(part).length;
    const text = hasLongMembers ? writeMembers(part, write) : writeJson(part);
    texts.set(part, text);
    return text;
  };
  return write(value);
}
