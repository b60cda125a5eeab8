/** The size of the database is visible, and a SQLite file of an earlier version is compacted. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, inject, it } from "vitest";
import { startApi } from "../support/api-client.ts";
import { CLI, runCli } from "../support/hub-process.ts";
import { createDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** Adds rows to the file of a stopped hub, and converts it to that of a version without `auto_vacuum`. */
function toFormerFile(file: string, megabytes: number): void {
  const db = new DatabaseSync(file);
  db.exec("PRAGMA auto_vacuum = NONE");
  db.exec("VACUUM");
  db.exec("CREATE TABLE former (body BLOB)");
  for (let at = 0; at < megabytes; at += 1)
    db.exec("INSERT INTO former VALUES (randomblob(1048576))");
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
    stderr: expect.stringMatching(
      /^signalbox: A hub \(process \d+, http:\S+\) is using \S+signalbox\.db\. Stop it, run `npx signalbox compact` again, and start it\.\n$/,
    ),
  });
  await first.hub.stop();

  // More than the hub converts at its start.
  toFormerFile(file, 130);
  const second = await startApi("SQLite", env);
  const { json: size } = await second.expect(200, "GET", "/api/storage");
  expect(size).toMatchObject({
    engine: "sqlite",
    can_shrink: false,
    used_bytes: expect.any(Number),
    free_bytes: expect.any(Number),
    wal_bytes: expect.any(Number),
  });
  expect(size.bytes - size.wal_bytes).toBe(statSync(file).size);
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
    used_bytes: expect.any(Number),
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

const isolated = ["--map-root-user", "--mount"];
/** A container may have no permission to mount a file system. */
const canMount = spawnSync("unshare", [...isolated, "true"]).status === 0;

interface SmallDisk {
  /** Ends the command when its output contains this text. */
  until?: string;
  /** Uses all free space of the disk. */
  fill?: boolean;
}

/** Runs a command with a copy of the database on a disk of 8 MiB. Returns its output. */
async function runOnSmallDisk(
  database: string,
  args: string[],
  { until, fill = false }: SmallDisk = {},
): Promise<string> {
  const data = tempFolder();
  const script = [
    'mount -t tmpfs -o size=8m tmpfs "$1" && cp "$2" "$1/signalbox.db" || exit 9',
    ...(fill ? ['cat /dev/zero > "$1/other" 2> /dev/null'] : []),
    'shift 2; exec "$@"',
  ].join("\n");
  const command = ["sh", "-c", script, "sh", data, database, process.execPath, CLI, ...args];
  // The mount ends with the process.
  const child = spawn("unshare", [...isolated, ...command], {
    env: { PATH: process.env.PATH, SIGNALBOX_DATA: data, PORT: "0", SIGNALBOX_LOG_FORMAT: "json" },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      if (until !== undefined && output.includes(until)) child.kill();
    });
  await once(child, "close");
  return output.replaceAll(data, "DATA");
}

it.runIf(canMount)("a full disk is reported with the space that is needed", async () => {
  const data = tempFolder();
  const file = join(data, "signalbox.db");
  await (await startApi("SQLite", { SIGNALBOX_DATA: data })).hub.stop();
  toFormerFile(file, 5);

  expect(await runOnSmallDisk(file, ["compact"])).toMatch(
    /^signalbox: DATA\/signalbox\.db cannot be compacted, because the disk is full\. The command needs 6\.\d MiB in DATA, where 1\.\d MiB are free, and as much again in the folder of temporary files \([^)]+\)\. Free disk space, .*The data is unchanged\.\n$/,
  );
  const started = await runOnSmallDisk(file, ["serve"], { until: '"msg":"listening"' });
  expect(started).toContain('"msg":"listening"');
  expect(started).toMatch(
    /"msg":"the database file [^"]* cannot shrink: its conversion needs 2\d\.\d MiB of free disk space, and DATA has 1\.\d MiB\. Free disk space, and restart the hub"/,
  );

  // SQLite cannot even open the file.
  for (const [args, message] of [
    [["compact"], "cannot be compacted, because the disk is full. The command needs 6."],
    [
      ["token", "list"],
      "cannot be opened or written, because its disk is full. Free at least 1 MiB",
    ],
  ] as const)
    expect(await runOnSmallDisk(file, [...args], { fill: true })).toContain(message);
});
