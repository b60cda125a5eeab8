/**
 * Reads values of large JSON by their paths. Runs inside an evaluator. The sizes of the values are
 * checked before they are serialized, because many paths can select the same large value.
 */
import type { Json } from "../json.ts";
import { jsonBytes } from "../json-bytes.ts";
import { memberOf } from "../json-member.ts";
import type { Selection, SerializedResult } from "./evaluation.ts";
import { writePath } from "./issues.ts";

/**
 * The `parts` are the values, in the order of the paths; undefined for a path without a value. The
 * `output` contains, for each path, the number of steps that were taken. A step to a value that does
 * not exist counts too.
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
  const stepCounts: number[] = [];
  for (const path of paths) {
    let value: Json | undefined = data;
    let steps = 0;
    while (value !== undefined && steps < path.length)
      value = memberOf(value, path[steps++] as string | number) as Json | undefined;
    stepCounts.push(steps);
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
  return { log: [], output: JSON.stringify(stepCounts), parts };
}
