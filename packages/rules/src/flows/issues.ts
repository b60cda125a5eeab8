/**
 * Converts Zod's issues to messages for people, with paths as authors write them (`cases[0].name`).
 * A message names the expected and the actual type. Messages that a schema defines are not changed.
 */
import type { z } from "zod";
import { nameType } from "./type-names.ts";

export interface Issue {
  path: string;
  keys: readonly PropertyKey[];
  message: string;
  /** Whether the issue is that the schema does not have this field. */
  isUnknownField: boolean;
}

export const issuesOf = (error: Pick<z.ZodError, "issues">): Issue[] =>
  error.issues.flatMap((issue) => toIssues(issue, []));

/** Returns the first `max` issues and the total number. Builds no messages for the other issues. */
export function firstIssues(
  error: Pick<z.ZodError, "issues">,
  max: number,
): { issues: Issue[]; total: number } {
  const issues: Issue[] = [];
  let total = 0;
  for (const issue of error.issues) {
    if (issues.length < max) issues.push(...toIssues(firstKeys(issue, max - issues.length), []));
    total += issue.code === "unrecognized_keys" ? issue.keys.length : 1;
  }
  return { issues: issues.slice(0, max), total: Math.max(total, issues.length) };
}

const firstKeys = (issue: ZodIssue, max: number): ZodIssue =>
  issue.code === "unrecognized_keys" ? { ...issue, keys: issue.keys.slice(0, max) } : issue;

type ZodIssue = z.core.$ZodIssue;

/** The path of the issue is relative to the value at `parents`. */
function toIssues(issue: ZodIssue, parents: readonly PropertyKey[]): Issue[] {
  const keys = [...parents, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    const message = isDefault(issue.message) ? "unexpected field: remove it" : issue.message;
    return issue.keys.map((key) => toIssue([...keys, key], message, true));
  }
  if (!isDefault(issue.message)) return [toIssue(keys, issue.message)];
  if (issue.code === "invalid_key")
    return issue.issues.slice(0, 1).flatMap((inner) => toIssues(inner, keys));
  if (issue.code === "invalid_union" && issue.errors.length > 0) {
    // If the value has the type of one option, the errors of this option are more precise.
    const option = issue.errors.find((errors) => !errors.some(isTypeMismatch));
    if (option) return option.flatMap((inner) => toIssues(inner, keys));
  }
  return [toIssue(keys, describeIssue(issue))];
}

const toIssue = (keys: readonly PropertyKey[], message: string, isUnknownField = false): Issue => ({
  path: writePath(keys),
  keys,
  message,
  isUnknownField,
});

/** Whether this is one of Zod's default messages. */
const isDefault = (message: string): boolean =>
  /^(?:Invalid|Too (?:small|big)|Unrecognized)\b/.test(message);

/** Whether the value itself, not a value inside of it, has the wrong type. */
const isTypeMismatch = ({ code, path, message }: ZodIssue): boolean =>
  code === "invalid_type" && path.length === 0 && isDefault(message);

function describeIssue(issue: ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return describeType([issue.expected], receivedType(issue.message));
    case "invalid_union":
      return describeUnion(issue);
    case "invalid_value":
      return describeValues(issue.values.map((value) => JSON.stringify(value) ?? String(value)));
    case "too_small":
      return describeLimit("at least", issue.minimum, issue.origin, issue.inclusive ?? true);
    case "too_big":
      return describeLimit("at most", issue.maximum, issue.origin, issue.inclusive ?? true);
    case "invalid_format":
      return issue.format === "regex"
        ? `must match the pattern ${issue.pattern}`
        : `must match the format ${issue.format}`;
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    default:
      return "is not allowed";
  }
}

const describeValues = (values: readonly string[]): string =>
  values.length === 1 ? `must be ${values[0]}` : `must be one of ${values.join(", ")}`;

function describeUnion(issue: Extract<ZodIssue, { code: "invalid_union" }>): string {
  if (issue.errors.length === 0) {
    // The union has a discriminator, and no option has its value.
    const { options = [] } = issue as { options?: readonly unknown[] };
    return options.length > 0
      ? `must be one of ${options.map((option) => JSON.stringify(option)).join(", ")}`
      : "is not allowed";
  }
  const types = issue.errors.flatMap((errors) =>
    errors.flatMap((error) => (error.code === "invalid_type" ? [error] : [])),
  );
  return describeType(
    types.map(({ expected }) => expected),
    receivedType(types[0]?.message ?? ""),
  );
}

const receivedType = (message: string): string | undefined => /received (\w+)$/.exec(message)?.[1];

function describeType(expected: readonly string[], received: string | undefined): string {
  const names = [...new Set(expected.map(nameType))];
  // Only a union of all JSON types contains both null and array.
  const wanted = names.includes("null") && names.includes("an array") ? "JSON" : names.join(" or ");
  if (received === undefined) return `must be ${wanted}`;
  if (received === "undefined") return `is missing: it must be ${wanted}`;
  const actual = nameType(received);
  return `must be ${wanted}${actual === wanted ? "" : `, but is ${actual}`}`;
}

function describeLimit(
  bound: "at least" | "at most",
  limit: number | bigint,
  origin: string,
  inclusive: boolean,
): string {
  const exclusive = bound === "at least" ? "more than" : "less than";
  const amount = `${inclusive ? bound : exclusive} ${limit}`;
  const plural = Number(limit) === 1 ? "" : "s";
  if (origin === "string") return `must have ${amount} character${plural}`;
  if (origin === "array" || origin === "set") return `must have ${amount} item${plural}`;
  return `must be ${amount}`;
}

export function writePath(keys: readonly PropertyKey[]): string {
  let text = "";
  for (const key of keys) {
    if (typeof key === "number") text += `[${key}]`;
    else if (/^[^\s.[\]"'{}?]+$/.test(String(key))) text += text ? `.${String(key)}` : String(key);
    else text += `["${String(key).replaceAll(/["\\]/g, "\\$&")}"]`;
  }
  return text || "(root)";
}
