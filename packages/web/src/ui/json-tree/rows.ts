/** The visible rows of a JSON value: only what is open is visited, so large values cost little. */
import type { Json } from "@signalbox/rules/json.ts";
import { type Keys, keyOf } from "./path.ts";

export interface Row {
  id: string;
  keys: Keys;
  depth: number;
  /** Undefined for the root. */
  name: string | number | undefined;
  value: Json;
  /** Undefined if the value has no parts. */
  isOpen: boolean | undefined;
  size: number;
  /** A row that shows more parts of its parent instead of a value. */
  more?: { shown: number; of: number };
}

export interface Shown {
  isOpen(id: string, depth: number, size: number): boolean;
  /** How many parts of an open value are shown. */
  limit(id: string): number;
}

export const PAGE = 100;

const isContainer = (value: Json): value is Json[] | { [name: string]: Json } =>
  typeof value === "object" && value !== null;

export function toRows(value: Json, shown: Shown): Row[] {
  const rows: Row[] = [];
  const visitParts = (value: Json[] | { [name: string]: Json }, keys: Keys, depth: number) => {
    const id = keyOf(keys);
    const limit = shown.limit(id);
    const names = Array.isArray(value) ? undefined : Object.keys(value);
    const of = names?.length ?? (value as Json[]).length;
    for (let at = 0; at < Math.min(of, limit); at += 1) {
      const name = names ? (names[at] as string) : at;
      const part = (value as Record<string | number, Json>)[name] as Json;
      visit(part, [...keys, name], name, depth);
    }
    if (of > limit)
      rows.push({
        id: `${id}+`,
        keys,
        depth,
        name: undefined,
        value: null,
        isOpen: undefined,
        size: 0,
        more: { shown: limit, of },
      });
  };
  const visit = (value: Json, keys: Keys, name: string | number | undefined, depth: number) => {
    const id = keyOf(keys);
    if (!isContainer(value)) {
      rows.push({ id, keys, depth, name, value, isOpen: undefined, size: 0 });
      return;
    }
    const size = Array.isArray(value) ? value.length : Object.keys(value).length;
    const isOpen = size > 0 ? shown.isOpen(id, depth, size) : undefined;
    rows.push({ id, keys, depth, name, value, isOpen, size });
    if (isOpen) visitParts(value, keys, depth + 1);
  };
  // The root has no line of its own, unless it is the only thing to show.
  if (isContainer(value) && Object.keys(value).length > 0) visitParts(value, [], 0);
  else visit(value, [], undefined, 0);
  return rows;
}
