import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { StoreObject } from "../../kernel/backends/durable-object.test-worker.ts";
import { openDurableObject } from "../../kernel/backends/durable-object.ts";
import { storeDefinition } from "../../store.ts";
import {
  deleteEarlierRows,
  migrateEarlierEvents,
  migrateEarlierInstallations,
  renameEarlierTables,
} from "./earlier-tables.ts";

const payload = JSON.stringify({
  action: "opened",
  issue: { number: 7, title: "It rains", html_url: "https://github.com/octo/town/issues/7" },
  repository: { full_name: "octo/town" },
});

it("renames the tables of an earlier Worker, and migrates its events once", () =>
  runInDurableObject(env.STORE.getByName("earlier"), async (_: StoreObject, { storage }) => {
    await storage.deleteAll();
    storage.sql.exec(
      "CREATE TABLE events (id TEXT PRIMARY KEY, type TEXT, payload TEXT, received_at TEXT, processed INTEGER, trigger_status TEXT, last_triggered_at TEXT)",
    );
    storage.sql.exec("CREATE INDEX events_by_received ON events (received_at)");
    storage.sql.exec("CREATE TABLE installations (installation_id INTEGER, account_id INTEGER)");
    for (let index = 0; index < 130; index += 1)
      storage.sql.exec(
        "INSERT INTO events VALUES (?, 'issues', ?, ?, ?, NULL, NULL)",
        `id-${index}`,
        payload,
        new Date(1_700_000_000_000 + index * 1_000).toISOString(),
        index < 3 ? 1 : 0,
      );

    for (let start = 0; start < 2; start += 1) {
      renameEarlierTables(storage);
      const store = openDurableObject(storeDefinition, storage);
      // Simulates a crash before the end of the migration, which is then repeated.
      if (start === 1) storage.sql.exec("ALTER TABLE migrated_events RENAME TO earlier_events");
      expect(await migrateEarlierEvents(storage, store, "42", 1)).toBe(130);
      expect(await store.pendingStatus("42")).toMatchObject({
        pending_count: 127,
        types: { issues: 127 },
      });
      expect(await store.getEvent("42", "id-5")).toMatchObject({
        seq: 6,
        received_at: 1_700_000_005_000,
        title: "It rains",
        repo: "octo/town",
      });
      const stored = await store.getPayload("42", 6);
      expect(new TextDecoder().decode(stored?.body)).toBe(payload);
      expect(await migrateEarlierEvents(storage, store, "42", 1)).toBe(0);
    }
    const { rows } = storage.sql
      .exec<{ rows: number }>("SELECT count(*) AS rows FROM earlier_installations")
      .one();
    expect(rows).toBe(0);
  }));

it("migrates the installations of an earlier registry once, and keeps what GitHub has reported since", () =>
  runInDurableObject(env.STORE.getByName("earlier-registry"), async (_, { storage }) => {
    await storage.deleteAll();
    for (const statement of [
      "CREATE TABLE installations (installation_id INTEGER PRIMARY KEY, account_id INTEGER NOT NULL, account_login TEXT NOT NULL, account_type TEXT NOT NULL, created_at TEXT NOT NULL)",
      "CREATE INDEX idx_installations_account ON installations (account_id)",
      "CREATE TABLE quotas (account_id INTEGER PRIMARY KEY, events_stored INTEGER NOT NULL DEFAULT 0, events_limit INTEGER NOT NULL DEFAULT 10000, window_started_at INTEGER NOT NULL DEFAULT 0)",
      "INSERT INTO quotas (account_id, events_stored) VALUES (100, 7)",
      "INSERT INTO installations VALUES (1, 100, 'acme', 'Organization', '2026-03-31T10:00:00.000Z')",
      "INSERT INTO installations VALUES (2, 100, 'acme', 'Organization', '2026-04-01T10:00:00.000Z')",
      "INSERT INTO installations VALUES (3, 200, 'umbrella', 'Organization', '2026-04-01T10:00:00.000Z')",
      "INSERT INTO installations VALUES (4, 300, 'mona', 'User', 'not a time')",
    ])
      storage.sql.exec(statement);
    renameEarlierTables(storage);
    const store = openDurableObject(storeDefinition, storage);
    // A version of the hub that did not migrate installations has received these events.
    const moved = { tenant: "201", account: "umbrella-2", version: 5, suspended_at: null };
    await store.putInstallation({ ...moved, id: "3", change: null }, 7);
    await store.putInstallation({ ...moved, id: "4", tenant: "300", change: "removed" }, 7);

    expect(await migrateEarlierInstallations(storage, store, 9)).toBe(4);
    expect(await migrateEarlierInstallations(storage, store, 9)).toBe(0);
    expect(await store.findInstallation("1")).toEqual({
      id: "1",
      tenant: "100",
      account: "acme",
      version: 0,
      suspended_at: null,
      removed_at: null,
    });
    expect(await store.findInstallation("2")).toMatchObject({ tenant: "100" });
    expect(await store.findInstallation("3")).toMatchObject({ tenant: "201" });
    expect(await store.findInstallation("4")).toMatchObject({ removed_at: 7 });
    expect(await store.getTenant("100")).toMatchObject({
      name: "acme",
      created_at: Date.parse("2026-03-31T10:00:00.000Z"),
      quota: null,
    });

    deleteEarlierRows(storage, "100");
    const accounts = storage.sql.exec("SELECT account_id FROM migrated_installations").toArray();
    expect(accounts).toEqual([{ account_id: 200 }, { account_id: 300 }]);
  }));
