/** Webhook subscriptions, their delivery progress and their leases. */

import type { RowOf } from "../../kernel/store/schema.ts";
import { first, query, type Value, type Verb } from "../../kernel/store/sql.ts";
import { read, write } from "../../kernel/store/verb.ts";
import type {
  DeliveryProgress,
  Lease,
  NewSubscription,
  PutSubscriptionOptions,
  Subscription,
} from "./model.ts";
import type { mcpEventsTables } from "./tables.ts";

export * from "./tables.ts";

type SubscriptionRow = RowOf<typeof mcpEventsTables.subscriptions>;

const toSubscription = ({ places, ...row }: SubscriptionRow): Subscription => ({
  ...row,
  tenants: JSON.parse(row.tenants) as string[],
  arguments: JSON.parse(row.arguments) as Subscription["arguments"],
  positions: JSON.parse(places) as Subscription["positions"],
  gap: row.gap === 1,
});

/**
 * Creates a subscription. If it exists, changes its secret and expiry, and keeps its positions.
 * Returns undefined if the subscription is new and the principal has reached its limit.
 */
export const putSubscription = write(
  "own",
  function* (
    subscription: NewSubscription,
    { now, limit, formerUntil }: PutSubscriptionOptions,
  ): Verb<Subscription | undefined> {
    // Serializes the calls of each principal, so that the limit is exact.
    yield* query(`SELECT id FROM tokens WHERE id = ?${this.dialect.forUpdate}`, [
      subscription.principal,
    ]);
    const existing = yield* first("SELECT id FROM subscriptions WHERE id = ?", [subscription.id]);
    if (!existing && (yield* countSubscriptions.call(this, subscription.principal)) >= limit)
      return undefined;
    const row = yield* first<SubscriptionRow>(
      "INSERT INTO subscriptions (id, principal, tenants, name, arguments, url, secret, secret_hash, " +
        "places, expires_at, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) " +
        "ON CONFLICT (id) DO UPDATE SET " +
        "former_secret = CASE WHEN subscriptions.secret_hash = excluded.secret_hash " +
        "THEN subscriptions.former_secret ELSE subscriptions.secret END, " +
        "former_until = CASE WHEN subscriptions.secret_hash = excluded.secret_hash " +
        "THEN subscriptions.former_until ELSE CAST(? AS BIGINT) END, " +
        "secret = CASE WHEN subscriptions.secret_hash = excluded.secret_hash " +
        "THEN subscriptions.secret ELSE excluded.secret END, " +
        "secret_hash = excluded.secret_hash, expires_at = excluded.expires_at, " +
        // Increases with every change, even within a millisecond: see `ifUpdatedAt`.
        "updated_at = CASE WHEN excluded.updated_at > subscriptions.updated_at " +
        "THEN excluded.updated_at ELSE subscriptions.updated_at + 1 END RETURNING *",
      [
        subscription.id,
        subscription.principal,
        JSON.stringify(subscription.tenants),
        subscription.name,
        JSON.stringify(subscription.arguments),
        subscription.url,
        subscription.secret,
        subscription.secret_hash,
        JSON.stringify(subscription.positions),
        subscription.expires_at,
        now,
        now,
        formerUntil,
      ],
    );
    return row && toSubscription(row);
  },
);

export const findSubscription = read("own", function* (id: string): Verb<Subscription | undefined> {
  const row = yield* first<SubscriptionRow>("SELECT * FROM subscriptions WHERE id = ?", [id]);
  return row && toSubscription(row);
});

export const countSubscriptions = read("own", function* (principal: string): Verb<number> {
  const row = yield* first<{ count: number }>(
    "SELECT count(*) AS count FROM subscriptions WHERE principal = ?",
    [principal],
  );
  return row?.count ?? 0;
});

/**
 * With `ifUpdatedAt`, removes the subscription only if its `updated_at` has this value. If it was the
 * principal's last subscription to its URL, also removes the verification of the URL.
 */
export const removeSubscription = write(
  "own",
  function* (id: string, ifUpdatedAt?: number): Verb<boolean> {
    const unchanged = ifUpdatedAt === undefined ? "" : " AND updated_at = ?";
    const removed = yield* first<Pick<Subscription, "principal" | "url">>(
      `DELETE FROM subscriptions WHERE id = ?${unchanged} RETURNING principal, url`,
      ifUpdatedAt === undefined ? [id] : [id, ifUpdatedAt],
    );
    if (!removed) return false;
    const { principal, url } = removed;
    yield* query(
      "DELETE FROM callback_verifications WHERE principal = ? AND url = ? AND NOT EXISTS " +
        "(SELECT 1 FROM subscriptions WHERE principal = ? AND url = ?)",
      [principal, url, principal, url],
    );
    return true;
  },
);

/** Renews the leases of `by`, and leases free subscriptions. Returns the ids of both. */
export const leaseSubscriptions = write("own", function* ({ by, now, until, limit }: Lease) {
  // An expired lease is not renewed: another process may be about to lease the subscription.
  const renewed = yield* query<{ id: string }>(
    "UPDATE subscriptions SET leased_until = ? WHERE leased_by = ? AND leased_until > ? RETURNING id",
    [until, by, now],
  );
  const leased = yield* query<{ id: string }>(
    "WITH picked AS MATERIALIZED (SELECT id FROM subscriptions WHERE leased_until <= ? " +
      `ORDER BY leased_until LIMIT ?${this.dialect.skipLocked}) ` +
      "UPDATE subscriptions SET leased_by = ?, leased_until = ? WHERE id IN (SELECT id FROM picked) RETURNING id",
    [now, limit, by, until],
  );
  return [...renewed, ...leased].map(({ id }) => id);
});

/** Ends the leases of `by`. */
export const releaseSubscriptions = write("own", function* (by: string): Verb<void> {
  yield* query("UPDATE subscriptions SET leased_by = '', leased_until = 0 WHERE leased_by = ?", [
    by,
  ]);
});

/** Saves the progress of those subscriptions that `by` still leases, and returns their ids. */
export const recordProgress = write(
  "own",
  function* (by: string, progress: readonly DeliveryProgress[]): Verb<string[]> {
    const saved: string[] = [];
    // Sorted by id, so that two transactions cannot deadlock.
    for (const entry of progress.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
      const values: Value[] = [
        JSON.stringify(entry.positions),
        entry.gap ? 1 : 0,
        entry.attempt,
        entry.failing_since,
        entry.next_at,
        entry.last_error,
        entry.delivered_at,
      ];
      const rows = yield* query(
        "UPDATE subscriptions SET places = ?, gap = ?, attempt = ?, failing_since = ?, next_at = ?, " +
          "last_error = ?, delivered_at = ? WHERE id = ? AND leased_by = ? RETURNING id",
        [...values, entry.id, by],
      );
      if (rows.length > 0) saved.push(entry.id);
    }
    return saved;
  },
);

/** Whether the principal has proved that the URL accepts its webhooks. */
export const isVerified = read("own", function* (principal: string, url: string): Verb<boolean> {
  const row = yield* first(
    "SELECT verified_at FROM callback_verifications WHERE principal = ? AND url = ?",
    [principal, url],
  );
  return row !== undefined;
});

export const putVerification = write(
  "own",
  function* (principal: string, url: string, at: number): Verb<void> {
    yield* query(
      "INSERT INTO callback_verifications (principal, url, verified_at) VALUES (?, ?, ?) " +
        "ON CONFLICT (principal, url) DO UPDATE SET verified_at = excluded.verified_at",
      [principal, url, at],
    );
  },
);
