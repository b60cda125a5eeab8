/**
 * The migrations before tables were declared as data (schema.ts). Only databases of that time need them, and
 * contain their checksums: do not change this file. New migrations are in migrations.ts.
 */
import type { Migration } from "./schema.ts";
import { insert, query, type Verb } from "./sql.ts";

export const legacyMigrations: readonly Migration[] = [
  {
    name: "events, tenants, tokens, sources",
    statements: [
      `CREATE TABLE tenants ( id TEXT PRIMARY KEY, name TEXT, created_at BIGINT NOT NULL, seq BIGINT NOT NULL DEFAULT 0,
        pruned_seq BIGINT NOT NULL DEFAULT 0, pending BIGINT NOT NULL DEFAULT 0, bytes BIGINT NOT NULL DEFAULT 0, quota BIGINT )`,
      `CREATE TABLE pending_types ( tenant_id TEXT NOT NULL, type TEXT NOT NULL, count BIGINT NOT NULL, PRIMARY KEY (tenant_id,
        type) )`,
      `CREATE TABLE events ( tenant_id TEXT NOT NULL, seq BIGINT NOT NULL, id TEXT NOT NULL, source TEXT NOT NULL,
        source_id TEXT NOT NULL, external_id TEXT, type TEXT NOT NULL, received_at BIGINT NOT NULL, action TEXT, repo TEXT,
        sender TEXT, number BIGINT, title TEXT, url TEXT, size BIGINT NOT NULL, pack BIGINT NOT NULL, pack_at BIGINT NOT NULL,
        meta_size BIGINT NOT NULL, processed SMALLINT NOT NULL DEFAULT 0, processed_at BIGINT, note TEXT, trigger_status TEXT,
        last_triggered_at BIGINT, outcome TEXT, claimed_by TEXT, claimed_until BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (tenant_id,
        seq) )`,
      "CREATE UNIQUE INDEX events_id ON events (id)",
      "CREATE UNIQUE INDEX events_external ON events (tenant_id, source_id, external_id)",
      "CREATE INDEX events_pending ON events (tenant_id, seq) WHERE processed = 0",
      "CREATE INDEX events_pending_type ON events (tenant_id, type, seq) WHERE processed = 0",
      "CREATE INDEX events_pending_repo ON events (tenant_id, repo, seq) WHERE processed = 0 AND repo IS NOT NULL",
      "CREATE INDEX events_leased ON events (tenant_id, claimed_until, seq) WHERE processed = 0 AND claimed_until > 0",
      "CREATE INDEX events_processed ON events (processed_at) WHERE processed = 1",
      "CREATE INDEX events_done ON events (tenant_id, seq) WHERE processed = 1",
      `CREATE TABLE packs ( tenant_id TEXT NOT NULL, seq BIGINT NOT NULL, part SMALLINT NOT NULL, codec TEXT NOT NULL,
        events BIGINT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (tenant_id, seq, part) )`,
      `CREATE TABLE installations ( id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, account TEXT, version BIGINT NOT NULL,
        updated_at BIGINT NOT NULL, removed_at BIGINT )`,
      `CREATE TABLE tokens ( id TEXT PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL UNIQUE, scopes TEXT NOT NULL,
        tenants TEXT NOT NULL, created_at BIGINT NOT NULL, expires_at BIGINT, revoked_at BIGINT )`,
      `CREATE TABLE sources ( id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
        key TEXT NOT NULL UNIQUE, config TEXT NOT NULL, created_at BIGINT NOT NULL )`,
      `CREATE TABLE source_secrets ( id TEXT PRIMARY KEY, source_id TEXT NOT NULL, sealed TEXT NOT NULL, created_at BIGINT NOT NULL,
        expires_at BIGINT )`,
      "CREATE INDEX source_secrets_source ON source_secrets (source_id)",
      "CREATE TABLE health (id INTEGER PRIMARY KEY, checked_at BIGINT NOT NULL)",
    ],
  },
  {
    name: "webhook subscriptions",
    statements: [
      `CREATE TABLE subscriptions ( id TEXT PRIMARY KEY, principal TEXT NOT NULL, tenants TEXT NOT NULL, name TEXT NOT NULL,
        arguments TEXT NOT NULL, url TEXT NOT NULL, secret TEXT NOT NULL, secret_hash TEXT NOT NULL, former_secret TEXT,
        former_until BIGINT, places TEXT NOT NULL, gap SMALLINT NOT NULL DEFAULT 0, attempt BIGINT NOT NULL DEFAULT 0,
        failing_since BIGINT, next_at BIGINT NOT NULL DEFAULT 0, last_error TEXT, delivered_at BIGINT, expires_at BIGINT NOT NULL,
        leased_by TEXT NOT NULL DEFAULT '', leased_until BIGINT NOT NULL DEFAULT 0, created_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL )`,
      "CREATE INDEX subscriptions_principal ON subscriptions (principal)",
      "CREATE INDEX subscriptions_lease ON subscriptions (leased_until)",
      "CREATE INDEX subscriptions_owner ON subscriptions (leased_by)",
      `CREATE TABLE callback_verifications ( principal TEXT NOT NULL, url TEXT NOT NULL, verified_at BIGINT NOT NULL,
        PRIMARY KEY (principal, url) )`,
    ],
  },
  {
    name: "apps, flows and runs",
    statements: [
      "ALTER TABLE tenants ADD COLUMN triggers_rev BIGINT NOT NULL DEFAULT 0",
      `CREATE TABLE apps ( tenant_id TEXT NOT NULL, slug TEXT NOT NULL, name TEXT NOT NULL, description TEXT NOT NULL,
        created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, PRIMARY KEY (tenant_id, slug) )`,
      `CREATE TABLE flows ( id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, app TEXT NOT NULL, name TEXT NOT NULL,
        description TEXT NOT NULL, graph TEXT NOT NULL, revision BIGINT NOT NULL, version BIGINT,
        deleted SMALLINT NOT NULL DEFAULT 0, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL )`,
      "CREATE INDEX flows_tenant ON flows (tenant_id, id) WHERE deleted = 0",
      "CREATE INDEX flows_app ON flows (tenant_id, app, id) WHERE deleted = 0",
      `CREATE TABLE flow_versions ( flow_id TEXT NOT NULL, version BIGINT NOT NULL, graph TEXT NOT NULL, note TEXT NOT NULL,
        created_by TEXT NOT NULL, created_at BIGINT NOT NULL, PRIMARY KEY (flow_id, version) )`,
      `CREATE TABLE tool_names ( tenant_id TEXT NOT NULL, app TEXT NOT NULL, name TEXT NOT NULL, flow_id TEXT NOT NULL,
        drafted SMALLINT NOT NULL, alias_node TEXT, alias_until BIGINT, PRIMARY KEY (tenant_id, app, name) )`,
      "CREATE INDEX tool_names_flow ON tool_names (flow_id)",
      `CREATE TABLE triggers ( tenant_id TEXT NOT NULL, app TEXT NOT NULL, flow_id TEXT NOT NULL, node_id TEXT NOT NULL,
        version BIGINT NOT NULL, kind TEXT NOT NULL, tool_name TEXT, source TEXT, type TEXT, active SMALLINT NOT NULL,
        config TEXT NOT NULL, PRIMARY KEY (flow_id, node_id) )`,
      "CREATE UNIQUE INDEX triggers_tool ON triggers (tenant_id, app, tool_name) WHERE tool_name IS NOT NULL",
      "CREATE INDEX triggers_event ON triggers (tenant_id, source, type) WHERE source IS NOT NULL",
      `CREATE TABLE runs ( id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, app TEXT NOT NULL, flow_id TEXT NOT NULL,
        version BIGINT NOT NULL, trigger_node TEXT NOT NULL, cause TEXT NOT NULL, run_key TEXT, event_id TEXT, parent_run TEXT,
        depth BIGINT NOT NULL, input TEXT NOT NULL, gathered TEXT NOT NULL, gathered_count BIGINT NOT NULL, lane TEXT,
        lane_limit BIGINT, gather_lane TEXT, status TEXT NOT NULL, due_at BIGINT, worker TEXT, lease_until BIGINT NOT NULL DEFAULT 0,
        claims BIGINT NOT NULL DEFAULT 0, cancel_asked SMALLINT NOT NULL DEFAULT 0, woken SMALLINT NOT NULL DEFAULT 0,
        output TEXT NOT NULL DEFAULT 'null', error TEXT NOT NULL DEFAULT 'null', created_at BIGINT NOT NULL, started_at BIGINT,
        finished_at BIGINT )`,
      "CREATE UNIQUE INDEX runs_key ON runs (tenant_id, run_key) WHERE run_key IS NOT NULL",
      "CREATE INDEX runs_due ON runs (tenant_id, due_at, id) WHERE status IN ('queued', 'waiting')",
      "CREATE INDEX runs_leased ON runs (lease_until) WHERE status = 'running'",
      "CREATE INDEX runs_worker ON runs (worker) WHERE status = 'running'",
      "CREATE INDEX runs_lane ON runs (tenant_id, lane, status, due_at, id) WHERE lane IS NOT NULL AND finished_at IS NULL",
      "CREATE INDEX runs_gather ON runs (tenant_id, gather_lane, id) WHERE claims = 0 AND finished_at IS NULL",
      "CREATE INDEX runs_tenant ON runs (tenant_id, id)",
      "CREATE INDEX runs_app ON runs (tenant_id, app, id)",
      "CREATE INDEX runs_flow ON runs (tenant_id, flow_id, id)",
      "CREATE INDEX runs_status ON runs (tenant_id, status, id)",
      "CREATE INDEX runs_ended ON runs (finished_at) WHERE finished_at IS NOT NULL",
      `CREATE TABLE steps ( run_id TEXT NOT NULL, nth BIGINT NOT NULL, node_id TEXT NOT NULL, item TEXT NOT NULL,
        attempt BIGINT NOT NULL, status TEXT NOT NULL, port TEXT, input TEXT NOT NULL, output TEXT NOT NULL, error TEXT NOT NULL,
        started_at BIGINT NOT NULL, finished_at BIGINT, PRIMARY KEY (run_id, node_id, item, attempt) ) CLUSTERED`,
      `CREATE TABLE run_events ( event_id TEXT NOT NULL, run_id TEXT NOT NULL, tenant_id TEXT NOT NULL, PRIMARY KEY (event_id,
        run_id) ) CLUSTERED`,
      "CREATE INDEX run_events_run ON run_events (run_id)",
      `CREATE TABLE queues ( tenant_id TEXT PRIMARY KEY, due_at BIGINT )`,
      "CREATE INDEX queues_due ON queues (due_at)",
      `CREATE TABLE verdicts ( tenant_id TEXT NOT NULL, event_id TEXT NOT NULL, flow_id TEXT NOT NULL, node_id TEXT NOT NULL,
        version BIGINT NOT NULL, matched SMALLINT NOT NULL, reasons TEXT NOT NULL, run_id TEXT, PRIMARY KEY (tenant_id, event_id,
        flow_id, node_id) ) CLUSTERED`,
      `CREATE TABLE secrets ( tenant_id TEXT NOT NULL, name TEXT NOT NULL, sealed TEXT NOT NULL, created_at BIGINT NOT NULL,
        updated_at BIGINT NOT NULL, PRIMARY KEY (tenant_id, name) )`,
    ],
  },
  {
    name: "index of deleted flows",
    statements: ["CREATE INDEX flows_deleted ON flows (updated_at) WHERE deleted = 1"],
  },
  {
    name: "tokens and idle claims of runs",
    statements: [
      "ALTER TABLE runs ADD COLUMN token_id TEXT",
      "ALTER TABLE runs ADD COLUMN idle_claims BIGINT NOT NULL DEFAULT 0",
      "CREATE INDEX runs_token ON runs (tenant_id, token_id, app, id) WHERE token_id IS NOT NULL",
    ],
  },
  {
    name: "console output of code",
    statements: ["ALTER TABLE steps ADD COLUMN log TEXT"],
  },
  {
    name: "chains and breakers",
    statements: [
      "ALTER TABLE runs ADD COLUMN chain TEXT NOT NULL DEFAULT '[]'",
      `CREATE TABLE breakers ( tenant_id TEXT NOT NULL, flow_id TEXT NOT NULL, node_id TEXT NOT NULL, since BIGINT NOT NULL,
        fired BIGINT NOT NULL, tripped_at BIGINT, tripped_by TEXT, tripped_most BIGINT, PRIMARY KEY (tenant_id, flow_id, node_id) )`,
    ],
  },
  {
    name: "index of open runs by caller",
    statements: [
      "CREATE INDEX runs_called ON runs (parent_run) WHERE parent_run IS NOT NULL AND finished_at IS NULL",
    ],
  },
  {
    // For each repository in a batch, this index wrote one page: half of all writes.
    name: "no index of repositories",
    statements: ["DROP INDEX events_pending_repo"],
  },
  {
    name: "the id of the log",
    statements: ["CREATE TABLE log_id (one SMALLINT PRIMARY KEY, id TEXT NOT NULL)"],
  },
  {
    name: "followed runs",
    statements: ["ALTER TABLE runs ADD COLUMN followed_until BIGINT NOT NULL DEFAULT 0"],
  },
  {
    name: "results of checks and workflows",
    statements: ["ALTER TABLE events ADD COLUMN check_result TEXT"],
  },
  {
    name: "attempts of workers",
    statements: ["ALTER TABLE events ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0"],
  },
  {
    name: "connections and trigger subscriptions",
    statements: [
      `CREATE TABLE connections ( id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, name TEXT NOT NULL, target TEXT NOT NULL,
        sealed TEXT, credentials TEXT NOT NULL, revision BIGINT NOT NULL DEFAULT 1, status TEXT NOT NULL DEFAULT 'unknown',
        error TEXT, checked_at BIGINT, attempt BIGINT NOT NULL DEFAULT 0, tool_count BIGINT NOT NULL DEFAULT 0,
        trigger_count BIGINT NOT NULL DEFAULT 0, next_at BIGINT NOT NULL, due_at BIGINT NOT NULL, touched_at BIGINT, leased_by TEXT,
        deleted SMALLINT NOT NULL DEFAULT 0, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL )`,
      "CREATE INDEX connections_tenant ON connections (tenant_id, id) WHERE deleted = 0",
      "CREATE INDEX connections_due ON connections (due_at)",
      "CREATE INDEX connections_owner ON connections (leased_by) WHERE leased_by IS NOT NULL",
      `CREATE TABLE connection_offers ( connection_id TEXT NOT NULL, part SMALLINT NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY (connection_id, part) )`,
      `CREATE TABLE trigger_subscriptions ( id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, connection_id TEXT NOT NULL,
        flow_id TEXT NOT NULL, node_id TEXT NOT NULL, type TEXT NOT NULL, params TEXT NOT NULL, poll TEXT, wanted TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'configuring', error TEXT, revision BIGINT NOT NULL DEFAULT 1,
        configured BIGINT NOT NULL DEFAULT 0, configured_type TEXT, position TEXT, attempt BIGINT NOT NULL DEFAULT 0,
        next_at BIGINT NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL )`,
      "CREATE UNIQUE INDEX trigger_subscriptions_flow ON trigger_subscriptions (flow_id, node_id, connection_id)",
      "CREATE INDEX trigger_subscriptions_connection ON trigger_subscriptions (connection_id, wanted)",
      `CREATE TABLE callback_tokens ( hash TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, connection_id TEXT NOT NULL,
        subscription_id TEXT NOT NULL, scope TEXT NOT NULL, expires_at BIGINT, created_at BIGINT NOT NULL )`,
      "CREATE INDEX callback_tokens_subscription ON callback_tokens (subscription_id)",
      "CREATE INDEX callback_tokens_expiry ON callback_tokens (expires_at) WHERE expires_at IS NOT NULL",
    ],
  },
  {
    name: "schedules",
    statements: [
      `CREATE TABLE schedules ( tenant_id TEXT NOT NULL, flow_id TEXT NOT NULL, node_id TEXT NOT NULL, cron TEXT NOT NULL,
        time_zone TEXT NOT NULL, next_at BIGINT, PRIMARY KEY (flow_id, node_id) )`,
      "CREATE INDEX schedules_due ON schedules (next_at)",
    ],
  },
  {
    name: "types of callback tokens",
    statements: [
      "ALTER TABLE callback_tokens ADD COLUMN target TEXT",
      "ALTER TABLE callback_tokens ADD COLUMN types TEXT NOT NULL DEFAULT '{}'",
      "CREATE INDEX callback_tokens_connection ON callback_tokens (connection_id)",
    ],
  },
  {
    name: "firings of triggers",
    statements: [
      `CREATE TABLE trigger_firings ( flow_id TEXT NOT NULL, node_id TEXT NOT NULL, fired_at BIGINT NOT NULL, PRIMARY KEY (flow_id,
        node_id) )`,
    ],
  },
  {
    name: "former servers of connections",
    statements: ["ALTER TABLE connections ADD COLUMN former TEXT NOT NULL DEFAULT '[]'"],
  },
  {
    name: "beginnings of large values",
    statements: [
      "ALTER TABLE runs ADD COLUMN input_start TEXT",
      "ALTER TABLE runs ADD COLUMN output_start TEXT",
      "ALTER TABLE steps ADD COLUMN input_start TEXT",
      "ALTER TABLE steps ADD COLUMN output_start TEXT",
    ],
  },
  {
    name: "large columns of runs and steps behind others, and not in a clustered table",
    onlyClustered: true,
    statements: [
      "ALTER TABLE steps RENAME TO clustered_steps",
      `CREATE TABLE steps ( run_id TEXT NOT NULL, nth BIGINT NOT NULL, node_id TEXT NOT NULL, item TEXT NOT NULL,
        attempt BIGINT NOT NULL, status TEXT NOT NULL, port TEXT, error TEXT NOT NULL, started_at BIGINT NOT NULL,
        finished_at BIGINT, input_start TEXT, output_start TEXT, log TEXT, input TEXT NOT NULL, output TEXT NOT NULL,
        PRIMARY KEY (run_id, node_id, item, attempt) )`,
      `INSERT INTO steps (run_id, nth, node_id, item, attempt, status, port, error, started_at, finished_at, log, input,
        output) SELECT run_id, nth, node_id, item, attempt, status, port, error, started_at, finished_at, log, input,
        output FROM clustered_steps ORDER BY run_id, nth`,
      "DROP TABLE clustered_steps",
      "ALTER TABLE runs RENAME TO former_runs",
      `CREATE TABLE runs ( id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, app TEXT NOT NULL, flow_id TEXT NOT NULL,
        version BIGINT NOT NULL, trigger_node TEXT NOT NULL, cause TEXT NOT NULL, run_key TEXT, event_id TEXT, parent_run TEXT,
        token_id TEXT, depth BIGINT NOT NULL, chain TEXT NOT NULL DEFAULT '[]', gathered_count BIGINT NOT NULL, lane TEXT,
        lane_limit BIGINT, gather_lane TEXT, status TEXT NOT NULL, due_at BIGINT, worker TEXT, lease_until BIGINT NOT NULL DEFAULT 0,
        claims BIGINT NOT NULL DEFAULT 0, idle_claims BIGINT NOT NULL DEFAULT 0, cancel_asked SMALLINT NOT NULL DEFAULT 0,
        woken SMALLINT NOT NULL DEFAULT 0, followed_until BIGINT NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT 'null',
        created_at BIGINT NOT NULL, started_at BIGINT, finished_at BIGINT, input_start TEXT, output_start TEXT, input TEXT NOT NULL,
        output TEXT NOT NULL DEFAULT 'null', gathered TEXT NOT NULL )`,
      `INSERT INTO runs (id, tenant_id, app, flow_id, version, trigger_node, cause, run_key, event_id, parent_run, token_id, depth,
        chain, gathered_count, lane, lane_limit, gather_lane, status, due_at, worker, lease_until, claims, idle_claims, cancel_asked,
        woken, followed_until, error, created_at, started_at, finished_at, input, output, gathered) SELECT id, tenant_id, app,
        flow_id, version, trigger_node, cause, run_key, event_id, parent_run, token_id, depth, chain, gathered_count, lane,
        lane_limit, gather_lane, status, due_at, worker, lease_until, claims, idle_claims, cancel_asked, woken, followed_until,
        error, created_at, started_at, finished_at, input, output, gathered FROM former_runs ORDER BY id`,
      "DROP TABLE former_runs",
      "CREATE UNIQUE INDEX runs_key ON runs (tenant_id, run_key) WHERE run_key IS NOT NULL",
      "CREATE INDEX runs_due ON runs (tenant_id, due_at, id) WHERE status IN ('queued', 'waiting')",
      "CREATE INDEX runs_leased ON runs (lease_until) WHERE status = 'running'",
      "CREATE INDEX runs_worker ON runs (worker) WHERE status = 'running'",
      "CREATE INDEX runs_lane ON runs (tenant_id, lane, status, due_at, id) WHERE lane IS NOT NULL AND finished_at IS NULL",
      "CREATE INDEX runs_gather ON runs (tenant_id, gather_lane, id) WHERE claims = 0 AND finished_at IS NULL",
      "CREATE INDEX runs_tenant ON runs (tenant_id, id)",
      "CREATE INDEX runs_app ON runs (tenant_id, app, id)",
      "CREATE INDEX runs_flow ON runs (tenant_id, flow_id, id)",
      "CREATE INDEX runs_status ON runs (tenant_id, status, id)",
      "CREATE INDEX runs_ended ON runs (finished_at) WHERE finished_at IS NOT NULL",
      "CREATE INDEX runs_token ON runs (tenant_id, token_id, app, id) WHERE token_id IS NOT NULL",
      "CREATE INDEX runs_called ON runs (parent_run) WHERE parent_run IS NOT NULL AND finished_at IS NULL",
    ],
  },
  {
    name: "index of steps by number",
    statements: ["CREATE INDEX steps_nth ON steps (run_id, nth)"],
  },
  {
    name: "sign-in and last use of tokens",
    statements: [
      "ALTER TABLE tokens ADD COLUMN kind TEXT NOT NULL DEFAULT 'token'",
      "ALTER TABLE tokens ADD COLUMN parent TEXT",
      "ALTER TABLE tokens ADD COLUMN last_used_at BIGINT",
      "CREATE INDEX tokens_parent ON tokens (parent) WHERE parent IS NOT NULL",
      "CREATE INDEX tokens_expiry ON tokens (expires_at) WHERE kind <> 'token'",
    ],
  },
  {
    name: "index of tokens by tenant",
    statements: [
      `CREATE TABLE token_tenants ( tenant_id TEXT NOT NULL, token_id TEXT NOT NULL, PRIMARY KEY (tenant_id, token_id) ) CLUSTERED`,
    ],
    fill: indexAllTokens,
  },
  {
    name: "grants of connections",
    statements: [
      `CREATE TABLE connection_grants ( connection_id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, sealed TEXT, error TEXT,
        version BIGINT NOT NULL, leased_by TEXT, leased_until BIGINT, state TEXT, state_by TEXT, state_sealed TEXT,
        state_expires_at BIGINT )`,
    ],
  },
  {
    name: "suspended installations, and versions of names",
    statements: [
      "ALTER TABLE installations ADD COLUMN suspended_at BIGINT",
      "ALTER TABLE tenants ADD COLUMN name_version BIGINT NOT NULL DEFAULT 0",
    ],
  },
  {
    name: "people and audiences of tokens",
    statements: [
      "ALTER TABLE tokens ADD COLUMN person TEXT",
      "ALTER TABLE tokens ADD COLUMN resource TEXT",
      "CREATE INDEX tokens_person ON tokens (person) WHERE person IS NOT NULL",
    ],
  },
  {
    name: "clients and grants of the authorization server",
    statements: [
      `CREATE TABLE oauth_clients ( id TEXT PRIMARY KEY, name TEXT NOT NULL, redirect_uris TEXT NOT NULL, grant_types TEXT NOT NULL,
        created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL )`,
      "CREATE INDEX oauth_clients_expiry ON oauth_clients (expires_at)",
      `CREATE TABLE oauth_grants ( id TEXT PRIMARY KEY, client_id TEXT NOT NULL, client_name TEXT NOT NULL, status TEXT NOT NULL,
        code_hash TEXT NOT NULL UNIQUE, user_code TEXT UNIQUE, redirect_uri TEXT, challenge TEXT, resource TEXT NOT NULL,
        scopes TEXT NOT NULL, tenants TEXT NOT NULL, person TEXT, parent TEXT, salt TEXT NOT NULL, family_hash TEXT UNIQUE,
        refresh_hash TEXT, former_hash TEXT, rotated_at BIGINT, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL,
        last_used_at BIGINT )`,
      "CREATE INDEX oauth_grants_expiry ON oauth_grants (expires_at)",
      "CREATE INDEX oauth_grants_client ON oauth_grants (client_id)",
      "CREATE INDEX oauth_grants_parent ON oauth_grants (parent) WHERE parent IS NOT NULL",
    ],
  },
  {
    name: "settings of tenants",
    statements: [
      "ALTER TABLE tenants ADD COLUMN processed_for BIGINT",
      "ALTER TABLE tenants ADD COLUMN pending_for BIGINT",
      "ALTER TABLE tenants ADD COLUMN max_bytes BIGINT",
      "CREATE INDEX tenants_retention ON tenants (id) WHERE processed_for IS NOT NULL OR pending_for IS NOT NULL",
      "CREATE INDEX events_done_at ON events (tenant_id, processed_at) WHERE processed = 1",
      "CREATE INDEX installations_tenant ON installations (tenant_id)",
    ],
  },
  {
    name: "people and their memberships",
    statements: [
      `CREATE TABLE people ( id TEXT PRIMARY KEY, login TEXT NOT NULL, name TEXT, avatar TEXT, sealed TEXT,
        checked_at BIGINT NOT NULL, leased_until BIGINT NOT NULL DEFAULT 0 )`,
      `CREATE TABLE memberships ( person TEXT NOT NULL, tenant_id TEXT NOT NULL, role TEXT NOT NULL, PRIMARY KEY (person,
        tenant_id) )`,
      "CREATE INDEX memberships_tenant ON memberships (tenant_id)",
    ],
  },
  {
    name: "redeliveries of GitHub's webhooks",
    statements: [
      `CREATE TABLE github_sweep ( id BIGINT PRIMARY KEY, read_until BIGINT NOT NULL, cursor TEXT, newest_at BIGINT,
        next_at BIGINT NOT NULL, paused_until BIGINT NOT NULL, completed_at BIGINT, error TEXT, leased_by TEXT,
        leased_until BIGINT NOT NULL )`,
      `CREATE TABLE github_redeliveries ( guid TEXT PRIMARY KEY, state TEXT NOT NULL, attempt_id TEXT NOT NULL,
        attempted_at BIGINT NOT NULL, status TEXT NOT NULL, status_code BIGINT NOT NULL, event TEXT NOT NULL, action TEXT,
        installation TEXT, failed_at BIGINT NOT NULL, requests BIGINT NOT NULL, requested_at BIGINT, next_at BIGINT NOT NULL,
        note TEXT )`,
      "CREATE INDEX github_redeliveries_state ON github_redeliveries (state, failed_at)",
      "CREATE INDEX github_redeliveries_due ON github_redeliveries (next_at) WHERE state = 'open'",
    ],
  },
  {
    name: "deletion of tenants",
    statements: [
      "ALTER TABLE tenants ADD COLUMN deleting SMALLINT NOT NULL DEFAULT 0",
      "ALTER TABLE tenants ADD COLUMN deleted_at BIGINT",
      "CREATE INDEX tenants_deleting ON tenants (id) WHERE deleting = 1",
      "CREATE INDEX flows_deleted_tenant ON flows (tenant_id, id) WHERE deleted = 1",
      "CREATE INDEX connections_deleted_tenant ON connections (tenant_id, id) WHERE deleted = 1",
      "CREATE INDEX sources_tenant ON sources (tenant_id, id)",
      "CREATE INDEX oauth_grants_tenants ON oauth_grants (tenants)",
    ],
  },
  {
    name: "unused OAuth clients",
    statements: [
      "ALTER TABLE oauth_clients ADD COLUMN unused SMALLINT NOT NULL DEFAULT 0",
      "CREATE INDEX oauth_clients_unused ON oauth_clients (created_at) WHERE unused = 1",
    ],
  },
  {
    name: "pages of tokens and OAuth grants",
    statements: [
      "CREATE INDEX tokens_kind ON tokens (kind, id)",
      "DROP INDEX tokens_person",
      "CREATE INDEX tokens_person ON tokens (person, kind, id) WHERE person IS NOT NULL",
      "CREATE INDEX oauth_grants_active ON oauth_grants (id) WHERE status = 'active'",
      "CREATE INDEX oauth_grants_person ON oauth_grants (person, id) WHERE person IS NOT NULL",
    ],
  },
  {
    name: "clock of retention",
    statements: ["CREATE TABLE retention_clock (id INTEGER PRIMARY KEY, state TEXT NOT NULL)"],
  },
  {
    name: "generations of callback tokens",
    statements: [
      "ALTER TABLE trigger_subscriptions ADD COLUMN token_generation BIGINT NOT NULL DEFAULT 0",
    ],
  },
  {
    // Former versions counted exempt events towards the quota. Those that are pending no longer count.
    name: "pending events exempt from the quota",
    statements: [
      "ALTER TABLE events ADD COLUMN quota_exempt SMALLINT NOT NULL DEFAULT 0",
      "ALTER TABLE tenants ADD COLUMN pending_exempt BIGINT NOT NULL DEFAULT 0",
      `UPDATE events SET quota_exempt = 1 WHERE processed = 0 AND source_id = 'github' AND (tenant_id, type) IN (SELECT tenant_id,
        type FROM pending_types WHERE type IN ('installation', 'installation_repositories'))`,
      `UPDATE tenants SET pending_exempt = (SELECT count(*) FROM events WHERE tenant_id = tenants.id AND processed = 0 AND source_id = 'github' AND type IN ('installation',
        'installation_repositories')) WHERE id IN (SELECT tenant_id FROM pending_types WHERE type IN ('installation',
        'installation_repositories'))`,
    ],
  },
  {
    name: "queues of apps and flows",
    statements: [
      `CREATE TABLE app_queues ( tenant_id TEXT NOT NULL, app TEXT NOT NULL, due_at BIGINT, PRIMARY KEY (tenant_id, app) ) CLUSTERED`,
      "CREATE INDEX app_queues_due ON app_queues (tenant_id, due_at)",
      `CREATE TABLE flow_queues ( tenant_id TEXT NOT NULL, app TEXT NOT NULL, flow_id TEXT NOT NULL, due_at BIGINT,
        PRIMARY KEY (tenant_id, app, flow_id) ) CLUSTERED`,
      "CREATE INDEX flow_queues_due ON flow_queues (tenant_id, app, due_at)",
      "CREATE INDEX flow_queues_next ON flow_queues (due_at)",
      `INSERT INTO flow_queues (tenant_id, app, flow_id, due_at) SELECT tenant_id, app, flow_id,
        min(due_at) FROM runs WHERE status IN ('queued', 'waiting') GROUP BY tenant_id, app, flow_id`,
      `INSERT INTO app_queues (tenant_id, app, due_at) SELECT tenant_id, app, min(due_at) FROM flow_queues GROUP BY tenant_id, app`,
      "DROP INDEX runs_due",
      "CREATE INDEX runs_due ON runs (tenant_id, app, flow_id, due_at, id) WHERE status IN ('queued', 'waiting')",
    ],
  },
  {
    name: "events that are not matched yet",
    statements: [
      `CREATE TABLE matching_events ( tenant_id TEXT NOT NULL, event_id TEXT NOT NULL, triggers TEXT NOT NULL,
        due_at BIGINT NOT NULL, attempts BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (tenant_id, event_id) ) CLUSTERED`,
      "CREATE INDEX matching_events_tenant ON matching_events (tenant_id, due_at)",
      "CREATE INDEX matching_events_due ON matching_events (due_at)",
    ],
  },
  {
    name: "waits of runs",
    statements: [
      `CREATE TABLE run_waits ( tenant_id TEXT NOT NULL, worker TEXT NOT NULL, at BIGINT NOT NULL, waits TEXT NOT NULL,
        PRIMARY KEY (tenant_id, worker) ) CLUSTERED`,
    ],
  },
  {
    name: "revisions of triggers",
    statements: [
      "ALTER TABLE events ADD COLUMN triggers_rev BIGINT NOT NULL DEFAULT 0",
      "ALTER TABLE triggers ADD COLUMN revision BIGINT NOT NULL DEFAULT 0",
      "UPDATE triggers SET revision = coalesce((SELECT triggers_rev FROM tenants WHERE id = triggers.tenant_id), 1)",
      "DROP INDEX triggers_event",
      "CREATE INDEX triggers_event ON triggers (tenant_id, source, type, flow_id, node_id) WHERE source IS NOT NULL",
      "CREATE INDEX triggers_tenant ON triggers (tenant_id, flow_id, node_id, source, type) WHERE source IS NOT NULL",
    ],
  },
  {
    name: "stored bytes of events",
    statements: ["ALTER TABLE events ADD COLUMN stored BIGINT"],
  },
  {
    name: "stored bytes of runs",
    statements: [
      "ALTER TABLE runs ADD COLUMN stored BIGINT",
      "CREATE INDEX runs_stored ON runs (tenant_id, id) WHERE stored IS NOT NULL",
      `CREATE TABLE run_usage ( tenant_id TEXT PRIMARY KEY, bytes BIGINT NOT NULL ) CLUSTERED`,
    ],
  },
  {
    name: "index of held runs by flow",
    statements: ["CREATE INDEX runs_held ON runs (tenant_id, flow_id) WHERE status = 'held'"],
  },
];

const INDEXED_PER_QUERY = 500;

/** Fills `token_tenants`, which finds the tokens of one tenant. */
function* indexAllTokens(): Verb<void> {
  for (let after = ""; ; ) {
    const rows = yield* query<{ id: string; tenants: string }>(
      "SELECT id, tenants FROM tokens WHERE id > ? ORDER BY id LIMIT ?",
      [after, INDEXED_PER_QUERY],
    );
    yield* insert(
      "token_tenants",
      ["tenant_id", "token_id"],
      rows.flatMap(({ id, tenants }) =>
        [...new Set(JSON.parse(tenants) as string[])].map((tenant) => [tenant, id]),
      ),
      "ON CONFLICT DO NOTHING",
    );
    const last = rows.at(-1);
    if (!last) return;
    after = last.id;
  }
}
