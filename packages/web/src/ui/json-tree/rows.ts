/** Converts a JSON value to the rows of a tree. Only open values are visited, so large values cost little. */
import type { Json } from "@signalbox/rules/json.ts";
import { type Keys, keyOf } from "./path.ts";

export interface Row {
  id: string;
  keys: Keys;
  depth: number;
  /** Undefined for the root. */
  name: string | number | undefined;
  value: Json;
  /** Undefined if the value has no children. */
  isOpen: boolean | undefined;
  /** The number of children. */
  size: number;
  /** Set if the row replaces children that are not shown. `keys` is then the location of their parent. */
  more?: { hidden: number };
}

/** Decides what is shown of each object and array, which is identified by the id of its row. */
export interface RowOptions {
  isOpen(id: string, depth: number, size: number): boolean;
  /** The number of children that are shown, from the first one on. */
  limit(id: string): number;
  /** The position of a child that is shown in any case. */
  revealed(id: string): number | undefined;
}

/** The default number of children that are shown. */
export const PAGE = 100;
/** The number of siblings that are shown on each side of a revealed child. */
const NEIGHBOURS = 5;

type Container = Json[] | { [name: string]: Json };
const isContainer = (value: Json): value is Container =>
  typeof value === "object" && value !== null;

export function toRows(value: Json, options: RowOptions): Row[] {
  const rows: Row[] = [];
  const visitChildren = (value: Container, keys: Keys, depth: number) => {
    const id = keyOf(keys);
    const names = Array.isArray(value) ? undefined : Object.keys(value);
    const size = names?.length ?? (value as Json[]).length;
    const visitRange = (start: number, end: number) => {
      for (let index = start; index < end; index += 1) {
        const name = names ? (names[index] as string) : index;
        visit((value as Record<string | number, Json>)[name] as Json, [...keys, name], name, depth);
      }
    };
    const pushMore = (idSuffix: string, hidden: number) => {
      if (hidden > 0)
        rows.push({ ...NO_VALUE, id: `${id}${idSuffix}`, keys, depth, more: { hidden } });
    };
    const limit = Math.min(size, options.limit(id));
    visitRange(0, limit);
    const revealed = options.revealed(id);
    if (revealed === undefined || revealed < limit) return pushMore("+", size - limit);
    const start = Math.max(limit, revealed - NEIGHBOURS);
    const end = Math.min(size, revealed + NEIGHBOURS + 1);
    pushMore("+", start - limit);
    visitRange(start, end);
    pushMore("++", size - end);
  };
  const visit = (value: Json, keys: Keys, name: string | number | undefined, depth: number) => {
    const id = keyOf(keys);
    if (!isContainer(value)) {
      rows.push({ ...NO_VALUE, id, keys, depth, name, value });
      return;
    }
    const size = Array.isArray(value) ? value.length : Object.keys(value).length;
    const isOpen = size > 0 ? options.isOpen(id, depth, size) : undefined;
    rows.push({ id, keys, depth, name, value, isOpen, size });
    if (isOpen) visitChildren(value, keys, depth + 1);
  };
  // The root has a row only if it has no children.
  if (isContainer(value) && Object.keys(value).length > 0) visitChildren(value, [], 0);
  else visit(value, [], undefined, 0);
  return rows;
}

const NO_VALUE = { name: undefined, value: null, isOpen: undefined, size: 0 } as const;

/**
 * Returns the objects and arrays that must be open to show the locations, by id. The value is the
 * position of the child that leads to the location.
 */
export function parentsOf(root: Json, locations: readonly Keys[]): Map<string, number> {
  const parents = new Map<string, number>();
  for (const keys of locations) {
    let value = root;
    for (const [depth, key] of keys.entries()) {
      if (!isContainer(value)) break;
      const position = typeof key === "number" ? key : Object.keys(value).indexOf(key);
      parents.set(keyOf(keys.slice(0, depth)), position);
      value = (value as Record<string | number, Json>)[key] as Json;
    }
  }
  return parents;
}
