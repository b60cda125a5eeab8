import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { storeDefinition } from "../../store.ts";
import { openSqlite } from "./sqlite.ts";
import { lockDatabase } from "./sqlite-file.ts";

it("locks a database until the lock is released, while others can still open the database", async () => {
  const folder = tempFolder();
  const file = join(folder, "hub.db");
  const release = lockDatabase(file);
  expect(release).toBeTypeOf("function");
  expect(lockDatabase(file)).toBeUndefined();
  const store = openSqlite(storeDefinition, file);
  await store.checkWritable(1);
  await store.close();
  expect(lockDatabase(file)).toBeUndefined();
  expect(readdirSync(folder).toSorted()).toEqual(["hub.db", "hub.db.lock"]);
  release?.();
  release?.();
  lockDatabase(file)?.();
});
