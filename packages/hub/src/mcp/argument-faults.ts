/** What is wrong with a tool's arguments, in words that somebody who calls it can act on. */
import type { z } from "zod";
import { RequestError } from "../lib/request-error.ts";

const KINDS: Record<string, string> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};
const UNITS: Record<string, string> = { string: "character", array: "item" };

/** For whatever the schema itself has no words. */
export function argumentWords(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_type")
    return issue.input === undefined
      ? "is missing"
      : `must be ${KINDS[issue.expected as string] ?? issue.expected}`;
  if (issue.code === "invalid_value") {
    const values = issue.values as readonly unknown[];
    return `must be ${values.map(String).join(" or ")}`;
  }
  if (issue.code === "too_small") return bound("least", issue.origin, issue.minimum);
  if (issue.code === "too_big") return bound("most", issue.origin, issue.maximum);
  return undefined;
}

function bound(which: "least" | "most", origin: unknown, limit: unknown): string {
  const unit = UNITS[String(origin)];
  if (!unit) return `must be at ${which} ${limit}`;
  return `must have at ${which} ${limit} ${unit}${Number(limit) === 1 ? "" : "s"}`;
}

/** One fault for all that is wrong; names that no argument has are met with those that there are. */
export function argumentFault(
  { issues }: z.ZodError,
  tool: string,
  known: readonly string[],
): RequestError {
  const unknown =
    known.length === 0
      ? `is not known here; ${tool} takes no arguments`
      : `is not known here; known are ${known.join(", ")}`;
  const errors = issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => ({ path: key.slice(0, 100), message: unknown }))
      : [{ path: issue.path.join(".") || "arguments", message: issue.message }],
  );
  const [first = { path: "arguments", message: "are not valid" }, ...rest] = errors;
  const more = rest.map(({ path, message }) => `; ${path}: ${message}`);
  return new RequestError("invalid", first.path, first.message + more.join(""), errors);
}
