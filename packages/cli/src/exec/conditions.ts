/** `--filter PATH=VALUE`: values that the payload must contain, as in the tool `wait_for_event`. */
import type { Json } from "@signalbox/rules/json.ts";
import { looselyEquals } from "@signalbox/rules/match/loosely-equals.ts";
import { type Path, parsePath, valuesAt } from "@signalbox/rules/match/path.ts";

export interface Condition {
  path: Path;
  value: string;
}

/** Returns undefined if the text is not PATH=VALUE. */
export function parseCondition(text: string): Condition | undefined {
  // A quoted name in the path may contain "=".
  for (let at = text.indexOf("="); at !== -1; at = text.indexOf("=", at + 1)) {
    const path = parsePath(text.slice(0, at));
    if (path) return { path, value: text.slice(at + 1) };
  }
  return undefined;
}

/** A command line has no types: `7` equals 7 and "7", `true` equals true, `null` equals null. */
export const matchesConditions = (payload: Json, conditions: readonly Condition[]): boolean =>
  conditions.every(({ path, value }) =>
    valuesAt(payload, path).some(
      (found) => looselyEquals(found, value) || (found === null && value === "null"),
    ),
  );
