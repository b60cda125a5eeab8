import Database from "better-sqlite3";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { openSqlite } from "../../store/backends/sqlite.ts";
import { OLDER_FLOWS } from "../../store/contract/older-sample.ts";
import type { Store } from "../../store/store.ts";
import { readSettings } from "../settings.ts";
import { startHub } from "./hub.ts";
import { takeOver } from "./older-flows.ts";

/** A data folder with the database of an older system. */
function olderFolder(): string {
  const folder = tempFolder();
  const db = new Database(`${folder}/signalbox.db`);
  db.exec(OLDER_FLOWS);
  db.close();
  return folder;
}

function openOlder(): Store {
  const store = openSqlite(`${olderFolder()}/signalbox.db`);
  onTestFinished(() => store.close());
  return store;
}

/** What the log says, each line with its level and whom it is about. */
async function logged(store: Pick<Store, "migrateLegacyFlows">, tenant: string | undefined) {
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line) => lines.push(line) });
  await takeOver(store, tenant, log);
  return lines.map((line) => {
    const { level, app, flow, msg } = JSON.parse(line);
    return [level, app, flow, msg].filter((part) => part !== undefined).join(" ");
  });
}

it("says how many came into which app, and all that was odd", async () => {
  const store = openOlder();
  const lines = await logged(store, "local");
  expect(lines).toContain("30 support-desk 3 older flows came into the app support-desk");
  expect(lines).toContain("30 billing 2 older flows came into the app billing");
  expect(lines).toContain(
    "40 support-desk twin older flow Get Weather Data: toolName: the app already has a tool getWeather; this one is now getWeather_2.",
  );
  expect(lines).toContain(
    "40 billing legacy older flow Legacy: not published: The flow cannot run yet: Legacy: there is no type of node called LegacyThing",
  );
  expect(lines).toContain(
    "40 older flow hopeless: not taken over: name: is missing: it must be a text; it stays in migrated_flows",
  );
  expect(lines.at(-1)).toBe("30 older flows were taken over; their table is now migrated_flows");
  expect(await logged(store, "local")).toEqual([]);
});

it("says what to do where nobody can tell whose they are", async () => {
  const store = openOlder();
  const lines = await logged(store, undefined);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^40 .*tenant_id.*`signalbox import-flows FILE --tenant ACCOUNT_ID`/);
  expect(await logged(store, undefined)).toEqual(lines);
});

it("is done when the hub starts: who called the tools before can call them again", async () => {
  const env = { PORT: "0", SIGNALBOX_DATA: olderFolder() };
  const hub = await startHub({
    settings: readSettings({ flags: {}, env, file: {} }),
    log: pino({ level: "silent" }),
    version: "0.0.0",
  });
  onTestFinished(() => hub.stop());
  const tools = await hub.store.listTools("local", "support-desk", "", 9);
  expect(tools.map(({ tool_name }) => tool_name)).toEqual(["getWeather", "getWeather_2"]);
});

it("goes on where they cannot be taken over", async () => {
  const migrateLegacyFlows = () => Promise.reject(new Error("no room"));
  expect(await logged({ migrateLegacyFlows }, "local")).toEqual([
    expect.stringMatching(/^50 .*they stay in the table older_flows/),
  ]);
});
