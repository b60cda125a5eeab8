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

/**
 * The parts are the values, in the order of the paths; undefined for a path without a value. The
 * output is an array of numbers: how many steps of each path were taken.
 */
export function runSelect({ paths, maxBytes }: Selection, text: string): SerializedResult {
  let data: Json;
  try {
    data = JSON.parse(text) as Json;
  } catch {
    return { log: [], error: "code_failed", message: "is not valid JSON" };
  }
  let left = maxBytes;
  const values: (Json | undefined)[] = [];
  const taken: number[] = [];
  for (const path of paths) {
    let value: Json | undefined = data;
    let steps = 0;
    while (value !== undefined && steps < path.length)
      value = memberOf(value, path[steps++] as string | number) as Json | undefined;
    taken.push(steps);
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
  return { log: [], output: JSON.stringify(taken), parts };
}
