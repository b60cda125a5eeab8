/** Search without an index of words: newest first, a bounded stretch of the log at a time. */
import { type Dialect, first, query, type Value, type Verb } from "../sql.ts";
import type { EventRow, Page, SearchQuery } from "../store.ts";
import { EVENT_COLUMNS, type StoredRow, toEvent } from "./event-rows.ts";

/** Rows that one search looks at: a rare word costs a bounded time and a cursor to go on with. */
const STRETCH = 5_000;
/** Replicas' clocks may differ: `received_at` follows `seq` only to within this. */
const CLOCK_SLACK_MS = 60_000;

const SEARCHED = ["type", "action", "repo", "sender", "title", "url", "external_id"] as const;

export function* searchEvents(dialect: Dialect, wanted: SearchQuery): Verb<Page<EventRow>> {
  const { tenant, limit, text = "", type, from, to, processed } = wanted;
  let top = wanted.cursor ?? Number.MAX_SAFE_INTEGER;
  if (to !== undefined) top = Math.min(top, yield* seqAfter(tenant, to + CLOCK_SLACK_MS));
  const bottom = yield* first<{ seq: number; received_at: number }>(
    "SELECT seq, received_at FROM events WHERE tenant_id = ? AND seq < ? " +
      `ORDER BY seq DESC LIMIT 1 OFFSET ${STRETCH - 1}`,
    [tenant, top],
  );

  const where = ["tenant_id = ?", "seq < ?", "seq >= ?"];
  const params: Value[] = [tenant, top, bottom?.seq ?? 0];
  const and = (condition: string, value: Value) => {
    where.push(condition);
    params.push(value);
  };
  const sought = lookFor(text);
  if (sought.ascii !== "") and(`${dialect.indexOf}(${HAYSTACK}, ?) > 0`, sought.ascii);
  if (type !== undefined) and("type = ?", type);
  if (from !== undefined) and("received_at >= ?", from);
  if (to !== undefined) and("received_at <= ?", to);
  if (processed !== undefined) and("processed = ?", processed ? 1 : 0);

  const rows = yield* query<StoredRow>(
    `SELECT ${EVENT_COLUMNS} FROM events WHERE ${where.join(" AND ")} ORDER BY seq DESC LIMIT ?`,
    [...params, limit + 1],
  );
  const looked = rows.slice(0, limit);
  const items = looked.filter(sought.matches).map(toEvent);
  if (rows.length > limit) return { items, next: looked.at(-1)?.seq ?? null };
  const below = bottom && (from === undefined || bottom.received_at >= from - CLOCK_SLACK_MS);
  return { items, next: below ? bottom.seq : null };
}

const HAYSTACK = `lower(${SEARCHED.map((column) => `coalesce(${column}, '')`).join(" || ' ' || ")} || ' #' || coalesce(CAST(number AS TEXT), ''))`;

/**
 * In the database, text is compared by its bytes and only ASCII has upper and lower case. So the
 * database looks for the longest stretch of ASCII, and what it finds is compared here.
 */
function lookFor(text: string): { ascii: string; matches: (row: StoredRow) => boolean } {
  const lower = text.toLowerCase();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
  const stretches = lower.split(/[^\u0000-\u007f]+/);
  const ascii = stretches.reduce((longest, one) => (one.length > longest.length ? one : longest));
  if (stretches.length === 1) return { ascii, matches: () => true };
  const haystack = (row: StoredRow) =>
    `${SEARCHED.map((column) => row[column] ?? "").join(" ")} #${row.number ?? ""}`;
  return { ascii, matches: (row) => haystack(row).toLowerCase().includes(lower) };
}

/** The place in the log of the first event received after a moment, by halving: no index on time. */
function* seqAfter(tenant: string, ms: number): Verb<number> {
  const head = yield* first<{ seq: number }>("SELECT seq FROM tenants WHERE id = ?", [tenant]);
  let low = 0;
  let high = (head?.seq ?? 0) + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const row = yield* first<{ seq: number; received_at: number }>(
      "SELECT seq, received_at FROM events WHERE tenant_id = ? AND seq >= ? ORDER BY seq LIMIT 1",
      [tenant, middle],
    );
    if (!row || row.received_at > ms) high = middle;
    else low = row.seq + 1;
  }
  return low;
}
