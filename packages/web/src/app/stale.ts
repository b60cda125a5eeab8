/** Which queries a change has made stale. The first part of a query key is the topic of its changes. */
type Changes = ReadonlyMap<string, ReadonlySet<string> | "all">;

export function mergeChange(
  changes: Changes,
  { topic, ids }: { topic: string; ids?: string[] },
): Changes {
  const before = changes.get(topic) ?? new Set<string>();
  return new Map(changes).set(
    topic,
    before === "all" || ids === undefined ? "all" : new Set([...before, ...ids]),
  );
}

const isId = (part: unknown): part is string =>
  typeof part === "string" && /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(part);

/** Lists of flows and triggers that show the last run of each. */
const showsRuns = (topic: unknown, second: unknown) =>
  topic === "flows" && (second === "all" || second === "triggers");

/** A query of one thing is stale if that thing has changed; lists are always. */
export function isStale([topic, second]: readonly unknown[], changes: Changes): boolean {
  if (changes.has("runs") && showsRuns(topic, second)) return true;
  const ids = changes.get(topic as string);
  if (ids === undefined) return false;
  return ids === "all" || !isId(second) || ids.has(second);
}
