import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import { storeDefinition } from "../../store.ts";
import { sealedColumns } from "./store.ts";

it("lists every column with a sealed text, so that a rotation of the key misses none", async () => {
  const file = `${tempFolder()}/hub.db`;
  await openSqlite(storeDefinition, file).close();
  const database = new Database(file, { readonly: true });
  const columns = database
    .prepare<[], { name: string }>(
      "SELECT tables.name || '.' || columns.name AS name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns " +
        "WHERE tables.type = 'table' AND (columns.name LIKE '%sealed' OR columns.name LIKE '%secret')",
    )
    .all()
    .map(({ name }) => name);
  database.close();
  expect(columns.length).toBeGreaterThan(0);
  // A list of former servers, in JSON.
  expect(sealedColumns.toSorted()).toEqual([...columns, "connections.former"].toSorted());
});
