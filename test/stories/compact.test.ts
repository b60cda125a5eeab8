/** The size of the database is visible, and a SQLite file of an earlier version is compacted. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, inject, it } from "vitest";
import { startApi } from "../support/api-client.ts";
import { runCli } from "../support/hub-process.ts";
import { createDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** Adds rows to the file of a stopped hub and deletes them, as a version without `auto_vacuum` did. */
function leaveFreePages(file: string): void {
  const db = new DatabaseSync(file);
  db.exec("PRAGMA auto_vacuum = NONE");
  db.exec("VACUUM");
  db.exec("CREATE TABLE former (body BLOB)");
  // More than the hub converts at its start.
  for (let at = 0; at < 130; at += 1) db.exec("INSERT INTO former VALUES (randomblob(1048576))");
  db.close();
}

it("`signalbox compact` shrinks the file of a stopped hub, which keeps its data", async () => {
  const data = tempFolder();
  const env = { SIGNALBOX_DATA: data };
  const file = join(data, "signalbox.db");
  expect(await runCli(["compact"], { env })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("No database at"),
  });
  const first = await startApi("SQLite", env);
  const { json: flow } = await first.expect(201, "POST", "/api/apps", {
    name: "Kept",
    slug: "kept",
  });
  expect(flow).toMatchObject({ slug: "kept" });
  expect(await runCli(["compact"], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("Another hub"),
  });
  await first.hub.stop();

  leaveFreePages(file);
  const second = await startApi("SQLite", env);
  expect((await second.expect(200, "GET", "/api/storage")).json).toMatchObject({
    engine: "sqlite",
    can_shrink: false,
    bytes: expect.any(Number),
    free_bytes: expect.any(Number),
    wal_bytes: expect.any(Number),
  });
  await second.hub.stop();
  const db = new DatabaseSync(file);
  db.exec("DROP TABLE former");
  db.close();
  const before = statSync(file).size;
  expect(before).toBeGreaterThan(130 * 1024 ** 2);

  const compacted = await runCli(["compact", "--json"], { env });
  expect(compacted).toMatchObject({ code: 0, stderr: "" });
  const { bytes_before, bytes } = JSON.parse(compacted.stdout);
  expect([bytes_before, bytes]).toEqual([before, statSync(file).size]);
  expect(bytes).toBeLessThan(5 * 1024 ** 2);
  const third = await startApi("SQLite", env);
  expect((await third.expect(200, "GET", "/api/storage")).json).toMatchObject({ can_shrink: true });
  const apps = (await third.expect(200, "GET", "/api/apps")).json.items;
  expect(apps).toContainEqual(expect.objectContaining({ slug: "kept" }));
});

it("PostgreSQL reports its size, and needs no `compact`", async () => {
  const env = { DATABASE_URL: await createDatabase(inject("postgresUrl")) };
  const api = await startApi("PostgreSQL", env);
  expect((await api.expect(200, "GET", "/api/storage")).json).toMatchObject({
    engine: "postgres",
    bytes: expect.any(Number),
    free_bytes: null,
    wal_bytes: null,
    can_shrink: true,
  });
  expect(
    await runCli(["compact"], { env: { ...env, SIGNALBOX_DATA: tempFolder() } }),
  ).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("is for SQLite"),
  });
});
