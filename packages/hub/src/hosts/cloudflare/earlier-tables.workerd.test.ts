import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { StoreObject } from "../../store/backends/durable-object.test-worker.ts";
import { openDurableObject } from "../../store/backends/durable-object.ts";
import { migrateEarlierEvents, renameEarlierTables } from "./earlier-tables.ts";

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
      const store = openDurableObject(storage);
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
