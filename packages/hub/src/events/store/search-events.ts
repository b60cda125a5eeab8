/** Search without a full-text index: newest first, in a bounded part of the log per page. */

import { first, query, together, type Value, type Verb } from "../../kernel/store/sql.ts";
import { type Page, read } from "../../kernel/store/verb.ts";
import type { EventRow, SearchQuery } from "../model.ts";
import { EVENT_FIELDS, type StoredRow, toEvent } from "./event-rows.ts";

/** The number of rows that one page scans. A rare word takes several pages, each in bounded time. */
const SCAN_LIMIT = 5_000;
/** The clocks of replicas differ: `received_at` and `seq` have the same order only beyond this time. */
const CLOCK_SLACK_MS = 60_000;

const SEARCHED = [
  "type",
  "action",
  "repo",
  "sender",
  "title",
  "url",
  "external_id",
  "check_result",
] as const;

export const searchEvents = read("tenant", function* (wanted: SearchQuery): Verb<Page<EventRow>> {
  const { tenant, limit, text = "", from, to, processed } = wanted;
  // A literal, not a parameter: the planner chooses a partial index by the text of the condition.
  const scanned =
    processed === undefined
      ? "tenant_id = ?"
      : `tenant_id = ? AND processed = ${processed ? 1 : 0}`;
  let top = wanted.cursor ?? Number.MAX_SAFE_INTEGER;
  if (to !== undefined)
    top = Math.min(top, yield* seqAfter(tenant, to + CLOCK_SLACK_MS, 0, yield* headOf(tenant)));
  const bottom = yield* first<{ seq: number; received_at: number }>(
    `SELECT seq, received_at FROM events WHERE ${scanned} AND seq < ? ` +
      `ORDER BY seq DESC LIMIT 1 OFFSET ${SCAN_LIMIT - 1}`,
    [tenant, top],
  );

  const where = [scanned, "seq < ?", "seq >= ?"];
  const params: Value[] = [tenant, top, bottom?.seq ?? 0];
  const and = (condition: string, value: Value) => {
    where.push(condition);
    params.push(value);
  };
  const pattern = compilePattern(text);
  if (pattern.ascii !== "") and(`${this.dialect.indexOf}(${HAYSTACK}, ?) > 0`, pattern.ascii);
  const { repo, origin, status } = wanted;
  // `coalesce` prevents the use of the index on types, which would be read without the bounds on `seq`.
  if (wanted.type !== undefined) and("coalesce(type, '') = ?", wanted.type);
  if (repo !== undefined) and("repo = ?", repo);
  if (origin !== undefined) {
    and("(source = ? OR source_id = ?)", origin);
    params.push(origin);
  }
  if (status === null) where.push("trigger_status IS NULL");
  else if (status !== undefined) and("trigger_status = ?", status);
  if (from !== undefined) and("received_at >= ?", from);
  if (to !== undefined) and("received_at <= ?", to);

  const rows = yield* query<StoredRow>(
    `SELECT ${EVENT_FIELDS} FROM events WHERE ${where.join(" AND ")} ORDER BY seq DESC LIMIT ?`,
    [...params, limit + 1],
  );
  const candidates = rows.slice(0, limit);
  const items = candidates.filter(pattern.matches).map(toEvent);
  if (rows.length > limit) return { items, next: candidates.at(-1)?.seq ?? null };
  const hasMore = bottom && (from === undefined || bottom.received_at >= from - CLOCK_SLACK_MS);
  return { items, next: hasMore ? bottom.seq : null };
});

const HAYSTACK = `lower(${SEARCHED.map((column) => `coalesce(${column}, '')`).join(" || ' ' || ")} || ' #' || coalesce(CAST(number AS TEXT), ''))`;

/**
 * The database compares bytes and folds the case of ASCII only. It therefore searches for the longest
 * ASCII part of the text, and the rows that it finds are compared here.
 */
function compilePattern(text: string): { ascii: string; matches: (row: StoredRow) => boolean } {
  const lower = text.toLowerCase();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
  const parts = lower.split(/[^\u0000-\u007f]+/);
  const ascii = parts.reduce((longest, part) => (part.length > longest.length ? part : longest));
  if (parts.length === 1) return { ascii, matches: () => true };
  const haystack = (row: StoredRow) =>
    `${SEARCHED.map((column) => row[column] ?? "").join(" ")} #${row.number ?? ""}`;
  return { ascii, matches: (row) => haystack(row).toLowerCase().includes(lower) };
}

/**
 * Counts the events of each period: from `times[0]` until `times[1]`, from `times[1]` until `times[2]`,
 * and so on. `times` must ascend. The counts are differences of `seq`, so they include deleted events,
 * except those before the first and after the last remaining event of the range.
 */
export const countReceived = read(
  "tenant",
  function* (tenant: string, times: readonly number[]): Verb<number[]> {
    const top = yield* headOf(tenant);
    const [bottom = top, ...ends] = yield* together(
      times.map((time) => seqAfter(tenant, time - 1, 1, top)),
    );
    // The first remaining event of the range. Removed events before it are not counted, because they may have
    // been received before the range.
    const start = (yield* eventFrom(tenant, bottom))?.seq ?? top;
    let before = start;
    return ends.map((end) => {
      const count = Math.max(end, start) - before;
      before += count;
      return count;
    });
  },
);

/** Returns a number above the `seq` of every event. */
function* headOf(tenant: string): Verb<number> {
  const head = yield* first<{ seq: number }>("SELECT seq FROM tenants WHERE id = ?", [tenant]);
  return (head?.seq ?? 0) + 1;
}

const eventFrom = (tenant: string, seq: number) =>
  first<{ seq: number; received_at: number }>(
    "SELECT seq, received_at FROM events WHERE tenant_id = ? AND seq >= ? ORDER BY seq LIMIT 1",
    [tenant, seq],
  );

/** The `seq` of the first event received after `ms`, by binary search: there is no index on time. */
function* seqAfter(tenant: string, ms: number, low: number, high: number): Verb<number> {
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const row = yield* eventFrom(tenant, middle);
    if (!row || row.received_at > ms) high = middle;
    else low = row.seq + 1;
  }
  return low;
}
