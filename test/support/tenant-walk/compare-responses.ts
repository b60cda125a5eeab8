/** Compares the responses to a request with a foreign id and with an id that never existed. */
import type { HubResponse } from "./hub-client.ts";
import type { Ids } from "./tenants.ts";

const UNRELATED_HEADERS = ["date", "content-length", "transfer-encoding", "mcp-session-id"];

/** Values that differ even between two responses to the same request, with their placeholders. */
const VOLATILE_VALUES: readonly [RegExp, string][] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<uuid>"],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "<time>"],
  [/sbx_[\w-]+|#code=[\w-]+/g, "<credential>"],
  [/(\/webhooks\/\w+\/)[\w-]{22}/g, "$1<key>"],
  [/("a-name-)[a-z2-9]{6}/g, "$1<random>"],
  // The hub appends a number to a tool name that is already in use.
  [/(other_tool)_\d+/g, "$1_<number>"],
  [/("(?:revision|version|seq|published)\\?":)\d+/g, "$1<number>"],
];

/** Returns the response as one text. Ids in `sent`, the ids of normalized requests so far, are replaced by their names. */
export function normalizeResponse(
  { status, headers, text }: HubResponse,
  sent: readonly Partial<Ids>[],
): string {
  const relevantHeaders = [...headers].filter(([name]) => !UNRELATED_HEADERS.includes(name));
  let normalized = [
    status,
    ...relevantHeaders.map(([name, value]) => `${name}: ${value}`),
    text,
  ].join("\n");
  const longestFirst = sent
    .flatMap((ids) => Object.entries(ids))
    .toSorted(([, one], [, other]) => other.length - one.length);
  for (const [name, id] of longestFirst)
    for (const spelling of new Set([id, encodeURIComponent(id)]))
      normalized = normalized.replaceAll(spelling, `<${name}>`);
  for (const [pattern, replacement] of VOLATILE_VALUES)
    normalized = normalized.replaceAll(pattern, replacement);
  return normalized.replace(/^etag: .*$/m, "etag: <etag>");
}

/** Returns the first line in which two texts differ, or undefined if they are equal. */
export function describeDifference(actual: string, expected: string): string | undefined {
  if (actual === expected) return undefined;
  const actualLines = actual.split("\n");
  const expectedLines = expected.split("\n");
  const index = actualLines.findIndex((line, at) => line !== expectedLines[at]);
  return `${excerpt(actualLines[index])}\n    instead of ${excerpt(expectedLines[index])}`;
}

const excerpt = (line = "(nothing)") => (line.length > 600 ? `${line.slice(0, 600)}…` : line);
