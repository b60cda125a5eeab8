/** The tokens of callbacks, as hashes. */
import type {
  CallbackScope,
  ConfirmedToken,
  FoundCallbackToken,
  NewCallbackToken,
} from "../connection-store.ts";
import { type Dialect, first, query, type Value, type Verb } from "../sql.ts";

/** How long the token of a removed subscription is answered with "gone"; afterwards it is unknown. */
const REMOVED_TOKEN_MS = 7 * 24 * 60 * 60 * 1_000;

/** The maximum number of expired tokens that one call deletes. */
const SWEEP_LIMIT = 100;

/**
 * How long a token stays valid that the server no longer uses: it may still send events that it had
 * queued. Rejected tokens too, as a server may store one and then fail.
 */
const GRACE_MS = 24 * 60 * 60 * 1_000;

/** How many of the oldest and how many of the newest unconfirmed tokens of a subscription stay valid. */
const UNCONFIRMED = 10;

interface TokenRow {
  hash: string;
  /** Null in rows of former versions. */
  target: string | null;
  /** The types that the server may use it for, and whether the server has confirmed that. */
  types: string;
  expires_at: number | null;
  created_at: number;
}

type Types = Record<string, boolean>;
const parseTypes = (types: string): Types => JSON.parse(types) as Types;

const FIELDS = "hash, target, types, expires_at, created_at";

/** Locked in the order of the hashes, so that two transactions cannot deadlock. */
const lockTokens = (dialect: Dialect, where: string, params: readonly Value[]) =>
  query<TokenRow>(
    `SELECT ${FIELDS} FROM callback_tokens WHERE ${where} ORDER BY hash${dialect.forUpdate}`,
    params,
  );

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

export function* stageCallbackToken(dialect: Dialect, token: NewCallbackToken): Verb<void> {
  const { hash, tenant, connection, subscription, scope, target, types, at } = token;
  yield* query(
    "DELETE FROM callback_tokens WHERE hash IN (SELECT hash FROM callback_tokens WHERE expires_at <= ? " +
      `ORDER BY expires_at LIMIT ?${dialect.skipLocked})`,
    [at, SWEEP_LIMIT],
  );
  const sent: Types = Object.fromEntries(types.map((type) => [type, false]));
  yield* query(
    "INSERT INTO callback_tokens (hash, tenant_id, connection_id, subscription_id, scope, target, types, created_at) " +
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING",
    [
      hash,
      tenant,
      connection,
      subscription,
      scope,
      JSON.stringify(target),
      JSON.stringify(sent),
      at,
    ],
  );
  const valid = yield* lockTokens(dialect, "subscription_id = ? AND expires_at IS NULL", [
    subscription,
  ]);
  const unconfirmed = valid
    .filter((row) => !Object.values(parseTypes(row.types)).includes(true))
    .sort((a, b) => a.created_at - b.created_at);
  for (const row of unconfirmed.slice(UNCONFIRMED, -UNCONFIRMED)) yield* expire(row, at + GRACE_MS);
}

export function* confirmCallbackToken(
  dialect: Dialect,
  { hash, type, wanted, at }: ConfirmedToken,
): Verb<void> {
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
    `SELECT target FROM connections WHERE id = ?${dialect.forUpdate}`,
    [connection_id],
  );
  const ofConnection = scope === "connection";
  const rows = yield* lockTokens(
    dialect,
    `${ofConnection ? "connection_id" : "subscription_id"} = ? ` +
      "AND (hash = ? OR expires_at IS NULL OR expires_at > ? OR (expires_at > ? AND target <> ?))",
    [ofConnection ? connection_id : subscription_id, hash, at + GRACE_MS, at, target],
  );
  const own = rows.find((row) => row.hash === hash);
  if (!own) return;
  // The connection has been moved to another server meanwhile.
  if (connection && connection.target !== target) return yield* expire(own, at + GRACE_MS);
  const types = { ...parseTypes(own.types), [type]: true };
  yield* query("UPDATE callback_tokens SET types = ?, expires_at = NULL WHERE hash = ?", [
    JSON.stringify(types),
    hash,
  ]);
  const isWhole = Object.values(types).every((isConfirmed) => isConfirmed);
  for (const row of rows) {
    if (row === own) continue;
    const { [type]: replaced, ...rest } = parseTypes(row.types);
    if (ofConnection && replaced !== undefined) yield* setTypes(row, rest);
    const isUnused = ofConnection ? !wanted.some((one) => rest[one] !== undefined) : isWhole;
    const isElsewhere = row.target !== null && row.target !== target;
    if (isUnused) yield* expire(row, isElsewhere ? at : at + GRACE_MS);
  }
}

export function* rejectCallbackToken(
  dialect: Dialect,
  { hash, type, at }: Pick<ConfirmedToken, "hash" | "type" | "at">,
): Verb<void> {
  const [row] = yield* lockTokens(dialect, "hash = ?", [hash]);
  if (!row) return;
  const { [type]: _, ...rest } = parseTypes(row.types);
  if (Object.keys(rest).length > 0) yield* setTypes(row, rest);
  else yield* expire(row, at + GRACE_MS);
}

/** Expires the tokens of a removed subscription, so that they are deleted at some time. */
export function* expireTokensOf(dialect: Dialect, subscription: string, now: number): Verb<void> {
  for (const row of yield* lockTokens(dialect, "subscription_id = ?", [subscription]))
    yield* expire(row, now + REMOVED_TOKEN_MS);
}

/** The tokens of a connection whose server is replaced expire, even if the new one never answers. */
export function* expireTokensAt(dialect: Dialect, connection: string, at: number): Verb<void> {
  for (const row of yield* lockTokens(dialect, "connection_id = ?", [connection]))
    yield* expire(row, at + GRACE_MS);
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
