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
  /** One array for all parts: a large value has many, and few are hits. */
  const keys: (string | number)[] = [];
  const visit = (value: Json, name: string | undefined) => {
    if (hits.length > MAX_HITS) return;
    const isLeaf = typeof value !== "object" || value === null;
    if ((name !== undefined && holds(name)) || (isLeaf && holds(String(value))))
      hits.push([...keys]);
    if (isLeaf) return;
    const names = Array.isArray(value) ? undefined : Object.keys(value);
    const size = names?.length ?? (value as Json[]).length;
    for (let at = 0; at < size; at += 1) {
      const key = names ? (names[at] as string) : at;
      keys.push(key);
      visit((value as Record<string | number, Json>)[key] as Json, names?.[at]);
      keys.pop();
    }
  };
  visit(root, undefined);
  return { hits: hits.slice(0, MAX_HITS), isCut: hits.length > MAX_HITS };
}
