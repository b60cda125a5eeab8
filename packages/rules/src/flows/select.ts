/**
 * Reads values of large JSON by their paths. Runs inside an evaluator. The sizes of the values are
 * known before they are written, because many paths can select the same value.
 */
import type { Json } from "../json.ts";
import { jsonBytes } from "../json-bytes.ts";
import { memberOf } from "../json-member.ts";
import type { SerializedResult } from "./evaluation.ts";
import { writePath } from "./issues.ts";

export interface Selection {
  paths: readonly (readonly (string | number)[])[];
  /** Of all values together, as JSON. */
  maxBytes: number;
}

/** The parts are the values, in the order of the paths; undefined for a path without a value. */
export function runSelect({ paths, maxBytes }: Selection, data: Json): SerializedResult {
  let left = maxBytes;
  const values: (Json | undefined)[] = [];
  for (const path of paths) {
    let value: Json | undefined = data;
    for (const step of path) if (value !== undefined) value = memberOf(value, step);
    if (value !== undefined) left -= jsonBytes(value, left);
    if (left < 0)
      return {
        log: [],
        error: "selection_too_large",
        message: `exceeds the limit of ${maxBytes} bytes of JSON at ${writePath(path)}`,
      };
    values.push(value);
  }
  const parts = values.map((value) => (value === undefined ? undefined : JSON.stringify(value)));
  return { log: [], output: "null", parts };
}
