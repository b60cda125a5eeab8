/** The condition that an event with this value meets: any item of a list may have it. */
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
    const step = typeof key === "number" ? "[]" : toPath([key]);
    path += path === "" || step.startsWith("[") ? step : `.${step}`;
  }
  const isPlain = value !== undefined && value !== null && typeof value !== "object";
  return { path, param: isPlain ? String(value) : { op: "exists", value: true } };
}
