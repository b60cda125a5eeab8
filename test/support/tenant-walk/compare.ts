/** Compares the responses to a request with a foreign id and with an id that never existed. */
import type { HubResponse } from "./hub-client.ts";
import type { Ids } from "./tenants.ts";

const UNRELATED_HEADERS = ["date", "content-length", "transfer-encoding", "mcp-session-id"];

/** What differs between two responses to the same request. */
const VOLATILE: readonly [RegExp, string][] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<uuid>"],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "<time>"],
  [/sbx_[\w-]+|#code=[\w-]+/g, "<credential>"],
  [/(\/webhooks\/\w+\/)[\w-]{22}/g, "$1<key>"],
  [/("a-name-)[a-z2-9]{6}/g, "$1<random>"],
  // Names that are already taken get a number.
  [/(other_tool)_\d+/g, "$1_<number>"],
  [/("(?:revision|version|seq|published)\\?":)\d+/g, "$1<number>"],
];

/** The response as one text, in which the ids that were sent so far are replaced by their names. */
export function comparable(
  { status, headers, text }: HubResponse,
  sent: readonly Partial<Ids>[],
): string {
  const kept = [...headers].filter(([name]) => !UNRELATED_HEADERS.includes(name));
  let all = [status, ...kept.map(([name, value]) => `${name}: ${value}`), text].join("\n");
  const byLength = sent
    .flatMap((ids) => Object.entries(ids))
    .toSorted(([, one], [, other]) => other.length - one.length);
  for (const [name, id] of byLength)
    for (const form of new Set([id, encodeURIComponent(id)]))
      all = all.replaceAll(form, `<${name}>`);
  for (const [pattern, replacement] of VOLATILE) all = all.replaceAll(pattern, replacement);
  return all.replace(/^etag: .*$/m, "etag: <etag>");
}

/** The first line in which two texts differ, or undefined. */
export function difference(one: string, other: string): string | undefined {
  if (one === other) return undefined;
  const lines = one.split("\n");
  const others = other.split("\n");
  const at = lines.findIndex((line, nth) => line !== others[nth]);
  return `${excerpt(lines[at])}\n    instead of ${excerpt(others[at])}`;
}

const excerpt = (line = "(nothing)") => (line.length > 600 ? `${line.slice(0, 600)}…` : line);
