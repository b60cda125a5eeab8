/** Parses large JSON for nodes and MCP clients that need the value, not the text. */
import { Permanent } from "@signalbox/rules/flows/errors.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { jsonBytes } from "@signalbox/rules/json-bytes.ts";
import { LargeJson, type MixedJson, type MixedObject } from "@signalbox/rules/large-json.ts";
import { hasMoreValues } from "../../kernel/lib/count-values.ts";

/** Parsing this much blocks the event loop for about 50 ms. */
const MAX_CHARACTERS = 8_000_000;
const MAX_VALUES = 100_000;

/** Throws `Permanent` if the large JSON in the value exceeds the limits. */
export function parseLarge(value: MixedJson): Json {
  const largeValues = new Set<LargeJson>();
  jsonBytes(value, Number.POSITIVE_INFINITY, (large) => void largeValues.add(large));
  if (largeValues.size === 0) return value as Json;
  const texts = [...largeValues].map(({ text }) => text).join(",");
  if (texts.length > MAX_CHARACTERS || hasMoreValues(texts, MAX_VALUES)) throw tooLarge();
  const parsed = new Map<LargeJson, Json>();
  for (const large of largeValues) parsed.set(large, JSON.parse(large.text) as Json);
  return replaceLarge(value, parsed);
}

const tooLarge = () =>
  new Permanent(
    `The value exceeds the limit of ${MAX_CHARACTERS / 1_000_000} MB of JSON or ${MAX_VALUES} values. Select less with a Transform or Code node first.`,
    { code: "input_too_large" },
  );

function replaceLarge(value: MixedJson, parsed: ReadonlyMap<LargeJson, Json>): Json {
  if (value instanceof LargeJson) return parsed.get(value) ?? null;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: MixedJson) => replaceLarge(item, parsed));
  return Object.fromEntries(
    Object.entries(value as MixedObject).flatMap(([name, member]) =>
      member === undefined ? [] : [[name, replaceLarge(member, parsed)]],
    ),
  );
}
