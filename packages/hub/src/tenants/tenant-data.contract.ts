/**
 * Tests the export and the deletion of a tenant for every table of the schema. The rows of two tenants
 * are generated from the schema, so every new table is tested.
 */
import { expect } from "vitest";
import { allNotices } from "../events/store/contract/all-notices.ts";
import {
  allEvents,
  appendEvents,
  appendRequest,
  DAY,
  itemAt,
  START,
  sampleEvent,
} from "../events/store/contract/sample.ts";
import {
  claim,
  claimExactly,
  progress,
  sampleRun,
  sampleStep,
  save,
} from "../flows/runs/store/contract/run-sample.ts";
import type { It, Subject } from "../kernel/store/contract/subject.ts";
import { columnsOf, type Table, tablesOf } from "../kernel/store/schema.ts";
import type { Row, Value } from "../kernel/store/sql.ts";
import type { Store } from "../store.ts";
import { storeDefinition } from "../store.ts";
import type { ExportPage } from "./model.ts";
import { tenantTables } from "./tenant-tables.ts";

interface Column {
  table_name: string;
  name: string;
  type: string;
  /** True if the column is NOT NULL and has no default. */
  is_required: boolean;
}

async function readSchema({ store, sql }: Subject): Promise<Map<string, Column[]>> {
  const rows = await sql(
    store.backend === "postgres"
      ? "SELECT table_name, column_name AS name, data_type AS type, is_nullable = 'NO' AND column_default IS NULL AS is_required FROM information_schema.columns WHERE table_schema = 'public'"
      : "SELECT m.name AS table_name, c.name, c.type, (c.\"notnull\" = 1 OR c.pk > 0) AND c.dflt_value IS NULL AS is_required FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE '\\_cf%' ESCAPE '\\' AND m.name NOT LIKE 'sqlite%'",
  );
  return Map.groupBy(rows as unknown as Column[], ({ table_name }) => table_name);
}

const allTables = tablesOf(storeDefinition);
/** The tables with data of tenants. */
const described = allTables.filter(({ shared }) => !shared);
const isKept = ({ tenant }: Table) => tenant?.stage === "kept";
const jsonColumns = ({ columns }: Table) =>
  Object.keys(columns).filter((name) => columns[name]?.spec.format === "json");

/** The table of the owner, by the name of the column that refers to it. */
const OWNERS: Record<string, string> = {
  flow_id: "flows",
  run_id: "runs",
  connection_id: "connections",
  event_id: "events",
  token_id: "tokens",
  principal: "tokens",
};

function sampleValue(column: Column, tenant: string, json: readonly string[]): Value {
  const { table_name: table, name, type } = column;
  if (name === "tenant_id" || (table === "tenants" && name === "id")) return tenant;
  if (name === "tenants") return JSON.stringify([tenant]);
  if (name === "id") return `${table}-${tenant}`;
  if (table === "source_secrets" && name === "source_id") return `sources-${tenant}`;
  const owner = OWNERS[name];
  if (owner) return `${owner}-${tenant}`;
  if (json.includes(name)) return "[]";
  return /int/i.test(type) ? 1 : /blob|bytea/i.test(type) ? "blob" : `${name} of ${tenant}`;
}

const toLiteral = (value: Value): string =>
  value === "blob" ? "''" : typeof value === "number" ? String(value) : `'${String(value)}'`;

/** Inserts one row into every table with data of tenants. */
async function fill(subject: Subject, tenant: string): Promise<void> {
  const schema = await readSchema(subject);
  for (const declared of described) {
    const { name: table } = declared;
    const json = jsonColumns(declared);
    const columns = (schema.get(table) ?? []).filter(
      ({ name, is_required }) => is_required || json.includes(name),
    );
    const values = columns.map((column) => toLiteral(sampleValue(column, tenant, json)));
    await subject.sql(
      `INSERT INTO ${table} (${columns.map(({ name }) => name)}) VALUES (${values}) RETURNING 1 AS one`,
    );
  }
}

const KEYS = ["tenant_id", ...Object.keys(OWNERS)];

/** Counts the rows of a tenant in each table, except the tables that a deletion keeps. */
async function countRows(subject: Subject, tenant: string): Promise<Record<string, number>> {
  const schema = await readSchema(subject);
  const counts: Record<string, number> = {};
  for (const { name } of described.filter((table) => !isKept(table))) {
    const columns = (schema.get(name) ?? []).map((column) => column.name);
    const key = KEYS.find((column) => columns.includes(column));
    const where = key
      ? `${key} IN ('${tenant}', '${OWNERS[key] ?? ""}-${tenant}')`
      : `id = '${name}-${tenant}'`;
    const [row] = await subject.sql(`SELECT count(*) AS n FROM ${name} WHERE ${where}`);
    counts[name] = Number(row?.n);
  }
  return counts;
}

async function deleteAll(store: Store, limit: number, tenant = "acme"): Promise<number> {
  for (let calls = 1; calls < 500; calls += 1)
    if (await store.continueDeletion(tenant, limit)) return calls;
  throw new Error("the deletion does not end");
}

async function exportAll(store: Store, table: string, owner?: string): Promise<Row[]> {
  const rows: Row[] = [];
  let page: ExportPage = { tenant: "acme", table, limit: 2, ...(owner && { owner }) };
  for (;;) {
    const exported = await store.exportRows(page);
    rows.push(...exported.rows);
    if (!exported.next) return rows;
    page = { ...page, after: exported.next };
  }
}

export function tenantDataContract(it: It): void {
  it("covers every table and column of the schema", async (subject) => {
    // If all tests share one database, other tests may have left tables in it.
    const store = await subject.reopenOn("SELECT 1");
    const schema = await readSchema({ ...subject, store });
    const knownTables = [
      ...allTables.map(({ name }) => name),
      ...["schema_version", "migration_checksums"],
    ];
    expect([...schema.keys()].toSorted()).toEqual(knownTables.toSorted());
    for (const table of allTables)
      expect(columnsOf(table).toSorted(), table.name).toEqual(
        (schema.get(table.name) ?? []).map((column) => column.name).toSorted(),
      );
  });

  it("declares for every column of a tenant's table whether an export contains it", async () => {
    for (const { name: table, columns, owned } of described)
      for (const [name, { spec }] of Object.entries(columns)) {
        const isOwner = name === "tenant_id" || name === owned?.by;
        if (!isOwner) expect(spec.export, `${table}.${name}`).toBeDefined();
        if (spec.export === "exported") expect(name).not.toMatch(/secret|seal|hash|key/);
      }
  });

  it("deletes the data of one tenant in every table, and of no other", async (subject) => {
    const { store, reopen } = subject;
    await fill(subject, "acme");
    await fill(subject, "umbrella");
    await subject.sql(
      "UPDATE connections SET deleted = 1 WHERE tenant_id = 'acme' RETURNING 1 AS one",
    );
    const before = await countRows(subject, "umbrella");
    expect(Object.values(before).every((count) => count === 1)).toBe(true);
    expect(await countRows(subject, "acme")).toEqual(before);
    expect(await store.startDeletion("acme", START)).toBe(true);
    expect(await store.listDeletions(9)).toEqual(["acme"]);
    // Each call is one transaction: after a crash, another process continues.
    expect(await store.continueDeletion("acme", 3)).toBe(false);
    expect(await deleteAll(await reopen(), 3)).toBeGreaterThan(3);
    expect(Object.values(await countRows(subject, "acme")).every((count) => count === 0)).toBe(
      true,
    );
    expect(await countRows(subject, "umbrella")).toEqual(before);
    expect(await store.listDeletions(9)).toEqual([]);
    expect(await store.continueDeletion("acme", 3)).toBe(true);
    expect(await store.continueDeletion("umbrella", 3)).toBe(true);
    expect(await countRows(subject, "umbrella")).toEqual(before);
  });

  it("deletes the steps of a run in several calls, between which no worker continues the run", async ({
    store,
    sql,
  }) => {
    await appendEvents(store, [sampleEvent()]);
    await store.queueRuns([sampleRun(), sampleRun()]);
    const [running, waiting] = await claimExactly(store, 2);
    const steps = Array.from({ length: 50 }, (_, at) => sampleStep({ nth: at, item: `${at}` }));
    await save(store, [running], { steps });
    await save(store, [waiting], { steps, next: { status: "waiting", due_at: START + 1 } });
    await store.startDeletion("acme", START);
    const counts = [100];
    for (let isComplete = false; !isComplete; ) {
      isComplete = await store.continueDeletion("acme", 2);
      const [row] = await sql("SELECT count(*) AS count FROM steps");
      counts.push(Number(row?.count));
      if (isComplete || counts.at(-1) === 100) continue;
      expect(await claim(store, { by: "bob", now: START + DAY })).toEqual([]);
      expect(await store.saveProgress([progress(running, { steps })])).toEqual(["lost"]);
    }
    // At most 20 steps per row.
    expect([...new Set(counts)]).toEqual([100, 60, 20, 0]);
    expect(await sql("SELECT id FROM runs")).toEqual([]);
  });

  it("deletes subscriptions even if their tokens are stored elsewhere or valid for all tenants", async (subject) => {
    const { store, sql } = subject;
    await fill(subject, "acme");
    await fill(subject, "umbrella");
    await sql("DELETE FROM tokens RETURNING 1 AS one");
    await sql("DELETE FROM token_tenants RETURNING 1 AS one");
    expect(
      await store.exportRows({ tenant: "acme", table: "subscriptions", limit: 9 }),
    ).toMatchObject({
      rows: [{ id: "subscriptions-acme" }],
    });
    await store.startDeletion("acme", START);
    await deleteAll(store, 100);
    for (const table of ["subscriptions", "callback_verifications"])
      expect(await sql(`SELECT principal FROM ${table}`)).toEqual([
        { principal: "tokens-umbrella" },
      ]);
  });

  it("exports the rows of one tenant in pages", async (subject) => {
    const { store, sql } = subject;
    await fill(subject, "acme");
    await fill(subject, "umbrella");
    for (const number of [2, 3, 4, 5])
      await sql(
        `INSERT INTO apps (tenant_id, slug, name, description, created_at, updated_at) VALUES ('acme', 'app-${number}', 'a', 'b', 1, 1) RETURNING 1 AS one`,
      );
    const exported = tenantTables(allTables).filter(
      ({ id, table, kind }) => kind && id === table.name,
    );
    expect(exported.length).toBeGreaterThan(10);
    for (const { id, table, key, owned } of exported) {
      const rows = await exportAll(store, id);
      expect(rows, id).toHaveLength(id === "apps" ? 5 : 1);
      const names = columnsOf(table).filter(
        (name) => table.columns[name]?.spec.export === "exported",
      );
      expect(Object.keys(itemAt(rows, 0)).toSorted()).toEqual(
        [...new Set([...names, ...key])].toSorted(),
      );
      for (const child of owned.filter(({ kind }) => kind !== undefined))
        expect(await exportAll(store, child.table.name, `${id}-acme`)).toHaveLength(1);
    }
  });

  it("rejects events, revokes tokens and installations, and publishes a notice when the deletion starts", async (subject) => {
    const { store, sql } = subject;
    await appendEvents(store, [sampleEvent()]);
    const token = { name: "t", scopes: ["admin" as const], created_at: START, expires_at: null };
    await store.putToken({ ...token, id: "one", hash: "one", tenants: ["acme"] });
    await store.putToken({ ...token, id: "two", hash: "two", tenants: ["umbrella", "acme"] });
    const grant = {
      ...{ client_id: "c", client_name: "c", status: "approved" as const, user_code: null },
      ...{ redirect_uri: null, challenge: null, resource: "r", scopes: ["admin" as const] },
      ...{ person: null, parent: null, salt: "s", created_at: START, expires_at: START + DAY },
    };
    await store.createOAuthGrant({ ...grant, id: "g1", code_hash: "g1", tenants: ["acme"] });
    await store.createOAuthGrant({ ...grant, id: "g2", code_hash: "g2", tenants: ["acme", "b"] });
    const installation = { id: "7", tenant: "acme", account: "acme", suspended_at: null };
    await store.putInstallation({ ...installation, version: 5, change: null }, START);
    expect(await store.startDeletion("none", START + 1)).toBe(false);
    expect(await store.startDeletion("acme", START + 1)).toBe(true);
    expect(await store.startDeletion("acme", START + 2)).toBe(true);
    expect(await store.getTenant("acme")).toMatchObject({ deleting: true });
    expect(await store.appendEvents([appendRequest([sampleEvent()])], null)).toEqual([
      { outcome: "deleted" },
    ]);
    expect(await store.getToken("one")).toMatchObject({ revoked_at: START + 1 });
    expect(await store.getToken("two")).toMatchObject({ revoked_at: null, tenants: ["umbrella"] });
    expect(await store.listTokens({ tenant: "acme", limit: 100 })).toMatchObject([{ id: "one" }]);
    expect(await store.findInstallation("7")).toMatchObject({ removed_at: START + 1 });
    await deleteAll(store, 100);
    expect(await store.getToken("one")).toBeUndefined();
    expect(await sql("SELECT id, tenants FROM oauth_grants")).toEqual([
      { id: "g2", tenants: '["b"]' },
    ]);
    expect(await store.getTenant("acme")).toBeUndefined();
    expect(await store.listTenants("", 9)).toEqual([]);
    // A late event of the installation does not restore the tenant.
    await store.putInstallation({ ...installation, version: 5, change: null }, START + 3);
    expect(await store.findInstallation("7")).toMatchObject({ removed_at: START + 1 });
    expect(await store.appendEvents([appendRequest([sampleEvent()])], null)).toEqual([
      { outcome: "deleted" },
    ]);
    const notice = { topic: "tenant_deleted", tenant: "acme" };
    expect((await allNotices(subject)).filter(({ topic }) => topic === notice.topic)).toEqual([
      notice,
      notice,
    ]);
  });

  it("continues the seq of a tenant that is created again", async ({ store }) => {
    const former = sampleEvent();
    await appendEvents(store, [former, sampleEvent()]);
    await store.putTenant({ id: "acme", name: "Acme", quota: 9, at: START });
    await store.startDeletion("acme", START);
    await deleteAll(store, 100);
    await store.putTenant({ id: "acme", at: START + 9 });
    expect(await store.getTenant("acme")).toMatchObject({
      name: null,
      quota: null,
      pending: 0,
      bytes: 0,
      pruned_seq: 2,
      created_at: START + 9,
      deleting: false,
    });
    const event = sampleEvent({ external_id: former.external_id });
    expect(await appendEvents(store, [event])).toEqual([3]);
    expect(await allEvents(store)).toHaveLength(1);
    expect(await store.getPayload("acme", 1)).toBeUndefined();
  });

  it("starts another deletion of a deleted tenant if it still has rows", async (subject) => {
    const { store, sql } = subject;
    await fill(subject, "acme");
    await fill(subject, "umbrella");
    await store.startDeletion("acme", START);
    await deleteAll(store, 100);
    expect(await store.startDeletion("acme", START + 1)).toBe(false);
    await sql(
      "INSERT INTO secrets (tenant_id, name, sealed, created_at, updated_at) VALUES ('acme', 'a', 'b', 1, 1) RETURNING 1 AS one",
    );
    expect(await store.startDeletion("acme", START + 2)).toBe(true);
    expect(await store.listDeletions(9)).toEqual(["acme"]);
    await deleteAll(store, 100);
    expect(await store.getTenant("acme")).toBeUndefined();
    expect(await sql("SELECT tenant_id FROM secrets")).toEqual([{ tenant_id: "umbrella" }]);
    expect(await store.startDeletion("acme", START + 3)).toBe(false);
  });

  it("keeps a tenant that was installed again during its deletion", async ({ store }) => {
    await appendEvents(store, [sampleEvent()]);
    await store.startDeletion("acme", START);
    const installation = {
      id: "8",
      tenant: "acme",
      account: "acme",
      suspended_at: null,
      version: 9,
    };
    await store.putInstallation({ ...installation, change: "restored" }, START + 1);
    expect(await store.appendEvents([appendRequest([sampleEvent()])], null)).toEqual([
      { outcome: "deleted" },
    ]);
    await deleteAll(store, 100);
    expect(await store.getTenant("acme")).toMatchObject({ name: "acme", deleting: false });
    expect(await appendEvents(store, [sampleEvent()])).toEqual([2]);
  });
}
