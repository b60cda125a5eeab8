/**
 * Computes when a client is settled: ready to handle notifications. Claude Code registers its handlers after
 * the first lists of tools, prompts and resources, and drops every notification that arrives earlier.
 *
 * A client is settled shortly after the last page of all three lists was returned. A client that does
 * not request all lists is settled some seconds after the last response, or after `initialized`. The
 * same holds for a client whose lists failed: Claude Code repeats them three times, after up to one
 * second. While a list is in flight, the client is not settled, at most until the usual request
 * timeout of clients.
 */
export const LIST_METHODS = ["tools/list", "prompts/list", "resources/list"] as const;

export type ListMethod = (typeof LIST_METHODS)[number];

export interface ClientLists {
  initializedAt: number;
  /** The number of list requests without a response. */
  inFlight: number;
  /** The lists whose last page was returned. */
  complete: ReadonlySet<ListMethod>;
  lastResponseAt: number;
}

/** The time in which a client handles the last response and registers its handlers. */
const HANDLE_MS = 1_000;
/** The time in which a client requests the next list. */
const NEXT_LIST_MS = 5_000;
/** The usual request timeout of MCP clients. */
const GIVE_UP_MS = 60_000;

export function settlesAt(lists: ClientLists): number {
  const { initializedAt, inFlight, complete, lastResponseAt } = lists;
  const givesUpAt = initializedAt + GIVE_UP_MS;
  if (inFlight > 0) return givesUpAt;
  if (LIST_METHODS.every((method) => complete.has(method)))
    return Math.max(initializedAt, lastResponseAt + HANDLE_MS);
  return Math.min(givesUpAt, Math.max(initializedAt, lastResponseAt) + NEXT_LIST_MS);
}
