import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { fileStorage } from "./file-storage.ts";
import { memoryStorage } from "./memory-storage.ts";
import { type SqliteDatabase, sqliteStorage } from "./sqlite-storage.ts";
import { storageContract } from "./storage-contract.ts";

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "triggers-"));
  try {
    await body(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

storageContract("memory", (body) => body(memoryStorage()));

storageContract("a JSON file", (body) =>
  withFolder((folder) => {
    const path = join(folder, "deep", "triggers.json");
    return body(fileStorage(path), async () => fileStorage(path));
  }),
);

testSqliteStorage("node:sqlite", (path) => new DatabaseSync(path));
testSqliteStorage("better-sqlite3", (path) => new Database(path));

function testSqliteStorage(
  name: string,
  open: (path: string) => SqliteDatabase & { close(): unknown },
) {
  storageContract(name, (body) =>
    withFolder(async (folder) => {
      const databases: { close(): unknown }[] = [];
      const connect = () => {
        const database = open(join(folder, "triggers.db"));
        databases.push(database);
        return sqliteStorage(database);
      };
      await body(connect(), async () => connect());
      for (const database of databases) database.close();
    }),
  );
}

const subscription = (key: string) => ({
  connectionId: "c",
  key,
  subscriptionId: key,
  type: "t",
  params: {},
  isReady: true,
});
const credentials = { callbackUrl: "https://hub.test", callbackToken: "secret" };

it("replaces the JSON file as a whole, and lets only its owner read it", () =>
  withFolder(async (folder) => {
    const path = join(folder, "triggers.json");
    const storage = fileStorage(path);
    await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        storage.saveSubscription(subscription(`s${n}`), credentials, 0),
      ),
    );
    expect(JSON.parse(readFileSync(path, "utf8")).subscriptions).toHaveLength(50);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["triggers.json"]);
    expect(await fileStorage(path).listSubscriptions()).toHaveLength(50);
  }));

it("rejects a file with other content, and does not overwrite it", () =>
  withFolder(async (folder) => {
    const path = join(folder, "triggers.json");
    for (const content of ["", "{", "[]", '{"my":"data"}']) {
      writeFileSync(path, content);
      expect(() => fileStorage(path)).toThrow(`${path} is not a file of trigger subscriptions`);
    }
  }));

it("rejects if a write fails, and includes the change in the next write", () =>
  withFolder(async (folder) => {
    const blocked = join(folder, "blocked");
    const storage = fileStorage(join(blocked, "triggers.json"));
    writeFileSync(blocked, "");
    const save = (key: string) => storage.saveSubscription(subscription(key), credentials, 0);
    await expect(save("a")).rejects.toThrow();
    rmSync(blocked);
    await save("b");
    expect(await fileStorage(join(blocked, "triggers.json")).listSubscriptions()).toHaveLength(2);
  }));
