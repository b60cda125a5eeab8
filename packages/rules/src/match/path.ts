/**
 * Paths into JSON, such as `issue.labels[].name`: names joined by dots, `[0]` for one item of an
 * array, `[]` for every item. Names with special characters are quoted: `data["odd.name"]`.
 */
import type { Json } from "../json.ts";

export type Path = readonly (string | number | typeof EACH)[];
const EACH = Symbol("each");

const STEP = /(?:^|\.)([^.[\]"]+)|\[(\d{1,9})\]|(\[\])|\["((?:[^"\\]|\\.)*)"\]/y;

/** Returns undefined if the text is not a path. */
export function parsePath(text: string): Path | undefined {
  const path: (string | number | typeof EACH)[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < text.length) {
    const match = STEP.exec(text);
    if (!match) return undefined;
    const [, name, index, each, quoted] = match;
    if (name !== undefined) path.push(name);
    else if (index !== undefined) path.push(Number(index));
    else if (each !== undefined) path.push(EACH);
    else path.push((quoted ?? "").replaceAll(/\\(.)/g, "$1"));
  }
  return path.length > 0 ? path : undefined;
}

/** Returns all values at a path. Without `[]` in the path, there is at most one. */
export function valuesAt(data: Json, path: Path): Json[] {
  let values = [data];
  for (const step of path)
    values = values.flatMap((value) => {
      if (step === EACH) return Array.isArray(value) ? value : [];
      if (Array.isArray(value))
        return typeof step === "number" && step < value.length ? [value[step] as Json] : [];
      if (typeof value !== "object" || value === null) return [];
      return Object.hasOwn(value, step) ? [value[step] as Json] : [];
    });
  return values;
}

/** Returns true if `keys` is the location of a value at the path, or of a value inside of it. */
export const isWithin = (keys: readonly PropertyKey[], path: Path): boolean =>
  path.length <= keys.length &&
  path.every((step, at) => {
    const key = keys[at];
    return step === EACH ? typeof key === "number" : String(step) === String(key);
  });
