/** Finds text in the names and values of JSON. */
import type { Json } from "@signalbox/rules/json.ts";
import type { Keys } from "./path.ts";

/** More hits than a person looks through. */
const MAX_HITS = 1_000;

export function findInJson(root: Json, text: string): { hits: Keys[]; isCut: boolean } {
  const wanted = text.toLowerCase();
  const hits: Keys[] = [];
  if (wanted === "") return { hits, isCut: false };
  const holds = (text: string) => text.toLowerCase().includes(wanted);
  const visit = (value: Json, keys: Keys, name: string | undefined) => {
    if (hits.length > MAX_HITS) return;
    const isLeaf = typeof value !== "object" || value === null;
    if ((name !== undefined && holds(name)) || (isLeaf && holds(String(value)))) hits.push(keys);
    if (Array.isArray(value))
      for (const [at, part] of value.entries()) visit(part, [...keys, at], undefined);
    else if (!isLeaf)
      for (const [name, part] of Object.entries(value)) visit(part, [...keys, name], name);
  };
  visit(root, [], undefined);
  return { hits: hits.slice(0, MAX_HITS), isCut: hits.length > MAX_HITS };
}
