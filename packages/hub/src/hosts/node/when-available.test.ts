import { expect, it } from "vitest";
import { StorageUnavailable } from "../../store/storage-unavailable.ts";
import { SettingsError } from "../settings.ts";
import { DatabaseUnavailable, openStore } from "./open-store.ts";
import { whenAvailable } from "./when-available.ts";

const settings = { databaseUrl: "postgres://127.0.0.1:1/none", data: "", databaseWait: 30 };

const createLog = () => {
  const lines: string[] = [];
  const write = (line: unknown) => void lines.push(String(line));
  return { lines, log: { warn: write, info: write } };
};

it("repeats a start until the database is available, and logs once that it waits", async () => {
  const { lines, log } = createLog();
  let attempts = 0;
  const start = async () => {
    attempts += 1;
    // Opened, and unavailable afterwards.
    if (attempts < 3) throw new StorageUnavailable("no free connection");
    return "started";
  };
  expect(await whenAvailable(settings, log, start)).toBe("started");
  expect(lines).toEqual([
    "The database at postgres://127.0.0.1:1/none is unavailable: no free connection. Check that PostgreSQL is running and writable, and DATABASE_URL. Waiting for up to 30 s (SIGNALBOX_DATABASE_WAIT).",
    "the database is available",
  ]);
});

it("throws DatabaseUnavailable after the time limit", async () => {
  const { log } = createLog();
  const started = whenAvailable({ ...settings, databaseWait: 0 }, log, () => openStore(settings));
  const error = await started.catch((error: unknown) => error);
  expect(error).toBeInstanceOf(DatabaseUnavailable);
  expect((error as Error).message).toMatch(/127\.0\.0\.1:1\/none is unavailable: .*ECONNREFUSED/);
});

it.each([
  ["the settings are wrong", settings, new SettingsError("password authentication failed")],
  [
    "a SQLite file is unavailable",
    { ...settings, databaseUrl: "sqlite:" },
    new StorageUnavailable("disk full"),
  ],
])("does not wait if %s", async (_, used, error) => {
  const { lines, log } = createLog();
  await expect(whenAvailable(used, log, () => Promise.reject(error))).rejects.toBe(error);
  expect(lines).toEqual([]);
});
