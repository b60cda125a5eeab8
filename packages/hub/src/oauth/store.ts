/** Grants of the OAuth authorization server. */

import type { Scope } from "../kernel/access/scopes.ts";
import { columnsOf, type RowOf } from "../kernel/store/schema.ts";
import { execute, first, query, type Value, type Verb } from "../kernel/store/sql.ts";
import { read, type VerbContext, write } from "../kernel/store/verb.ts";
import { getToken, putToken, revokeChildren } from "../tokens/store.ts";
import { markUsed } from "./clients-store.ts";
import type {
  Decision,
  GrantQuery,
  NewAccessToken,
  NewOAuthGrant,
  OAuthGrant,
  Redemption,
  RedemptionResult,
  Rotation,
  RotationResult,
} from "./model.ts";
import { oauthTables } from "./tables.ts";

export * from "./clients-store.ts";
export * from "./tables.ts";

const { oauth_grants: grants } = oauthTables;
type GrantRow = RowOf<typeof grants>;

const CODES = ["code_hash", "user_code", "family_hash"] as const;
const REFRESH = ["refresh_hash", "former_hash", "rotated_at"] as const;
const GRANT_COLUMNS = columnsOf(grants, [...CODES, ...REFRESH]);

const SELECT_GRANT = `SELECT ${GRANT_COLUMNS.join(", ")} FROM oauth_grants`;
const SELECT_GRANT_SECRETS = `SELECT ${GRANT_COLUMNS.join(", ")}, refresh_hash, former_hash, rotated_at FROM oauth_grants`;

const toGrant = (row: GrantRow): OAuthGrant => ({
  id: row.id,
  client_id: row.client_id,
  client_name: row.client_name,
  status: row.status,
  redirect_uri: row.redirect_uri,
  challenge: row.challenge,
  resource: row.resource,
  scopes: JSON.parse(row.scopes) as Scope[],
  tenants: JSON.parse(row.tenants) as string[],
  person: row.person,
  parent: row.parent,
  salt: row.salt,
  created_at: row.created_at,
  expires_at: row.expires_at,
  last_used_at: row.last_used_at,
});

/** False if a grant with this id, code or user code exists; it is not changed. */
export const createOAuthGrant = write("registry", function* (grant: NewOAuthGrant): Verb<boolean> {
  const columns = [...GRANT_COLUMNS, "code_hash", "user_code"];
  const values = {
    ...grant,
    scopes: JSON.stringify(grant.scopes),
    tenants: JSON.stringify(grant.tenants),
    last_used_at: null,
  };
  const rows = yield* query(
    `INSERT INTO oauth_grants (${columns}) VALUES (${columns.map(() => "?")}) ON CONFLICT DO NOTHING RETURNING id`,
    columns.map((column) => values[column as keyof typeof values]),
  );
  if (rows.length > 0 && grant.status === "approved") yield* markUsed(grant.client_id);
  return rows.length > 0;
});

export const getOAuthGrant = read("registry", function* (id: string): Verb<OAuthGrant | undefined> {
  const row = yield* first<GrantRow>(`${SELECT_GRANT} WHERE id = ?`, [id]);
  return row && toGrant(row);
});

export const findPendingGrant = read("registry", function* (userCode: string, now: number) {
  const row = yield* first<GrantRow>(
    `${SELECT_GRANT} WHERE user_code = ? AND status = 'pending' AND expires_at > ?`,
    [userCode, now],
  );
  return row && toGrant(row);
});

/** Decides a pending grant. False if it does not exist, has expired or was decided before. */
export const decideOAuthGrant = write(
  "registry",
  function* (id: string, decision: Decision, now: number): Verb<boolean> {
    const [set, params] =
      decision.status === "denied"
        ? ["status = 'denied'", []]
        : [
            "status = 'approved', scopes = ?, tenants = ?, person = ?, parent = ?",
            [
              JSON.stringify(decision.scopes),
              JSON.stringify(decision.tenants),
              decision.person,
              decision.parent,
            ],
          ];
    const row = yield* first<GrantRow>(
      `UPDATE oauth_grants SET ${set} WHERE id = ? AND status = 'pending' AND expires_at > ? RETURNING client_id`,
      [...params, id, now],
    );
    if (row && decision.status === "approved") yield* markUsed(row.client_id);
    return row !== undefined;
  },
);

/** Of several concurrent calls with the same code, only one redeems it. */
export const redeemOAuthGrant = write(
  "registry",
  function* (redemption: Redemption): Verb<RedemptionResult> {
    const { forUpdate } = this.dialect;
    const { at, access } = redemption;
    const row = yield* first<GrantRow>(`${SELECT_GRANT} WHERE code_hash = ?${forUpdate}`, [
      redemption.code_hash,
    ]);
    if (!row) return { outcome: "unknown" };
    const { status } = row;
    const field = findMismatch(row, redemption);
    if (status === "active" || status === "revoked") {
      // With the right client id, a second use means that the code may have been intercepted, so the grant
      // is revoked. With another client id, it may be a guess.
      if (field !== "client_id") yield* revokeOAuthGrant.call(this, row.id, at);
      return { outcome: "reused" };
    }
    if (field) {
      // The client id is right, so the code may have been intercepted: a verifier can be tried only once.
      if (field === "code_verifier") yield* revokeOAuthGrant.call(this, row.id, at);
      return { outcome: "mismatch", field };
    }
    if (row.expires_at <= at) return { outcome: "expired" };
    if (status !== "approved") return { outcome: status };
    const until = yield* readParentExpiry.call(this, row.parent, at);
    if (until === undefined) return { outcome: "expired" };
    const { family_hash, refresh_hash, refresh_expires_at } = redemption;
    yield* execute(
      "UPDATE oauth_grants SET status = 'active', user_code = NULL, family_hash = ?, refresh_hash = ?, " +
        "rotated_at = ?, expires_at = ?, last_used_at = ? WHERE id = ?",
      [family_hash, refresh_hash, at, refresh_expires_at, at, row.id],
    );
    const grant = toGrant({ ...row, status: "active", expires_at: refresh_expires_at });
    yield* issueToken.call(this, grant, access, until, at);
    return { outcome: "redeemed", grant };
  },
);

function findMismatch(row: GrantRow, redemption: Redemption) {
  const { client_id, redirect_uri, challenge, resource } = redemption;
  if (client_id !== row.client_id) return "client_id";
  if (redirect_uri !== undefined && redirect_uri !== row.redirect_uri) return "redirect_uri";
  if (challenge !== row.challenge) return "code_verifier";
  return resource !== undefined && resource !== row.resource ? "resource" : undefined;
}

/**
 * Returns when the parent token expires: infinity if it never does, or if there is no parent. Returns
 * undefined if the parent has expired, is revoked or was removed.
 */
function* readParentExpiry(
  this: VerbContext,
  parent: string | null,
  at: number,
): Verb<number | undefined> {
  if (parent === null) return Number.POSITIVE_INFINITY;
  const token = yield* getToken.call(this, parent);
  if (!token || token.revoked_at !== null) return undefined;
  const until = token.expires_at ?? Number.POSITIVE_INFINITY;
  return until > at ? until : undefined;
}

function* issueToken(
  this: VerbContext,
  grant: OAuthGrant,
  access: NewAccessToken,
  until: number,
  at: number,
): Verb<void> {
  yield* putToken.call(this, {
    id: access.id,
    kind: "oauth",
    parent: grant.id,
    name: grant.client_name,
    hash: access.hash,
    scopes: access.scopes ?? grant.scopes,
    tenants: grant.tenants,
    person: grant.person,
    resource: grant.resource,
    created_at: at,
    expires_at: Math.min(access.expires_at, until),
  });
}

/** Finds the grant of a refresh token; see `Redemption.family_hash`. */
export const findGrantByFamily = read("registry", function* (familyHash: string) {
  const row = yield* first<GrantRow>(`${SELECT_GRANT} WHERE family_hash = ?`, [familyHash]);
  return row && toGrant(row);
});

/**
 * Replaces the refresh token. For `graceMs`, the former one is still accepted, and gives the same next
 * refresh token.
 */
export const rotateOAuthGrant = write(
  "registry",
  function* (rotation: Rotation): Verb<RotationResult> {
    const { forUpdate } = this.dialect;
    const { presented_hash, next_hash, refresh_expires_at, at } = rotation;
    const row = yield* first<GrantRow>(
      `${SELECT_GRANT_SECRETS} WHERE family_hash = ?${forUpdate}`,
      [rotation.family_hash],
    );
    if (row?.status !== "active" || row.client_id !== rotation.client_id)
      return { outcome: "invalid" };
    if (row.expires_at <= at) return { outcome: "invalid" };
    const isNewest = presented_hash === row.refresh_hash;
    // The client may have lost the response to its last request.
    const isRetry =
      presented_hash === row.former_hash && at - (row.rotated_at ?? 0) <= rotation.graceMs;
    if (!isNewest && !isRetry) {
      yield* revokeOAuthGrant.call(this, row.id, at);
      return { outcome: "reused" };
    }
    const until = yield* readParentExpiry.call(this, row.parent, at);
    if (until === undefined) return { outcome: "invalid" };
    if (isNewest)
      yield* execute(
        "UPDATE oauth_grants SET former_hash = refresh_hash, refresh_hash = ?, rotated_at = ?, " +
          "expires_at = ?, last_used_at = ? WHERE id = ?",
        [next_hash, at, refresh_expires_at, at, row.id],
      );
    const grant = toGrant(row);
    yield* issueToken.call(this, grant, rotation.access, until, at);
    return { outcome: "rotated", grant };
  },
);

/** Also revokes its access tokens. False if the grant does not exist or is not active. */
export const revokeOAuthGrant = write(
  "registry",
  function* (id: string, at: number): Verb<boolean> {
    const rows = yield* query(
      "UPDATE oauth_grants SET status = 'revoked' WHERE id = ? AND status IN ('approved', 'active') RETURNING id",
      [id],
    );
    if (rows.length > 0) yield* revokeChildren(id, at);
    return rows.length > 0;
  },
);

/** The active grants, sorted by id, descending: the newest first. */
export const listOAuthGrants = read(
  "registry",
  function* ({ now, person, before, limit }: GrantQuery): Verb<OAuthGrant[]> {
    const tokenUsedAt =
      "(SELECT max(last_used_at) FROM tokens WHERE tokens.parent = oauth_grants.id) AS token_used_at";
    const conditions: [string, Value][] = [["expires_at > ?", now]];
    if (person !== undefined) conditions.push(["person = ?", person]);
    if (before !== undefined) conditions.push(["id < ?", before]);
    const rows = yield* query<GrantRow & { token_used_at: number | null }>(
      `SELECT ${GRANT_COLUMNS.join(", ")}, ${tokenUsedAt} FROM oauth_grants WHERE status = 'active' ` +
        `AND ${conditions.map(([sql]) => sql).join(" AND ")} ORDER BY id DESC LIMIT ?`,
      [...conditions.map(([, value]) => value), limit],
    );
    return rows.map(({ token_used_at, ...row }) => ({
      ...toGrant(row),
      last_used_at: Math.max(row.last_used_at ?? 0, Number(token_used_at ?? 0)) || null,
    }));
  },
);

/** Removes expired grants, and expired clients without grants. Returns their number. */
export const sweepOAuth = write(
  "registry",
  function* (expiredBefore: number, limit: number): Verb<number> {
    const grants = yield* query(
      "DELETE FROM oauth_grants WHERE id IN (SELECT id FROM oauth_grants WHERE expires_at < ? " +
        "ORDER BY expires_at LIMIT ?) RETURNING id",
      [expiredBefore, limit],
    );
    const clients = yield* query(
      "DELETE FROM oauth_clients WHERE id IN (SELECT id FROM oauth_clients WHERE expires_at < ? " +
        "AND NOT EXISTS (SELECT 1 FROM oauth_grants WHERE client_id = oauth_clients.id) " +
        "ORDER BY expires_at LIMIT ?) RETURNING id",
      [expiredBefore, limit],
    );
    return grants.length + clients.length;
  },
);
