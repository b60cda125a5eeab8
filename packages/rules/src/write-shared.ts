import { jsonBytes, type KnownSizes } from "./json-bytes.ts";
import { LargeJson, type MixedJson, writeJson, writeMembers } from "./large-json.ts";

/** Members are written one by one if they are longer on average: below, `JSON.stringify` is faster. */
const LONG = 100;

const isContainer = (value: MixedJson) => typeof value === "object" && value !== null;

/**
 * Like `writeJson`, for values in which long parts occur several times, such as a config with many
 * references to one value: it writes each part once. Pass the same `texts` to share more.
 */
export function writeShared(value: MixedJson, texts = new Map<MixedJson, string>()): string {
  const sizes: KnownSizes = new Map();
  const write = (part: MixedJson): string => {
    if (part instanceof LargeJson) return part.text;
    const known = texts.get(part);
    if (known !== undefined) return known;
    const bytes = jsonBytes(part, Number.POSITIVE_INFINITY, undefined, sizes);
    // Only the sizes of long parts are kept.
    if (!sizes.has(part)) return writeJson(part);
    const hasLongMembers = isContainer(part) && bytes > LONG * Object.keys(part).length;
    const text = hasLongMembers ? writeMembers(part, write) : writeJson(part);
    texts.set(part, text);
    return text;
  };
  return write(value);
}
