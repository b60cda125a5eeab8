/**
 * What a schema has against a value, with paths as people write them (`cases[0].name`), in our words
 * where the schema has none of its own: what it must be, and what it is.
 */
import type { z } from "zod";

export interface Issue {
  path: string;
  keys: readonly PropertyKey[];
  message: string;
  /** A field that there is no such thing as, whatever it holds. */
  isUnknownField: boolean;
}

export const issuesOf = (error: Pick<z.ZodError, "issues">): Issue[] =>
  error.issues.flatMap((issue) => tell(issue, []));

type Raised = z.core.$ZodIssue;

/** `above` are the keys that lead to what is looked at. */
function tell(issue: Raised, above: readonly PropertyKey[]): Issue[] {
  const keys = [...above, ...issue.path];
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) =>
      toIssue([...keys, key], "is not known here: leave it out", true),
    );
  if (!isTheirs(issue.message)) return [toIssue(keys, issue.message)];
  if (issue.code === "invalid_key")
    return issue.issues.slice(0, 1).flatMap((inner) => tell(inner, keys));
  if (issue.code === "invalid_union" && issue.errors.length > 0) {
    // Where one of the forms is the right one as far as it goes, what is wrong inside says more.
    const inner = issue.errors.find((errors) => !errors.some(isOtherType));
    if (inner) return inner.flatMap((one) => tell(one, keys));
  }
  return [toIssue(keys, wordsFor(issue))];
}

const toIssue = (keys: readonly PropertyKey[], message: string, isUnknownField = false): Issue => ({
  path: writePath(keys),
  keys,
  message,
  isUnknownField,
});

/** How the library begins what nobody has put into words. */
const isTheirs = (message: string): boolean =>
  /^(?:Invalid|Too (?:small|big)|Unrecognized)\b/.test(message);

const isOtherType = ({ code, path, message }: Raised): boolean =>
  code === "invalid_type" && path.length === 0 && isTheirs(message);

function wordsFor(issue: Raised): string {
  switch (issue.code) {
    case "invalid_type":
      return mustBe([issue.expected], receivedIn(issue.message));
    case "invalid_union":
      return wordsForUnion(issue);
    case "invalid_value": {
      const values = issue.values.map((value) => JSON.stringify(value) ?? String(value));
      return values.length === 1 ? `must be ${values[0]}` : `must be one of ${values.join(", ")}`;
    }
    case "too_small":
      return sized("at least", issue.minimum, issue.origin, issue.inclusive ?? true);
    case "too_big":
      return sized("at most", issue.maximum, issue.origin, issue.inclusive ?? true);
    case "invalid_format":
      return issue.format === "regex"
        ? `must fit the pattern ${issue.pattern}`
        : `must be as the format ${issue.format} has it`;
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    default:
      return "is not allowed here";
  }
}

function wordsForUnion(issue: Extract<Raised, { code: "invalid_union" }>): string {
  if (issue.errors.length === 0) {
    // What tells the forms apart is none of theirs.
    const { options = [] } = issue as { options?: readonly unknown[] };
    return options.length > 0
      ? `must be one of ${options.map((option) => JSON.stringify(option)).join(", ")}`
      : "is not allowed here";
  }
  const types = issue.errors.flatMap((errors) =>
    errors.flatMap((one) => (one.code === "invalid_type" ? [one] : [])),
  );
  return mustBe(
    types.map(({ expected }) => expected),
    receivedIn(types[0]?.message ?? ""),
  );
}

const receivedIn = (message: string): string | undefined => /received (\w+)$/.exec(message)?.[1];

const NAMES: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  null: "null",
};
const nameOf = (type: string): string => NAMES[type] ?? type;

function mustBe(expected: readonly string[], received: string | undefined): string {
  const names = [...new Set(expected.map(nameOf))];
  // Any of these and it is JSON: then there is nothing more to tell apart.
  const wanted = names.includes("null") && names.includes("a list") ? "JSON" : names.join(" or ");
  if (received === undefined) return `must be ${wanted}`;
  if (received === "undefined") return `is missing: it must be ${wanted}`;
  const is = nameOf(received);
  return `must be ${wanted}${is === wanted ? "" : `, but is ${is}`}`;
}

function sized(
  word: "at least" | "at most",
  limit: number | bigint,
  origin: string,
  inclusive: boolean,
): string {
  const beyond = word === "at least" ? "more than" : "less than";
  const amount = `${inclusive ? word : beyond} ${limit}`;
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
  return text || "(all of it)";
}
