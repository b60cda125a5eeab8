/** Webhook endpoints that belong to one tenant. The caller encrypts their secrets. */

import type { JsonObject } from "@signalbox/rules/json.ts";
import { query, type Verb } from "../../kernel/store/sql.ts";
import { read, write } from "../../kernel/store/verb.ts";
import type { SourceEndpoint, SourceSecret } from "./model.ts";

interface SourceRow extends Omit<SourceEndpoint, "config" | "secrets"> {
  config: string;
  secret_id: string | null;
  sealed: string;
  secret_created_at: number;
  expires_at: number | null;
}

// One statement: if the endpoint is being deleted, it is never read without its secrets.
const SELECT_SOURCE =
  "SELECT s.id, s.tenant_id AS tenant, s.kind, s.name, s.key, s.config, s.created_at, " +
  "k.id AS secret_id, k.sealed, k.created_at AS secret_created_at, k.expires_at " +
  "FROM sources s LEFT JOIN source_secrets k ON k.source_id = s.id";
const ORDER_BY_AGE = "ORDER BY s.created_at, s.id, k.created_at, k.id";

/**
 * Creates the endpoint, or changes its name and config. Stores the secret, if given, in the same
 * transaction.
 */
export const putSource = write(
  "registry",
  function* (source: Omit<SourceEndpoint, "secrets">, secret?: SourceSecret): Verb<void> {
    yield* query(
      "INSERT INTO sources (id, tenant_id, kind, name, key, config, created_at) VALUES (?, ?, ?, ?, ?, ?, ?) " +
        "ON CONFLICT (id) DO UPDATE SET name = excluded.name, config = excluded.config",
      [
        source.id,
        source.tenant,
        source.kind,
        source.name,
        source.key,
        JSON.stringify(source.config),
        source.created_at,
      ],
    );
    if (secret) yield* addSourceSecret.call(this, source.id, secret);
  },
);

function toSources(rows: readonly SourceRow[]): SourceEndpoint[] {
  const sources = new Map<string, SourceEndpoint>();
  for (const { secret_id, sealed, secret_created_at, expires_at, config, ...row } of rows) {
    const source = sources.get(row.id) ?? {
      ...row,
      config: JSON.parse(config) as JsonObject,
      secrets: [],
    };
    sources.set(row.id, source);
    if (secret_id !== null)
      source.secrets.push({ id: secret_id, sealed, created_at: secret_created_at, expires_at });
  }
  return [...sources.values()];
}

export const findSource = read("registry", function* (key: string) {
  return toSources(
    yield* query<SourceRow>(`${SELECT_SOURCE} WHERE s.key = ? ${ORDER_BY_AGE}`, [key]),
  )[0];
});

export const listSources = read("registry", function* (tenant?: string): Verb<SourceEndpoint[]> {
  return toSources(
    tenant === undefined
      ? yield* query<SourceRow>(`${SELECT_SOURCE} ${ORDER_BY_AGE}`)
      : yield* query<SourceRow>(`${SELECT_SOURCE} WHERE s.tenant_id = ? ${ORDER_BY_AGE}`, [tenant]),
  );
});

export const deleteSource = write("registry", function* (id: string): Verb<boolean> {
  yield* query("DELETE FROM source_secrets WHERE source_id = ?", [id]);
  return (yield* query("DELETE FROM sources WHERE id = ? RETURNING id", [id])).length > 0;
});

/** False if the endpoint does not exist. */
export const addSourceSecret = write(
  "registry",
  function* (source: string, secret: SourceSecret): Verb<boolean> {
    const rows = yield* query(
      "INSERT INTO source_secrets (id, source_id, sealed, created_at, expires_at) " +
        "SELECT CAST(? AS TEXT), id, CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS BIGINT) FROM sources WHERE id = ? RETURNING id",
      [secret.id, secret.sealed, secret.created_at, secret.expires_at, source],
    );
    return rows.length > 0;
  },
);

/** The secret verifies signatures only until `at`. False if the secret does not exist. */
export const expireSourceSecret = write(
  "registry",
  function* (source: string, secret: string, at: number): Verb<boolean> {
    const rows = yield* query(
      "UPDATE source_secrets SET expires_at = ? WHERE source_id = ? AND id = ? RETURNING id",
      [at, source, secret],
    );
    return rows.length > 0;
  },
);
