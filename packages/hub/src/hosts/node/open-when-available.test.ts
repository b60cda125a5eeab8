import { expect, it } from "vitest";
import type { Store } from "../../store/store.ts";
import { SettingsError } from "../settings.ts";
import { DatabaseUnavailable, type openStore } from "./open-store.ts";
import { openWhenAvailable } from "./open-when-available.ts";

const outages = { onFailure() {}, onSuccess() {}, onDisconnect() {} };
const settings = { databaseUrl: "postgres://127.0.0.1:1/none", data: "", databaseWait: 30 };

const createLog = () => {
  const lines: string[] = [];
  const write = (line: unknown) => void lines.push(String(line));
  return { lines, log: { warn: write, info: write } };
};

it("waits for the database, and logs once that it waits", async () => {
  const { lines, log } = createLog();
  let attempts = 0;
  const store = {} as Store;
  const open = async () => {
    attempts += 1;
    if (attempts < 3) throw new DatabaseUnavailable("The database is unavailable.");
    return store;
  };
  expect(await openWhenAvailable(settings, { outages, log, open })).toBe(store);
  expect(lines).toEqual([
    "The database is unavailable. Waiting for up to 30 s (SIGNALBOX_DATABASE_WAIT).",
    "the database is available",
  ]);
});

it("throws DatabaseUnavailable after the time limit", async () => {
  const { log } = createLog();
  const opened = openWhenAvailable({ ...settings, databaseWait: 0 }, { outages, log });
  const error = await opened.catch((error: unknown) => error);
  expect(error).toBeInstanceOf(DatabaseUnavailable);
  expect((error as Error).message).toMatch(/127\.0\.0\.1:1\/none is unavailable: .*ECONNREFUSED/);
});

it("does not wait if the settings are wrong", async () => {
  const { lines, log } = createLog();
  const open = async () => {
    throw new SettingsError("password authentication failed");
  };
  const opened = openWhenAvailable(settings, { outages, log, open });
  await expect(opened).rejects.toBeInstanceOf(SettingsError);
  expect(lines).toEqual([]);
});

it("opens a database that is available, and logs nothing", async () => {
  const { lines, log } = createLog();
  const sqlite = { databaseUrl: "sqlite::memory:", data: "", databaseWait: 0 };
  const open: typeof openStore = async () => ({}) as Store;
  await openWhenAvailable(sqlite, { outages, log, open });
  expect(lines).toEqual([]);
});
