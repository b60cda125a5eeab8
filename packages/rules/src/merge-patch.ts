/** JSON Merge Patch, RFC 7396. Recursive: the caller must limit the nesting of the patch. */
import { isObject, type JsonObject } from "./json.ts";

/** Merges objects at every level. A null removes the field; every other value replaces the field. */
export function mergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  const merged = new Map(Object.entries(target));
  for (const [name, value] of Object.entries(patch)) {
    const before = merged.get(name);
    if (value === null) merged.delete(name);
    else if (!isObject(value)) merged.set(name, value);
    else merged.set(name, mergePatch(isObject(before) ? before : {}, value));
  }
  return Object.fromEntries(merged);
}
