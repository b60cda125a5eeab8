/** Leases of connections: keepers lease due connections, and record the results. */

import {
  type Dialect,
  first,
  inLists,
  notify,
  query,
  storableText,
  type Value,
  type Verb,
} from "../../kernel/store/sql.ts";
import { read, write } from "../../kernel/store/verb.ts";
import type {
  ConnectionLease,
  ConnectionResult,
  LeasedConnection,
  SubscriptionResult,
} from "../model.ts";
import {
  CONNECTION_FIELDS,
  type ConnectionRow,
  parseFormer,
  putOffers,
  readOffers,
  removeConnection,
  toConnection,
} from "./connection-rows.ts";
import { readSubscriptions, recordSubscriptions } from "./trigger-subscriptions.ts";

/** Leases connections that are due and that no other process has leased. */
export const leaseConnections = write(
  "own",
  function* ({ by, now, until, limit }: ConnectionLease): Verb<LeasedConnection[]> {
    const rows = yield* query<ConnectionRow & { former: string }>(
      "WITH picked AS MATERIALIZED (SELECT id FROM connections WHERE due_at <= ? " +
        `ORDER BY due_at LIMIT ?${this.dialect.skipLocked}) ` +
        "UPDATE connections SET leased_by = ?, due_at = ?, touched_at = NULL " +
        `WHERE id IN (SELECT id FROM picked) RETURNING ${CONNECTION_FIELDS}, former`,
      [now, limit, by, until],
    );
    const leased: LeasedConnection[] = [];
    for (const { former, ...row } of rows)
      leased.push({
        connection: toConnection(row),
        offers: (yield* readOffers(row.id)) ?? null,
        subscriptions: yield* readSubscriptions(row.id),
        former: parseFormer(former),
      });
    return leased;
  },
);

/**
 * Extends the leases of `by` on these connections. Returns the ids of those that it still leases.
 */
export const renewConnections = write(
  "own",
  function* (
    { by, now, until }: Omit<ConnectionLease, "limit">,
    ids: readonly string[],
  ): Verb<string[]> {
    const renewed: string[] = [];
    for (const { list, params } of inLists([...ids].sort(), this.dialect, 3))
      for (const { id } of yield* query<{ id: string }>(
        // An expired lease is not renewed: another process may be about to lease the connection.
        `WITH leased AS MATERIALIZED (SELECT id FROM connections WHERE id IN ${list} AND leased_by = ? ` +
          `AND due_at > ? ORDER BY id${this.dialect.forUpdate}) ` +
          "UPDATE connections SET due_at = ? WHERE id IN (SELECT id FROM leased) RETURNING id",
        [...params, by, now, until],
      ))
        renewed.push(id);
    return renewed;
  },
);

interface LeasedRow {
  revision: number;
  deleted: number;
  touched_at: number | null;
}

/** Locks the connection if `by` holds its lease. */
function* lockLeased(dialect: Dialect, by: string, id: string): Verb<LeasedRow | undefined> {
  return yield* first<LeasedRow>(
    `SELECT revision, deleted, touched_at FROM connections WHERE id = ? AND leased_by = ?${dialect.forUpdate}`,
    [id, by],
  );
}

/**
 * Records the result and ends the lease, if `by` still holds it. A deleted connection without
 * subscriptions is removed. Returns false if the lease was lost; then nothing is recorded.
 */
export const finishConnection = write(
  "own",
  function* (
    by: string,
    result: ConnectionResult,
    subscriptions: readonly SubscriptionResult[],
    now: number,
  ): Verb<boolean> {
    const { dialect } = this;
    const { id, revision, offers, next_at } = result;
    const leased = yield* lockLeased(dialect, by, id);
    if (!leased) return false;
    yield* recordSubscriptions(dialect, id, subscriptions, now);
    const { touched_at } = leased;
    const next = touched_at === null ? next_at : Math.min(next_at, yield* dueAfter(result, leased));
    const values: [string, Value][] = [
      ["leased_by", null],
      ["touched_at", null],
      ["next_at", next],
      ["due_at", next],
    ];
    if (revision === leased.revision) {
      const { status, error, checked_at, attempt } = result;
      if (status !== undefined) values.push(["status", status]);
      if (error !== undefined) values.push(["error", error && storableText(error)]);
      if (checked_at !== undefined) values.push(["checked_at", checked_at]);
      if (attempt !== undefined) values.push(["attempt", attempt]);
      if (offers) {
        values.push(["tool_count", offers.tools.length], ["trigger_count", offers.triggers.length]);
        yield* putOffers(dialect, id, offers);
      }
    }
    yield* query(
      `UPDATE connections SET ${values.map(([column]) => `${column} = ?`).join(", ")} WHERE id = ?`,
      [...values.map(([, value]) => value), id],
    );
    if (leased.deleted === 1 && (yield* readSubscriptions(id)).length === 0)
      yield* removeConnection(id);
    else if (touched_at !== null) yield* notify({ topic: "connections", due: next });
    return true;
  },
);

/** When a connection that was touched during its lease is due. */
function* dueAfter(
  { id, revision, pause_until = 0 }: ConnectionResult,
  leased: LeasedRow,
): Verb<number> {
  const touchedAt = leased.touched_at ?? 0;
  const isChanged =
    revision !== leased.revision ||
    leased.deleted === 1 ||
    (yield* first("SELECT 1 FROM trigger_subscriptions WHERE connection_id = ? AND next_at <= ?", [
      id,
      touchedAt,
    ])) !== undefined;
  return isChanged ? touchedAt : Math.max(touchedAt, pause_until);
}

/** Deletes the former servers up to `revision`, during a lease. False if the lease was lost. */
export const dropFormerServers = write(
  "own",
  function* (by: string, connection: string, revision: number): Verb<boolean> {
    if (!(yield* lockLeased(this.dialect, by, connection))) return false;
    const row = yield* first<{ former: string }>("SELECT former FROM connections WHERE id = ?", [
      connection,
    ]);
    const remaining = parseFormer(row?.former ?? "[]").filter(
      (server) => server.revision > revision,
    );
    yield* query("UPDATE connections SET former = ? WHERE id = ?", [
      JSON.stringify(remaining),
      connection,
    ]);
    return true;
  },
);

/** Records the progress of subscriptions during a lease. False if the lease was lost. */
export const saveSubscriptions = write(
  "own",
  function* (
    by: string,
    connection: string,
    subscriptions: readonly SubscriptionResult[],
    now: number,
  ): Verb<boolean> {
    if (!(yield* lockLeased(this.dialect, by, connection))) return false;
    yield* recordSubscriptions(this.dialect, connection, subscriptions, now);
    return true;
  },
);

/** When the next connection is due; null if there is none. */
export const nextConnectionDue = read("own", function* (): Verb<number | null> {
  const row = yield* first<{ at: number | null }>("SELECT min(due_at) AS at FROM connections");
  return row?.at ?? null;
});

/** Ends the leases of `by`, so that other processes can lease the connections. */
export const releaseConnections = write("own", function* (by: string): Verb<void> {
  const released = yield* query<{ next_at: number }>(
    "WITH leased AS MATERIALIZED (SELECT id FROM connections WHERE leased_by = ? " +
      `ORDER BY id${this.dialect.forUpdate}) ` +
      "UPDATE connections SET leased_by = NULL, due_at = next_at WHERE id IN (SELECT id FROM leased) RETURNING next_at",
    [by],
  );
  if (released.length > 0)
    yield* notify({
      topic: "connections",
      due: Math.min(...released.map(({ next_at }) => next_at)),
    });
});
