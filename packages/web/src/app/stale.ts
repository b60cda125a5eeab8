/**
 * Finds the queries that changes on the hub have made stale. The first element of a query key is the
 * topic of its changes.
 */

/** The ids that have changed, by topic. */
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

const isId = (element: unknown): element is string =>
  typeof element === "string" && /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(element);

/** Whether a query is a list of flows or triggers that shows the last run of each. */
const showsRuns = (topic: unknown, second: unknown) =>
  topic === "flows" && (second === "all" || second === "triggers");

/**
 * A query with an id is stale if the object with this id has changed. A query without an id is a list,
 * which every change of its topic makes stale.
 */
export function isStale([topic, second]: readonly unknown[], changes: Changes): boolean {
  if (changes.has("runs") && showsRuns(topic, second)) return true;
  const ids = changes.get(topic as string);
  if (ids === undefined) return false;
  return ids === "all" || !isId(second) || ids.has(second);
}
