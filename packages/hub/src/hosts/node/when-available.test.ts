import { expect, it } from "vitest";
import { SettingsError } from "../../kernel/settings.ts";
import { type OutageLog, StorageUnavailable } from "../../kernel/store/availability.ts";
import { DatabaseUnavailable, openStore } from "./open-store.ts";
import { whenAvailable } from "./when-available.ts";

const settings = { databaseUrl: "postgres://127.0.0.1:1/none", data: "", databaseWait: 30 };

const outages: OutageLog = { onFailure() {}, onSuccess() {}, onDisconnect() {} };

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
  expect(await whenAvailable({ settings, log, outages }, start)).toBe("started");
  expect(lines).toEqual([
    "The database at postgres://127.0.0.1:1/none is unavailable: no free connection. Check that PostgreSQL is running and writable, and DATABASE_URL. Waiting for up to 30 s (SIGNALBOX_DATABASE_WAIT).",
    "the database is available",
  ]);
});

it("throws DatabaseUnavailable after the time limit", async () => {
  const { log } = createLog();
  const started = whenAvailable({ settings: { ...settings, databaseWait: 0 }, log, outages }, () =>
    openStore(settings),
  );
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
  await expect(
    whenAvailable({ settings: used, log, outages }, () => Promise.reject(error)),
  ).rejects.toBe(error);
  expect(lines).toEqual([]);
});

it("logs an outage of the attempt that succeeded, but none of those that failed", async () => {
  const { log } = createLog();
  const logged: string[] = [];
  const attempts: OutageLog[] = [];
  const onFailure = ({ message }: Error) => void logged.push(message);
  await whenAvailable({ settings, log, outages: { ...outages, onFailure } }, async (own) => {
    attempts.push(own);
    own.onFailure(new Error("during the start"), { writes: true });
    if (attempts.length < 2) throw new StorageUnavailable("no free connection");
  });
  for (const [index, own] of attempts.entries())
    own.onFailure(new Error(`of attempt ${index + 1}`), { writes: true });
  expect(logged).toEqual(["of attempt 2"]);
});
