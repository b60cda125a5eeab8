import { REDELIVERY_STATES, type RedeliveryState } from "@signalbox/contract/redelivery.ts";
import { columnsOf } from "../kernel/store/schema.ts";
import {
  type Dialect,
  execute,
  first,
  inLists,
  insert,
  query,
  storableText,
  type Verb,
} from "../kernel/store/sql.ts";
import { read, write } from "../kernel/store/verb.ts";
import type {
  DeliveryAttempt,
  Redelivery,
  RedeliveryChange,
  RedeliverySweep,
  SweepEnd,
  SweepLease,
  SweepProgress,
} from "./model.ts";
import { redeliveryTables } from "./tables.ts";

export * from "./tables.ts";

const SWEEP = "read_until, cursor, newest_at, next_at, completed_at, error";

/** Makes a sweep due at `at`, unless one is due earlier. */
export const requestRedeliverySweep = write("registry", function* (at: number): Verb<void> {
  yield* execute(
    "INSERT INTO github_sweep (id, read_until, next_at, paused_until, leased_until) VALUES (1, 0, ?, 0, 0) " +
      "ON CONFLICT (id) DO UPDATE SET next_at = CASE WHEN excluded.next_at < github_sweep.next_at " +
      "THEN excluded.next_at ELSE github_sweep.next_at END",
    [at],
  );
});

/** Leases the sweep if it is due. Otherwise, `due_at` is the time to try again. */
export const leaseRedeliverySweep = write(
  "registry",
  function* ({
    by,
    now,
    until,
  }: SweepLease): Verb<{ leased: RedeliverySweep } | { leased: undefined; due_at: number }> {
    const leased = yield* first<RedeliverySweep>(
      "UPDATE github_sweep SET leased_by = ?, leased_until = ? WHERE id = 1 AND next_at <= ? " +
        `AND paused_until <= ? AND leased_until <= ? RETURNING ${SWEEP}`,
      [by, until, now, now, now],
    );
    if (leased) return { leased };
    const row = yield* first<{ next_at: number; paused_until: number; leased_until: number }>(
      "SELECT next_at, paused_until, leased_until FROM github_sweep WHERE id = 1",
    );
    const { next_at = now, paused_until = 0, leased_until = 0 } = row ?? {};
    return { leased: undefined, due_at: Math.max(next_at, paused_until, leased_until) };
  },
);

/** Renews the lease, and locks its row, so that concurrent verbs of one sweep run one after the other. */
function* renewLease({ by, now, until }: SweepLease): Verb<boolean> {
  const renewed = yield* first(
    "UPDATE github_sweep SET leased_until = ? WHERE id = 1 AND leased_by = ? AND leased_until > ? RETURNING id",
    [until, by, now],
  );
  return renewed !== undefined;
}

/**
 * Records one page of attempts and the progress, and renews the lease. `failed` is the number of new
 * open redeliveries, and `delivered` the number of known ones that have been delivered since. Returns
 * undefined if the lease is lost.
 */
export const recordAttempts = write(
  "registry",
  function* (
    lease: SweepLease,
    attempts: readonly DeliveryAttempt[],
    { read_until, cursor, newest_at }: SweepProgress,
  ): Verb<{ failed: number; delivered: number } | undefined> {
    if (!(yield* renewLease(lease))) return undefined;
    const known = yield* findRedeliveries(
      this.dialect,
      attempts.map(({ guid }) => guid),
    );
    const formerStates = new Map([...known].map(([guid, { state }]) => [guid, state]));
    const changed = new Set<string>();
    // From the oldest to the newest, so that the newest attempt is merged last.
    for (const attempt of attempts.toReversed()) {
      const merged = mergeAttempt(known.get(attempt.guid), attempt);
      if (!merged) continue;
      known.set(attempt.guid, merged);
      changed.add(attempt.guid);
    }
    const rows = [...changed].map((guid) => known.get(guid) as Redelivery);
    yield* insert(
      "github_redeliveries",
      COLUMNS,
      rows.map((row) => COLUMNS.map((column) => row[column])),
      `ON CONFLICT (guid) DO UPDATE SET ${COLUMNS.slice(1)
        .map((column) => `${column} = excluded.${column}`)
        .join(", ")}`,
    );
    yield* execute(
      "UPDATE github_sweep SET read_until = ?, cursor = ?, newest_at = ? WHERE id = 1",
      [read_until, cursor, newest_at],
    );
    return {
      failed: rows.filter(({ guid, state }) => state === "open" && !formerStates.has(guid)).length,
      delivered: rows.filter(
        ({ guid, state }) =>
          state === "delivered" && formerStates.has(guid) && formerStates.get(guid) !== "delivered",
      ).length,
    };
  },
);

const COLUMNS = columnsOf(redeliveryTables.github_redeliveries);

function* findRedeliveries(
  dialect: Dialect,
  guids: readonly string[],
): Verb<Map<string, Redelivery>> {
  const found = new Map<string, Redelivery>();
  for (const { list, params } of inLists([...new Set(guids)], dialect, 0))
    for (const row of yield* query<Redelivery>(
      `SELECT ${COLUMNS} FROM github_redeliveries WHERE guid IN ${list}`,
      params,
    ))
      found.set(row.guid, row);
  return found;
}

/** Returns the redelivery with the attempt; undefined if the attempt is not stored. */
function mergeAttempt(
  known: Redelivery | undefined,
  attempt: DeliveryAttempt,
): Redelivery | undefined {
  // Most webhooks succeed with their first attempt: they are not stored. A successful redelivery is
  // stored, because its failed attempt is older, and follows on a later page.
  if (attempt.is_ok && !attempt.is_redelivery && !known) return undefined;
  const isNewest = !known || attempt.at >= known.attempted_at;
  const failed_at = Math.min(attempt.at, known?.failed_at ?? attempt.at);
  const last = isNewest && {
    attempt_id: attempt.id,
    attempted_at: attempt.at,
    status: storableText(attempt.status),
    status_code: attempt.status_code,
  };
  if (known)
    return {
      ...known,
      ...last,
      failed_at,
      ...(attempt.is_ok && { state: "delivered", note: null }),
    };
  return {
    guid: attempt.guid,
    state: attempt.is_ok ? "delivered" : "open",
    attempt_id: attempt.id,
    attempted_at: attempt.at,
    status: storableText(attempt.status),
    status_code: attempt.status_code,
    event: attempt.event,
    action: attempt.action,
    installation: attempt.installation,
    failed_at,
    requests: 0,
    requested_at: null,
    next_at: attempt.at,
    note: null,
  };
}

/** The open redeliveries that are due, in the order of `next_at`. */
export const dueRedeliveries = read("registry", function* (now: number, limit: number) {
  return yield* query<Redelivery>(
    `SELECT ${COLUMNS} FROM github_redeliveries WHERE state = 'open' AND next_at <= ? ORDER BY next_at, guid LIMIT ?`,
    [now, limit],
  );
});

/** Changes a redelivery if it is open, and renews the lease. False if the lease is lost. */
export const changeRedelivery = write(
  "registry",
  function* (lease: SweepLease, guid: string, change: RedeliveryChange): Verb<boolean> {
    if (!(yield* renewLease(lease))) return false;
    const { note } = change;
    const entries = Object.entries({ ...change, ...(note && { note: storableText(note) }) });
    yield* execute(
      `UPDATE github_redeliveries SET ${entries.map(([column]) => `${column} = ?`).join(", ")} WHERE guid = ? AND state = 'open'`,
      [...entries.map(([, value]) => value), guid],
    );
    return true;
  },
);

/**
 * Opens the redelivery again: it is due at `at` and has no requests, and a sweep is due too. Returns
 * undefined if the webhook was delivered, is unknown, or failed first at `failed_after` or before.
 */
export const retryRedelivery = write(
  "registry",
  function* (guid: string, at: number, failedAfter: number): Verb<Redelivery | undefined> {
    const where = "guid = ? AND state <> 'delivered' AND failed_at > ?";
    const select = `SELECT guid FROM github_redeliveries WHERE ${where}`;
    if (!(yield* first(select, [guid, failedAfter]))) return undefined;
    // The sweep first: other transactions lock its row before those of the redeliveries.
    yield* requestRedeliverySweep.call(this, at);
    return yield* first<Redelivery>(
      "UPDATE github_redeliveries SET state = 'open', requests = 0, next_at = ?, note = NULL " +
        `WHERE ${where} RETURNING ${COLUMNS}`,
      [at, guid, failedAfter],
    );
  },
);

/** Records the end of a sweep, and ends the lease. False if the lease is lost. */
export const finishRedeliverySweep = write(
  "registry",
  function* (by: string, end: SweepEnd): Verb<boolean> {
    const { now, next_at, paused_until, is_complete, error, remove_before } = end;
    const finished = yield* first(
      "UPDATE github_sweep SET leased_by = NULL, leased_until = 0, next_at = ?, paused_until = ?, error = ?, " +
        "completed_at = CASE WHEN ? = 1 THEN ? ELSE completed_at END WHERE id = 1 AND leased_by = ? RETURNING id",
      [next_at, paused_until, error && storableText(error), is_complete ? 1 : 0, now, by],
    );
    if (!finished) return false;
    for (const state of REDELIVERY_STATES)
      yield* execute("DELETE FROM github_redeliveries WHERE state = ? AND failed_at < ?", [
        state,
        remove_before,
      ]);
    return true;
  },
);

/** Undefined before the first sweep. */
export const getRedeliverySweep = read("registry", function* (): Verb<RedeliverySweep | undefined> {
  return yield* first<RedeliverySweep>(`SELECT ${SWEEP} FROM github_sweep WHERE id = 1`);
});

/** Newest first. */
export const listRedeliveries = read(
  "registry",
  function* (state: RedeliveryState, limit: number): Verb<Redelivery[]> {
    return yield* query<Redelivery>(
      `SELECT ${COLUMNS} FROM github_redeliveries WHERE state = ? ORDER BY failed_at DESC, guid LIMIT ?`,
      [state, limit],
    );
  },
);

/** Higher counts are returned as `max`. */
export const countRedeliveries = read("registry", function* (max: number): Verb<
  Record<RedeliveryState, number>
> {
  const counts = { open: 0, given_up: 0, delivered: 0 };
  for (const state of REDELIVERY_STATES)
    counts[state] =
      (yield* first<{ count: number }>(
        "SELECT count(*) AS count FROM (SELECT 1 FROM github_redeliveries WHERE state = ? LIMIT ?) AS counted",
        [state, max],
      ))?.count ?? 0;
  return counts;
});
