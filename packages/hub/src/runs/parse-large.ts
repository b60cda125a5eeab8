/** Parses large JSON for those who need its value: a node that cannot use text, a client of MCP. */
import { Permanent } from "@signalbox/rules/flows/errors.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { jsonBytes } from "@signalbox/rules/json-bytes.ts";
import { LargeJson, type MixedJson, type MixedObject } from "@signalbox/rules/large-json.ts";
import { hasMoreValues } from "../lib/count-values.ts";

/** Parsing this much takes some 50 ms, in which the hub does nothing else. */
const MAX_CHARACTERS = 8_000_000;
const MAX_VALUES = 100_000;

/** Throws `Permanent` if that is too much. */
export function parseLarge(value: MixedJson): Json {
  const found = new Set<LargeJson>();
  jsonBytes(value, Number.POSITIVE_INFINITY, (large) => void found.add(large));
  if (found.size === 0) return value as Json;
  const all = [...found].map(({ text }) => text).join(",");
  if (all.length > MAX_CHARACTERS || hasMoreValues(all, MAX_VALUES)) throw tooLarge();
  const values = new Map<LargeJson, Json>();
  for (const large of found) values.set(large, JSON.parse(large.text) as Json);
  return replace(value, values);
}

const tooLarge = () =>
  new Permanent(
    `The value exceeds the limit of ${MAX_CHARACTERS / 1_000_000} MB of JSON or ${MAX_VALUES} values. Select what is needed with a Transform or Code node before.`,
    { code: "input_too_large" },
  );

function replace(value: MixedJson, values: ReadonlyMap<LargeJson, Json>): Json {
  if (value instanceof LargeJson) return values.get(value) ?? null;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: MixedJson) => replace(item, values));
  return Object.fromEntries(
    Object.entries(value as MixedObject).flatMap(([name, member]) =>
      member === undefined ? [] : [[name, replace(member, values)]],
    ),
  );
}
