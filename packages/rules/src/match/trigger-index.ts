/**
 * An index of triggers, so that an event is compared only with those that can match it. Each trigger is
 * filed under one of its params: the one that shares its value with the fewest other triggers. The index
 * returns all triggers that match, and possibly others: the candidates are compared afterwards.
 */
import type { Json, JsonObject } from "../json.ts";
import { numberOf } from "./loosely-equals.ts";
import { readParam } from "./param.ts";
import { type Path, parsePath, valuesAt } from "./path.ts";

export interface TriggerIndex<Trigger> {
  /** All triggers, also those that can never match. */
  readonly triggers: readonly Trigger[];
  /** The paths whose values select the candidates. */
  readonly paths: readonly string[];
  /** Returns the triggers that can match, in their original order. */
  candidates(valuesOf: ValuesOf): Trigger[];
}

/**
 * Reads the values at a path of the event's data. If it returns undefined, each trigger that depends on
 * them is a candidate.
 */
export type ValuesOf = (path: string, parsed: Path) => readonly Json[] | undefined;

export const valuesIn =
  (data: Json): ValuesOf =>
  (_path, parsed) =>
    valuesAt(data, parsed);

/** Values that are loosely equal have the same key. Some values with the same key are not equal. */
type Key = string | number | null;

/** Preferred first, if several conditions of a trigger are shared with equally many other triggers. */
const KINDS = ["value", "prefix", "existence"] as const;

/** A condition that the values at a path must fulfil: one of the keys is among theirs. */
interface Access {
  index: PathIndex;
  kind: (typeof KINDS)[number];
  keys: readonly Key[];
}

/** Longer prefixes are truncated, so that a text has at most this number of prefixes to look up. */
const MAX_PREFIX = 32;

interface Bucket {
  /** The number of triggers that have the key in their params. */
  count: number;
  /** The triggers that are filed under the key. */
  positions: number[];
}
type Buckets = Map<Key, Bucket>;

interface PathIndex extends Record<(typeof KINDS)[number], Buckets> {
  path: string;
  parsed: Path;
  /** The lengths of the prefixes, in ascending order. */
  lengths: readonly number[];
  /** The positions of all triggers that are filed under the path. */
  all: number[];
}

/** The number of triggers after which the generator yields. */
const SLICE = 100;

/** Yields several times, so that the caller can yield to the event loop if there are many triggers. */
export function* createTriggerIndex<Trigger>(
  triggers: readonly Trigger[],
  paramsOf: (trigger: Trigger) => JsonObject | undefined,
): Generator<void, TriggerIndex<Trigger>> {
  const byPath = new Map<string, PathIndex | undefined>();
  const accesses: (readonly Access[] | "never")[] = [];
  for (const [position, trigger] of triggers.entries()) {
    const possible = accessesOf(paramsOf(trigger) ?? {}, byPath);
    accesses.push(possible);
    if (possible !== "never") for (const access of possible) count(access);
    if (position % SLICE === 0) yield;
  }
  /** The positions of triggers that are always compared. */
  const unfiled: number[] = [];
  for (const [position, possible] of accesses.entries()) {
    const access = possible === "never" ? undefined : mostSelective(possible);
    if (access) file(access, position);
    else if (possible !== "never") unfiled.push(position);
    if (position % SLICE === 0) yield;
  }
  const indexes = [...byPath.values()].flatMap((index) =>
    index && index.all.length > 0 ? [index] : [],
  );
  for (const index of indexes) index.lengths = lengthsOf(index.prefix);

  return {
    triggers,
    paths: indexes.map(({ path }) => path),
    candidates(valuesOf) {
      const found = new Set(unfiled);
      for (const index of indexes) addPositions(found, index, valuesOf(index.path, index.parsed));
      return [...found].sort((a, b) => a - b).map((position) => triggers[position] as Trigger);
    },
  };
}

/** Returns `never` if the params match no event. */
function accessesOf(
  params: JsonObject,
  byPath: Map<string, PathIndex | undefined>,
): readonly Access[] | "never" {
  const accesses: Access[] = [];
  for (const [path, param] of Object.entries(params)) {
    const test = readParam(param);
    if (test === "any") continue;
    if (!byPath.has(path)) byPath.set(path, createPathIndex(path));
    const index = byPath.get(path);
    if ("problem" in test || !index) return "never";
    const { op, value } = test;
    if (op === "exists") {
      const isWanted = value !== false && value !== "false";
      accesses.push({ index, kind: "existence", keys: [isWanted ? 1 : 0] });
    } else if (op === "eq" || op === "in") {
      const keys = new Set((op === "in" ? (value as Json[]) : [value]).map(keyOf));
      if (!keys.has(undefined)) accesses.push({ index, kind: "value", keys: [...keys] as Key[] });
    } else if (op === "starts_with" || op === "glob") {
      const text = typeof value === "object" ? "" : String(value);
      const prefix = op === "glob" ? (text.split(/[*?]/, 1)[0] ?? "") : text;
      if (prefix !== "")
        accesses.push({ index, kind: "prefix", keys: [prefix.slice(0, MAX_PREFIX)] });
    }
  }
  return accesses;
}

/** Returns undefined if the text is not a path. */
function createPathIndex(path: string): PathIndex | undefined {
  const parsed = parsePath(path);
  const buckets = { value: new Map(), prefix: new Map(), existence: new Map() };
  return parsed && { path, parsed, ...buckets, lengths: [], all: [] };
}

/** Undefined for an object or a list. */
function keyOf(value: Json): Key | undefined {
  if (typeof value === "object" && value !== null) return undefined;
  if (typeof value === "boolean") return String(value);
  return numberOf(value) ?? value;
}

function count({ index, kind, keys }: Access): void {
  const buckets = index[kind];
  for (const key of keys) {
    const bucket = buckets.get(key);
    if (bucket) bucket.count += 1;
    else buckets.set(key, { count: 1, positions: [] });
  }
}

function mostSelective(accesses: readonly Access[]): Access | undefined {
  let best: { access: Access; rank: readonly number[] } | undefined;
  for (const access of accesses) {
    const { index, kind, keys } = access;
    let total = 0;
    for (const key of keys) total += index[kind].get(key)?.count ?? 0;
    // Whether a value exists is the same for most events of a type, however few triggers test it.
    const isWeak = kind === "existence" ? 1 : 0;
    const rank = [isWeak, total / keys.length, KINDS.indexOf(kind)];
    if (!best || isLess(rank, best.rank)) best = { access, rank };
  }
  return best?.access;
}

function isLess(a: readonly number[], b: readonly number[]): boolean {
  const at = a.findIndex((part, index) => part !== b[index]);
  return at >= 0 && (a[at] as number) < (b[at] as number);
}

function file({ index, kind, keys }: Access, position: number): void {
  index.all.push(position);
  for (const key of keys) index[kind].get(key)?.positions.push(position);
}

function lengthsOf(prefixes: Buckets): number[] {
  const lengths = new Set<number>();
  for (const [key, { positions }] of prefixes)
    if (positions.length > 0) lengths.add(String(key).length);
  return [...lengths].sort((a, b) => a - b);
}

function addPositions(
  found: Set<number>,
  { value, prefix, lengths, existence, all }: PathIndex,
  values: readonly Json[] | undefined,
): void {
  if (!values) {
    for (const position of all) found.add(position);
    return;
  }
  const add = (bucket: Bucket | undefined) => {
    if (bucket) for (const position of bucket.positions) found.add(position);
  };
  add(existence.get(values.some((datum) => datum !== null) ? 1 : 0));
  for (const datum of values)
    for (const item of Array.isArray(datum) ? datum : [datum]) {
      const key = keyOf(item);
      if (key === undefined) continue;
      add(value.get(key));
      if (lengths.length === 0 || item === null) continue;
      const text = String(item);
      for (const length of lengths) {
        if (length > text.length) break;
        add(prefix.get(text.slice(0, length)));
      }
    }
}
