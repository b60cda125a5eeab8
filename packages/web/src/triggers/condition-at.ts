/**
 * Creates a condition from a value in a payload. It matches events with the same value at the same path. If
 * the path goes through a list, any item of the list may have the value.
 */
import { isObject, type Json } from "@signalbox/rules/json.ts";
import { type Keys, toPath } from "../ui/json-tree/path.ts";

export function conditionAt(payload: Json, keys: Keys): { path: string; param: Json } {
  let value: Json | undefined = payload;
  let path = "";
  for (const key of keys) {
    value = Array.isArray(value)
      ? value[Number(key)]
      : isObject(value)
        ? value[String(key)]
        : undefined;
    const segment = typeof key === "number" ? "[]" : toPath([key]);
    path += path === "" || segment.startsWith("[") ? segment : `.${segment}`;
  }
  const isScalar = value !== undefined && value !== null && typeof value !== "object";
  return { path, param: isScalar ? String(value) : { op: "exists", value: true } };
}
