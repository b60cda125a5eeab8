/**
 * The schema, as one ordered list. A migration that has shipped is never edited: the next one
 * changes what it left. All of them run in one transaction under a lock, so that any number of
 * processes may start at once on an empty or an old database.
 */
import { type Dialect, first, query, type Verb } from "./sql.ts";

interface Migration {
  name: string;
  /** `TEXT` and `BLOB` stand for what the engine calls them. */
  statements: readonly string[];
}

const migrations: readonly Migration[] = [
  {
    name: "events, tenants, tokens, sources",
    statements: [
      `CREATE TABLE tenants (
        id TEXT PRIMARY KEY,
        name TEXT,
        created_at BIGINT NOT NULL,
        seq BIGINT NOT NULL DEFAULT 0,
        pruned_seq BIGINT NOT NULL DEFAULT 0,
        pending BIGINT NOT NULL DEFAULT 0,
        bytes BIGINT NOT NULL DEFAULT 0,
        quota BIGINT
      )`,
      // The counts are kept, not computed: status costs the same whatever the backlog.
      `CREATE TABLE pending_types (
        tenant_id TEXT NOT NULL,
        type TEXT NOT NULL,
        count BIGINT NOT NULL,
        PRIMARY KEY (tenant_id, type)
      )`,
      `CREATE TABLE events (
        tenant_id TEXT NOT NULL,
        seq BIGINT NOT NULL,
        id TEXT NOT NULL,
        source TEXT NOT NULL,
        source_id TEXT NOT NULL,
        external_id TEXT,
        type TEXT NOT NULL,
        received_at BIGINT NOT NULL,
        action TEXT,
        repo TEXT,
        sender TEXT,
        number BIGINT,
        title TEXT,
        url TEXT,
        size BIGINT NOT NULL,
        pack BIGINT NOT NULL,
        pack_at BIGINT NOT NULL,
        meta_size BIGINT NOT NULL,
        processed SMALLINT NOT NULL DEFAULT 0,
        processed_at BIGINT,
        note TEXT,
        trigger_status TEXT,
        last_triggered_at BIGINT,
        outcome TEXT,
        claimed_by TEXT,
        claimed_until BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (tenant_id, seq)
      )`,
      "CREATE UNIQUE INDEX events_id ON events (id)",
      "CREATE UNIQUE INDEX events_external ON events (tenant_id, source_id, external_id)",
      "CREATE INDEX events_pending ON events (tenant_id, seq) WHERE processed = 0",
      "CREATE INDEX events_pending_type ON events (tenant_id, type, seq) WHERE processed = 0",
      "CREATE INDEX events_pending_repo ON events (tenant_id, repo, seq) WHERE processed = 0 AND repo IS NOT NULL",
      // Only what somebody holds or held: appending, the hot path, never touches it.
      "CREATE INDEX events_leased ON events (tenant_id, claimed_until, seq) WHERE processed = 0 AND claimed_until > 0",
      "CREATE INDEX events_processed ON events (processed_at) WHERE processed = 1",
      "CREATE INDEX events_done ON events (tenant_id, seq) WHERE processed = 1",
      // Apart from the rows that status and lists read: a list never touches a payload's pages. In
      // parts where the engine holds no large values; the first one counts the events.
      `CREATE TABLE packs (
        tenant_id TEXT NOT NULL,
        seq BIGINT NOT NULL,
        part SMALLINT NOT NULL,
        codec TEXT NOT NULL,
        events BIGINT NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (tenant_id, seq, part)
      )`,
      `CREATE TABLE installations (
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL,
        account TEXT,
        version BIGINT NOT NULL,
        updated_at BIGINT NOT NULL,
        removed_at BIGINT
      )`,
      `CREATE TABLE tokens (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        hash TEXT NOT NULL UNIQUE,
        scopes TEXT NOT NULL,
        tenants TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        expires_at BIGINT,
        revoked_at BIGINT
      )`,
      `CREATE TABLE sources (
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        key TEXT NOT NULL UNIQUE,
        config TEXT NOT NULL,
        created_at BIGINT NOT NULL
      )`,
      `CREATE TABLE source_secrets (
        id TEXT PRIMARY KEY,
        source_id TEXT NOT NULL,
        sealed TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        expires_at BIGINT
      )`,
      "CREATE INDEX source_secrets_source ON source_secrets (source_id)",
      "CREATE TABLE health (id INTEGER PRIMARY KEY, checked_at BIGINT NOT NULL)",
    ],
  },
];

class DatabaseTooNew extends Error {
  readonly code = "database_too_new";
  constructor(found: number) {
    super(
      `The database is at version ${found}, but this hub only knows ${migrations.length}. ` +
        "Start a newer Signalbox, or point it at another database.",
    );
  }
}

/** Brings the database to the newest version; answers with the names of what it did. */
export function* migrate(dialect: Dialect): Verb<string[]> {
  if (dialect.migrationLock) yield* query(dialect.migrationLock);
  yield* query(
    "CREATE TABLE IF NOT EXISTS schema_version (id INTEGER PRIMARY KEY, version BIGINT NOT NULL)",
  );
  const at =
    (yield* first<{ version: number }>("SELECT version FROM schema_version WHERE id = 1"))
      ?.version ?? 0;
  if (at > migrations.length) throw new DatabaseTooNew(at);
  const due = migrations.slice(at);
  for (const migration of due)
    for (const statement of migration.statements)
      yield* query(
        statement.replaceAll(/\b(TEXT|BLOB)\b/g, (type) => dialect[type as "TEXT" | "BLOB"]),
      );
  if (due.length > 0)
    yield* query(
      "INSERT INTO schema_version (id, version) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET version = excluded.version",
      [migrations.length],
    );
  return due.map((migration) => migration.name);
}
