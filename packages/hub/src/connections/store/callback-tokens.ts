/** The tokens of callbacks, as hashes. */

import type { FoundCallbackToken } from "../../events/model.ts";
import { type Dialect, first, query, type Value, type Verb } from "../../kernel/store/sql.ts";
import { read, write } from "../../kernel/store/verb.ts";
import type { CallbackScope, ConfirmedToken, NewCallbackToken } from "../model.ts";

/** How long callbacks with the token of a removed subscription get "gone"; then the token is deleted. */
const REMOVED_TOKEN_MS = 7 * 24 * 60 * 60 * 1_000;

/** The maximum number of expired tokens that one call deletes. */
const SWEEP_LIMIT = 100;

/**
 * How long a token stays valid after the server has replaced or rejected it. The server may still send
 * queued events with a replaced token. It may also have stored a token before it returned an error.
 */
const GRACE_MS = 24 * 60 * 60 * 1_000;

interface TokenRow {
  hash: string;
  /** Null in rows that an earlier version of the hub has stored. */
  target: string | null;
  /** JSON of `Types`. */
  types: string;
  expires_at: number | null;
}

/** The event types for which the server may use the token, and whether the server has confirmed each. */
type Types = Record<string, boolean>;
const parseTypes = (types: string): Types => JSON.parse(types) as Types;

const FIELDS = "hash, target, types, expires_at";

/** Locks rows in the order of the hashes, so that two transactions cannot deadlock. */
const lockTokens = (dialect: Dialect, where: string, params: readonly Value[]) =>
  query<TokenRow>(
    `SELECT ${FIELDS} FROM callback_tokens WHERE ${where} ORDER BY hash${dialect.forUpdate}`,
    params,
  );

/** Makes the token expire at `until`, unless it expires earlier. */
function* expire({ hash, expires_at }: TokenRow, until: number): Verb<void> {
  if (expires_at !== null && expires_at <= until) return;
  yield* query("UPDATE callback_tokens SET expires_at = ? WHERE hash = ?", [until, hash]);
}

function* setTypes({ hash }: TokenRow, types: Types): Verb<void> {
  yield* query("UPDATE callback_tokens SET types = ? WHERE hash = ?", [
    JSON.stringify(types),
    hash,
  ]);
}

/**
 * Stores a token before it is sent to the server. It is valid immediately, even if it had expired. Does
 * nothing if the subscription has another generation meanwhile.
 */
export const stageCallbackToken = write("own", function* (token: NewCallbackToken): Verb<void> {
  const { hash, tenant, connection, subscription, generation, scope, target, types, at } = token;
  const found = yield* first<TokenRow & { scope: CallbackScope }>(
    `SELECT ${FIELDS}, scope FROM callback_tokens WHERE hash = ?`,
    [hash],
  );
  const known = found?.expires_at === null ? parseTypes(found.types) : {};
  // A renewal of a token that is valid for these types writes nothing.
  if (found?.expires_at === null && found.scope === scope && types.every((type) => type in known))
    return;
  // Serializes with `rotateCallbackToken`.
  yield* query(`SELECT id FROM connections WHERE id = ?${this.dialect.forUpdate}`, [connection]);
  const current = yield* first<{ token_generation: number }>(
    "SELECT token_generation FROM trigger_subscriptions WHERE id = ?",
    [subscription],
  );
  if (current?.token_generation !== generation) return;
  yield* query(
    "DELETE FROM callback_tokens WHERE hash IN (SELECT hash FROM callback_tokens WHERE expires_at <= ? " +
      `ORDER BY expires_at LIMIT ?${this.dialect.skipLocked})`,
    [at, SWEEP_LIMIT],
  );
  const staged = Object.fromEntries(types.map((type) => [type, known[type] ?? false]));
  // A server with one token per connection may still use the token for its former types.
  const stagedTypes: Types = scope === "connection" ? { ...known, ...staged } : staged;
  yield* query(
    "INSERT INTO callback_tokens (hash, tenant_id, connection_id, subscription_id, scope, target, types, created_at) " +
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?) " +
      "ON CONFLICT (hash) DO UPDATE SET scope = excluded.scope, types = excluded.types, expires_at = NULL",
    [
      hash,
      tenant,
      connection,
      subscription,
      scope,
      JSON.stringify(target),
      JSON.stringify(stagedTypes),
      at,
    ],
  );
});

/**
 * Records that the server uses this token for the type. Other tokens that the server no longer needs
 * expire: after a day, or immediately if they were sent to another server.
 *
 * Scope `subscription`: when all types of this token are confirmed, no other token of the subscription
 * is needed. Scope `connection`: this token replaces the other tokens of the connection for the
 * type. Another token is needed while it has a wanted type left.
 */
export const confirmCallbackToken = write(
  "own",
  function* ({ hash, type, wanted, at }: ConfirmedToken): Verb<void> {
    const found = yield* first<{
      connection_id: string;
      subscription_id: string;
      scope: CallbackScope;
      target: string | null;
    }>("SELECT connection_id, subscription_id, scope, target FROM callback_tokens WHERE hash = ?", [
      hash,
    ]);
    if (!found) return;
    const { connection_id, subscription_id, scope, target } = found;
    // Serializes concurrent calls.
    const connection = yield* first<{ target: string }>(
      `SELECT target FROM connections WHERE id = ?${this.dialect.forUpdate}`,
      [connection_id],
    );
    const isForConnection = scope === "connection";
    const rows = yield* lockTokens(
      this.dialect,
      `${isForConnection ? "connection_id" : "subscription_id"} = ? ` +
        "AND (hash = ? OR expires_at IS NULL OR expires_at > ? OR (expires_at > ? AND target <> ?))",
      [isForConnection ? connection_id : subscription_id, hash, at + GRACE_MS, at, target],
    );
    const confirmed = rows.find((row) => row.hash === hash);
    if (!confirmed) return;
    // The server of the connection has been replaced meanwhile.
    if (connection && connection.target !== target) return yield* expire(confirmed, at + GRACE_MS);
    const former = parseTypes(confirmed.types);
    const types = { ...former, [type]: true };
    if (former[type] !== true || confirmed.expires_at !== null)
      yield* query("UPDATE callback_tokens SET types = ?, expires_at = NULL WHERE hash = ?", [
        JSON.stringify(types),
        hash,
      ]);
    const isFullyConfirmed = Object.values(types).every((isConfirmed) => isConfirmed);
    for (const row of rows) {
      if (row === confirmed) continue;
      const { [type]: replaced, ...remaining } = parseTypes(row.types);
      if (isForConnection && replaced !== undefined) yield* setTypes(row, remaining);
      const isUnused = isForConnection
        ? !wanted.some((wantedType) => remaining[wantedType] !== undefined)
        : isFullyConfirmed;
      const isOfOtherServer = row.target !== null && row.target !== target;
      if (isUnused) yield* expire(row, isOfOtherServer ? at : at + GRACE_MS);
    }
  },
);

/**
 * Records that the server rejected the token for the type. A token without types expires after a day.
 */
export const rejectCallbackToken = write(
  "own",
  function* ({ hash, type, at }: Pick<ConfirmedToken, "hash" | "type" | "at">): Verb<void> {
    const [row] = yield* lockTokens(this.dialect, "hash = ?", [hash]);
    if (!row) return;
    const { [type]: _, ...remaining } = parseTypes(row.types);
    if (Object.keys(remaining).length > 0) yield* setTypes(row, remaining);
    else yield* expire(row, at + GRACE_MS);
  },
);

/** Makes the tokens of a removed subscription expire. `stageCallbackToken` deletes expired tokens. */
export function* expireTokensOfSubscription(
  dialect: Dialect,
  subscription: string,
  now: number,
): Verb<void> {
  for (const row of yield* lockTokens(dialect, "subscription_id = ?", [subscription]))
    yield* expire(row, now + REMOVED_TOKEN_MS);
}

/**
 * Makes the tokens of a connection whose server is replaced expire, even if the new server never confirms
 * a token.
 */
export function* expireTokensOfConnection(
  dialect: Dialect,
  connection: string,
  at: number,
): Verb<void> {
  for (const row of yield* lockTokens(dialect, "connection_id = ?", [connection]))
    yield* expire(row, at + GRACE_MS);
}

/** Whether the triggers of the connection share tokens, because its server stores one per connection. */
export function* hasSharedTokens(connection: string): Verb<boolean> {
  const found = yield* first(
    "SELECT 1 FROM callback_tokens WHERE connection_id = ? AND scope = 'connection' LIMIT 1",
    [connection],
  );
  return found !== undefined;
}

/** Deletes the tokens, so that a call in progress cannot confirm them and make them valid again. */
export function* revokeTokens(
  dialect: Dialect,
  owner: { connection: string } | { subscription: string },
): Verb<void> {
  const [where, id] =
    "connection" in owner
      ? ["connection_id = ?", owner.connection]
      : ["subscription_id = ?", owner.subscription];
  for (const { hash } of yield* lockTokens(dialect, where, [id]))
    yield* query("DELETE FROM callback_tokens WHERE hash = ?", [hash]);
}

/** Undefined if the token is unknown or has expired. */
export const findCallbackToken = read("own", function* (hash: string, now: number): Verb<
  FoundCallbackToken | undefined
> {
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
});
