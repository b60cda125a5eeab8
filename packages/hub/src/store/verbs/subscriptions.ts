/** Webhook subscriptions, their delivery progress and their leases. */
import { type Dialect, first, query, type Value, type Verb } from "../sql.ts";
import type {
  DeliveryProgress,
  Lease,
  NewSubscription,
  PutSubscriptionOptions,
  Subscription,
} from "../store.ts";

interface SubscriptionRow
  extends Omit<Subscription, "tenants" | "arguments" | "positions" | "gap"> {
  tenants: string;
  arguments: string;
  places: string;
  gap: number;
}

const toSubscription = ({ places, ...row }: SubscriptionRow): Subscription => ({
  ...row,
  tenants: JSON.parse(row.tenants) as string[],
  arguments: JSON.parse(row.arguments) as Subscription["arguments"],
  positions: JSON.parse(places) as Subscription["positions"],
  gap: row.gap === 1,
});

export function* putSubscription(
  dialect: Dialect,
  given: NewSubscription,
  { now, limit, formerUntil }: PutSubscriptionOptions,
): Verb<Subscription | undefined> {
  // Serializes the calls of one principal, so that the limit is exact.
  yield* query(`SELECT id FROM tokens WHERE id = ?${dialect.forUpdate}`, [given.principal]);
  const known = yield* first("SELECT id FROM subscriptions WHERE id = ?", [given.id]);
  if (!known && (yield* countSubscriptions(given.principal)) >= limit) return undefined;
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
      given.id,
      given.principal,
      JSON.stringify(given.tenants),
      given.name,
      JSON.stringify(given.arguments),
      given.url,
      given.secret,
      given.secret_hash,
      JSON.stringify(given.positions),
      given.expires_at,
      now,
      now,
      formerUntil,
    ],
  );
  return row && toSubscription(row);
}

export function* findSubscription(id: string): Verb<Subscription | undefined> {
  const row = yield* first<SubscriptionRow>("SELECT * FROM subscriptions WHERE id = ?", [id]);
  return row && toSubscription(row);
}

export function* countSubscriptions(principal: string): Verb<number> {
  const held = yield* first<{ count: number }>(
    "SELECT count(*) AS count FROM subscriptions WHERE principal = ?",
    [principal],
  );
  return held?.count ?? 0;
}

export function* removeSubscription(id: string, ifUpdatedAt?: number): Verb<boolean> {
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
}

export function* leaseSubscriptions(
  dialect: Dialect,
  { by, now, until, limit }: Lease,
): Verb<string[]> {
  // An expired lease is not renewed: another process may have leased the subscription.
  const renewed = yield* query<{ id: string }>(
    "UPDATE subscriptions SET leased_until = ? WHERE leased_by = ? AND leased_until > ? RETURNING id",
    [until, by, now],
  );
  const leased = yield* query<{ id: string }>(
    "WITH picked AS MATERIALIZED (SELECT id FROM subscriptions WHERE leased_until <= ? " +
      `ORDER BY leased_until LIMIT ?${dialect.skipLocked}) ` +
      "UPDATE subscriptions SET leased_by = ?, leased_until = ? WHERE id IN (SELECT id FROM picked) RETURNING id",
    [now, limit, by, until],
  );
  return [...renewed, ...leased].map(({ id }) => id);
}

export function* releaseSubscriptions(by: string): Verb<void> {
  yield* query("UPDATE subscriptions SET leased_by = '', leased_until = 0 WHERE leased_by = ?", [
    by,
  ]);
}

export function* recordProgress(by: string, progress: readonly DeliveryProgress[]): Verb<string[]> {
  const held: string[] = [];
  // Sorted by id, so that two transactions cannot deadlock.
  for (const one of progress.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const values: Value[] = [
      JSON.stringify(one.positions),
      one.gap ? 1 : 0,
      one.attempt,
      one.failing_since,
      one.next_at,
      one.last_error,
      one.delivered_at,
    ];
    const rows = yield* query(
      "UPDATE subscriptions SET places = ?, gap = ?, attempt = ?, failing_since = ?, next_at = ?, " +
        "last_error = ?, delivered_at = ? WHERE id = ? AND leased_by = ? RETURNING id",
      [...values, one.id, by],
    );
    if (rows.length > 0) held.push(one.id);
  }
  return held;
}

export function* isVerified(principal: string, url: string): Verb<boolean> {
  const row = yield* first(
    "SELECT verified_at FROM callback_verifications WHERE principal = ? AND url = ?",
    [principal, url],
  );
  return row !== undefined;
}

export function* putVerification(principal: string, url: string, at: number): Verb<void> {
  yield* query(
    "INSERT INTO callback_verifications (principal, url, verified_at) VALUES (?, ?, ?) " +
      "ON CONFLICT (principal, url) DO UPDATE SET verified_at = excluded.verified_at",
    [principal, url, at],
  );
}
