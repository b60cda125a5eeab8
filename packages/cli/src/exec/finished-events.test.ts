import { randomUUID } from "node:crypto";
import { readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { createFinishedEvents } from "./finished-events.ts";

const ids = [randomUUID(), randomUUID()].sort() as [string, string];

it("returns the events that were added and not removed, also for another instance", () => {
  const folder = join(tempFolder(), "new");
  const events = createFinishedEvents(folder);
  expect(events.read()).toEqual([]);
  for (const id of ids) events.add({ id, note: `note of ${id}` });
  events.add({ id: ids[1], note: "again" });
  expect(statSync(folder).mode & 0o077).toBe(0);
  const other = createFinishedEvents(folder);
  expect(other.read()).toEqual([
    { id: ids[0], note: `note of ${ids[0]}` },
    { id: ids[1], note: "again" },
  ]);
  other.remove(ids[0]);
  other.remove(ids[0]);
  expect(events.read()).toEqual([{ id: ids[1], note: "again" }]);
  expect(readdirSync(folder)).toEqual([`${ids[1]}.json`]);
});

it("`checkWritable` leaves no file in the folder, and throws if the folder is not writable", () => {
  const folder = join(tempFolder(), "new");
  createFinishedEvents(folder).checkWritable();
  expect(readdirSync(folder)).toEqual([]);
  const file = join(folder, "file");
  writeFileSync(file, "");
  expect(createFinishedEvents(file).checkWritable).toThrow(file);
});

it("removes damaged and old records, and ignores other files", () => {
  const folder = tempFolder();
  const events = createFinishedEvents(folder);
  const [damaged, old] = ids;
  writeFileSync(join(folder, `${damaged}.json`), "{");
  writeFileSync(join(folder, "readme.txt"), "");
  events.add({ id: old, note: "" });
  utimesSync(join(folder, `${old}.json`), 0, Date.now() / 1_000 - 31 * 24 * 60 * 60);
  expect(events.read()).toEqual([]);
  expect(readdirSync(folder)).toEqual(["readme.txt"]);
});
