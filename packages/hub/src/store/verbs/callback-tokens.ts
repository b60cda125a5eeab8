/** The tokens of callbacks, as hashes. */
import type { FoundCallbackToken, NewCallbackToken } from "../connection-store.ts";
import { type Dialect, first, query, type Verb } from "../sql.ts";

/** How long the token of a removed subscription is answered with "gone"; afterwards it is unknown. */
const REMOVED_TOKEN_MS = 7 * 24 * 60 * 60 * 1_000;

/** The maximum number of expired tokens that one call deletes. */
const SWEEP_LIMIT = 100;

const EXPIRE = "expires_at = CASE WHEN expires_at < ? THEN expires_at ELSE ? END";

export function* stageCallbackToken(
  dialect: Dialect,
  { hash, tenant, connection, subscription, scope, at }: NewCallbackToken,
): Verb<void> {
  yield* query(
    "DELETE FROM callback_tokens WHERE hash IN (SELECT hash FROM callback_tokens WHERE expires_at <= ? " +
      `ORDER BY expires_at LIMIT ?${dialect.skipLocked})`,
    [at, SWEEP_LIMIT],
  );
  yield* query(
    "INSERT INTO callback_tokens (hash, tenant_id, connection_id, subscription_id, scope, created_at) " +
      "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING",
    [hash, tenant, connection, subscription, scope, at],
  );
}

export function* confirmCallbackToken(
  dialect: Dialect,
  hash: string,
  formerUntil: number,
): Verb<void> {
  const token = yield* first<{ subscription_id: string }>(
    "SELECT subscription_id FROM callback_tokens WHERE hash = ?",
    [hash],
  );
  if (!token) return;
  const { subscription_id } = token;
  // Serializes concurrent calls. Locked in the order of the hashes, so that they cannot deadlock.
  yield* query(
    `SELECT hash FROM callback_tokens WHERE subscription_id = ? ORDER BY hash${dialect.forUpdate}`,
    [subscription_id],
  );
  yield* query(`UPDATE callback_tokens SET ${EXPIRE} WHERE subscription_id = ? AND hash <> ?`, [
    formerUntil,
    formerUntil,
    subscription_id,
    hash,
  ]);
  yield* query("UPDATE callback_tokens SET expires_at = NULL WHERE hash = ?", [hash]);
}

export function* expireCallbackToken(hash: string, until: number): Verb<void> {
  yield* query(`UPDATE callback_tokens SET ${EXPIRE} WHERE hash = ?`, [until, until, hash]);
}

/** Expires the tokens of a removed subscription, so that they are deleted at some time. */
export function* expireTokensOf(subscription: string, now: number): Verb<void> {
  const until = now + REMOVED_TOKEN_MS;
  yield* query(`UPDATE callback_tokens SET ${EXPIRE} WHERE subscription_id = ?`, [
    until,
    until,
    subscription,
  ]);
}

export function* findCallbackToken(
  hash: string,
  now: number,
): Verb<FoundCallbackToken | undefined> {
  const row = yield* first<{
    tenant_id: string;
    connection_id: string;
    subscription_id: string;
    expires_at: number | null;
    wanted: number;
  }>(
    "SELECT tenant_id, connection_id, subscription_id, expires_at, " +
      "CASE WHEN EXISTS (SELECT 1 FROM trigger_subscriptions s WHERE s.id = t.subscription_id AND s.wanted = 'active') " +
      "THEN 1 WHEN t.scope = 'connection' AND EXISTS (SELECT 1 FROM trigger_subscriptions s " +
      "WHERE s.connection_id = t.connection_id AND s.wanted = 'active') THEN 1 ELSE 0 END AS wanted " +
      "FROM callback_tokens t WHERE hash = ? AND (expires_at IS NULL OR expires_at > ?)",
    [hash, now],
  );
  return (
    row && {
      tenant: row.tenant_id,
      connection: row.connection_id,
      subscription: row.subscription_id,
      expires_at: row.expires_at,
      isGone: row.wanted === 0,
    }
  );
}
