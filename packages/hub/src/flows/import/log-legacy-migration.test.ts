import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import Database from "better-sqlite3";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { startHub } from "../../hosts/node/start-hub.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import { createIds } from "../../kernel/lib/ids.ts";
import { readSettings } from "../../settings.ts";
import { type Store, storeDefinition } from "../../store.ts";
import { LEGACY_FLOWS } from "../store/contract/legacy-sample.ts";
import { testRunJob } from "../test-run-job.ts";
import { logLegacyMigration } from "./log-legacy-migration.ts";
import { migrateLegacyFlows } from "./migrate-legacy-flows.ts";

/** Creates a data folder with the database of a legacy system. */
function legacyFolder(statements = LEGACY_FLOWS): string {
  const folder = tempFolder();
  const db = new Database(`${folder}/signalbox.db`);
  db.exec(statements);
  db.close();
  return folder;
}

function openLegacy(statements?: string): Store {
  const store = openSqlite(storeDefinition, `${legacyFolder(statements)}/signalbox.db`);
  onTestFinished(() => store.close());
  return store;
}

/** Migrates, and returns the log lines, each with its level, app and flow. */
async function migrateAndLog(
  store: Parameters<typeof migrateLegacyFlows>[0]["store"],
  tenant: string | undefined,
) {
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line) => lines.push(line) });
  const options = {
    store,
    registry: nodeTypes,
    runJob: testRunJob,
    tenant,
    newId: createIds(),
    now: Date.now,
  };
  await logLegacyMigration(log, () => migrateLegacyFlows(options));
  return lines.map((line) => {
    const { level, app, flow, msg } = JSON.parse(line);
    return [level, app, flow, msg].filter((field) => field !== undefined).join(" ");
  });
}

it("logs the number of flows in each app, and a warning for each problem", async () => {
  const store = openLegacy();
  const lines = await migrateAndLog(store, "local");
  expect(lines).toContain("30 support-desk 3 legacy flows were added to the app support-desk");
  expect(lines).toContain("30 billing 2 legacy flows were added to the app billing");
  expect(lines).toContain(
    "40 support-desk twin legacy flow Get Weather Data: toolName: the app already has a tool getWeather; this one is now getWeather_2.",
  );
  expect(lines).toContain(
    "40 billing legacy legacy flow Legacy: not published: The flow cannot run yet: Legacy: unknown node type LegacyThing",
  );
  expect(lines).toContain(
    "40 legacy flow hopeless: not migrated: name: is missing: it must be a string; it stays in migrated_flows",
  );
  expect(lines.at(-1)).toBe(
    "30 legacy flows were migrated; their table is now named migrated_flows",
  );
  expect(await migrateAndLog(store, "local")).toEqual([]);
});

it("shortens long names in log lines, and ends no reason with a period", async () => {
  const long = "x".repeat(5_000);
  const node = (id: string) => `{"id":"${id}","type":"Return","name":"End"}`;
  const store = openLegacy(`
    CREATE TABLE flows (id TEXT, name TEXT, "toolName" TEXT, "toolDescription" TEXT, parameters TEXT, nodes TEXT, edges TEXT);
    INSERT INTO flows VALUES
      ('a', 'Good', 'good', 'Does.', '[]', '[]', '[]'),
      ('b', '${long}', 'long', 'Does.', '[]', '[]', '[]'),
      ('c', 'Deep', 'deep', 'Does.', '${"[".repeat(3_000)}${"]".repeat(3_000)}', '[]', '[]'),
      ('d', 'Dangling', 'dangling', 'Does.', '[]', '[${node("r")}]', '[{"source":"gone","target":"r"}]')`);
  const lines = await migrateAndLog(store, "local");
  expect(lines).toContain("30 flows 1 legacy flow was added to the app flows");
  expect(lines.join("\n")).not.toContain("x".repeat(101));
  expect(lines.join("\n")).toContain(`legacy flow ${"x".repeat(99)}…: not migrated: name: `);
  expect(lines.join("\n")).not.toMatch(/\.;|\(root\)/);
  expect(lines.join("\n")).toMatch(/Dangling: not migrated: .*; it stays in migrated_flows/);
});

it("logs the fix if the flows have no tenant", async () => {
  const store = openLegacy();
  const lines = await migrateAndLog(store, undefined);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(
    /^40 .*tenant_id.*`npx signalbox import-flows FILE --tenant ACCOUNT_ID`/,
  );
  expect(await migrateAndLog(store, undefined)).toEqual(lines);
});

it("migrates when the hub starts, which then lists the legacy tools", async () => {
  const env = { PORT: "0", SIGNALBOX_DATA: legacyFolder() };
  const hub = await startHub({
    settings: readSettings({ flags: {}, env, file: {} }),
    log: pino({ level: "silent" }),
    version: "0.0.0",
  });
  onTestFinished(() => hub.stop());
  const tools = await hub.store.listTools("local", "support-desk", "", 9);
  expect(tools.map(({ tool_name }) => tool_name)).toEqual(["getWeather", "getWeather_2"]);
});

it("logs an error and continues if the migration fails", async () => {
  const migrateLegacyFlows = () => Promise.reject(new Error("disk full"));
  const store = {
    migrateLegacyFlows,
    listSecretNames: async () => [],
    getConnection: async () => undefined,
    getOffers: async () => undefined,
    listSources: async () => [],
    getFlow: async () => undefined,
  };
  expect(await migrateAndLog(store, "local")).toEqual([
    expect.stringMatching(/^50 .*they stay in the table older_flows/),
  ]);
});
