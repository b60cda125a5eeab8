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
  /** A row that stands for parts of its parent that are not shown. */
  more?: { hidden: number };
}

export interface Shown {
  isOpen(id: string, depth: number, size: number): boolean;
  /** How many parts of an open value are shown. */
  limit(id: string): number;
  /** A part that must be shown whatever the limit is, by its position. */
  revealed(id: string): number | undefined;
}

export const PAGE = 100;
/** So many parts are shown on each side of a revealed one. */
const AROUND = 5;

type Container = Json[] | { [name: string]: Json };
const isContainer = (value: Json): value is Container =>
  typeof value === "object" && value !== null;

export function toRows(value: Json, shown: Shown): Row[] {
  const rows: Row[] = [];
  const visitParts = (value: Container, keys: Keys, depth: number) => {
    const id = keyOf(keys);
    const names = Array.isArray(value) ? undefined : Object.keys(value);
    const size = names?.length ?? (value as Json[]).length;
    const visitRange = (from: number, to: number) => {
      for (let at = from; at < to; at += 1) {
        const name = names ? (names[at] as string) : at;
        visit((value as Record<string | number, Json>)[name] as Json, [...keys, name], name, depth);
      }
    };
    const pushMore = (mark: string, hidden: number) => {
      if (hidden > 0) rows.push({ ...NO_VALUE, id: `${id}${mark}`, keys, depth, more: { hidden } });
    };
    const end = Math.min(size, shown.limit(id));
    visitRange(0, end);
    const at = shown.revealed(id);
    if (at === undefined || at < end) return pushMore("+", size - end);
    const from = Math.max(end, at - AROUND);
    const to = Math.min(size, at + AROUND + 1);
    pushMore("+", from - end);
    visitRange(from, to);
    pushMore("++", size - to);
  };
  const visit = (value: Json, keys: Keys, name: string | number | undefined, depth: number) => {
    const id = keyOf(keys);
    if (!isContainer(value)) {
      rows.push({ ...NO_VALUE, id, keys, depth, name, value });
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

const NO_VALUE = { name: undefined, value: null, isOpen: undefined, size: 0 } as const;

/** The parts that must be open to show the keys, each with the position of the part on the way. */
export function parentsOf(root: Json, all: readonly Keys[]): Map<string, number> {
  const parents = new Map<string, number>();
  for (const keys of all) {
    let value = root;
    for (const [depth, key] of keys.entries()) {
      if (!isContainer(value)) break;
      const at = typeof key === "number" ? key : Object.keys(value).indexOf(key);
      parents.set(keyOf(keys.slice(0, depth)), at);
      value = (value as Record<string | number, Json>)[key] as Json;
    }
  }
  return parents;
}
