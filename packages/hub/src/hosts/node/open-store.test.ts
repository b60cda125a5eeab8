import { chmodSync, chownSync, mkdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { SettingsError } from "../../kernel/settings.ts";
import { openStore, sqliteFile } from "./open-store.ts";
import { loadSealKeys } from "./seal-key.ts";

it.each([
  ["sqlite:", "data/signalbox.db"],
  ["sqlite://", "data/signalbox.db"],
  ["sqlite:some.db", "some.db"],
  ["sqlite://some/where.db", "some/where.db"],
  ["sqlite:/some/where.db", "/some/where.db"],
  ["sqlite:///some/where.db", "/some/where.db"],
])("%s names the file %s", (databaseUrl, file) => {
  expect(sqliteFile({ databaseUrl, data: "data" })).toBe(resolve(file));
});

it("rejects a folder as the database file, and leaves it unchanged", async () => {
  const folder = join(tempFolder(), "folder");
  mkdirSync(folder, { mode: 0o755 });
  await expect(openStore({ databaseUrl: `sqlite:${folder}`, data: "" })).rejects.toThrow(
    /is a folder/,
  );
  expect(statSync(folder).mode & 0o777).toBe(0o755);
});

it.each([
  [
    "a table flows",
    "CREATE TABLE flows (id TEXT, steps TEXT); INSERT INTO flows VALUES ('a', '[]')",
  ],
  ["an index steps_nth", "CREATE TABLE lists (nth INTEGER); CREATE INDEX steps_nth ON lists (nth)"],
])("rejects the database of another program, and names %s", async (name, sql) => {
  const file = join(tempFolder(), "other.db");
  const db = new Database(file);
  db.exec(sql);
  const schema = "SELECT name FROM sqlite_schema";
  const before = db.prepare(schema).pluck().all();
  db.close();
  const error = await openStore({ databaseUrl: `sqlite:${file}`, data: "" }).catch(
    (reason) => reason,
  );
  expect(error).toBeInstanceOf(SettingsError);
  expect(error.message).toContain(`other.db belongs to another program: it has ${name} that`);
  const reopened = new Database(file);
  expect(reopened.prepare(schema).pluck().all()).toEqual(before);
  reopened.close();
});

it("rejects a folder without write permission", async () => {
  const folder = tempFolder();
  const open = async (data: string) => (await openStore({ databaseUrl: "sqlite:", data })).close();
  await open(join(folder, "mine")); // also loads the driver while its file is readable
  chmodSync(folder, 0o555);
  // Permissions do not apply to root.
  const asRoot = process.geteuid?.() === 0;
  if (asRoot) process.seteuid?.(65_534);
  try {
    for (const name of ["new", "mine"]) {
      const error = await open(join(folder, name)).catch((error: unknown) => error);
      expect(error).toBeInstanceOf(SettingsError);
      expect((error as Error).message).toMatch(/cannot be created or written .* SIGNALBOX_DATA/);
      if (!asRoot) break; // the owner may write to the folder "mine"
    }
  } finally {
    if (asRoot) process.seteuid?.(0);
    chmodSync(folder, 0o755);
  }
});

// Only root can give files to other users.
it.runIf(process.geteuid?.() === 0)(
  "names the file that belongs to another user, and the command that changes its owner",
  async () => {
    const data = tempFolder();
    const user = 65_534;
    chownSync(data, user, user);
    const asUser = async (work: () => unknown) => {
      process.seteuid?.(user);
      try {
        return await work();
      } finally {
        process.seteuid?.(0);
      }
    };
    const open = () => openStore({ databaseUrl: "sqlite:", data });
    // As root, so that the user can load the driver even if it cannot read this checkout.
    await (await openStore({ databaseUrl: "sqlite:", data: tempFolder() })).close();
    await asUser(async () => (await open()).close());
    await asUser(() => loadSealKeys(undefined, data));
    const [database, key] = [join(data, "signalbox.db"), join(data, "key")];
    const problemOf = (file: string) =>
      `${file} belongs to the user 0, but this process runs as the user ${user}. Change its owner, as root: chown --reference='${data}' '${file}'`;
    chownSync(database, 0, 0);
    for (const mode of [0o644, 0o600]) {
      chmodSync(database, mode);
      await expect(asUser(open)).rejects.toThrow(problemOf(database));
    }
    chownSync(key, 0, 0);
    await expect(asUser(() => loadSealKeys(undefined, data))).rejects.toThrow(problemOf(key));
  },
);
