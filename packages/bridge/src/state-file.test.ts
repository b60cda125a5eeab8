import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { createStateFile, MAX_ANNOUNCED } from "./state-file.ts";

const emptyState = { cursor: null, announced: [] };

function open(folder: string, url = "http://hub.example", log = "a") {
  const warnings: string[] = [];
  return {
    warnings,
    ...createStateFile({ folder, url, log, onError: (line) => warnings.push(line) }),
  };
}

describe("createStateFile", () => {
  it("saves the state per hub and log, and leaves no other files", () => {
    const folder = join(tempFolder(), "not", "there", "yet");
    const file = open(folder);
    expect(file.read()).toEqual(emptyState);
    const state = { cursor: "7", announced: [{ id: "e", at: 1 }] };
    file.write(state);
    expect(open(folder).read()).toEqual(state);
    expect(open(folder, "http://other.example").read()).toEqual(emptyState);
    const other = open(folder, "http://hub.example", "b");
    expect(other.read()).toEqual(emptyState);
    expect(readdirSync(folder)).toHaveLength(1);
    other.write({ ...state, cursor: "900" });
    expect(open(folder).read()).toEqual(state);
    expect(readdirSync(folder)).toHaveLength(2);
    expect(file.warnings).toEqual([]);
  });

  it("starts over if the tenant's log was replaced", () => {
    const folder = tempFolder();
    const before = { cursor: "7", announced: [{ id: "e", at: 1 }] };
    const openLog = (log: string) => open(folder, "http://hub.example", log);
    openLog("acme@1").write(before);
    expect(openLog("acme@1").read()).toEqual(before);
    const restarted = { cursor: "0", announced: [], replaced: true };
    expect(openLog("acme@2").read()).toEqual(restarted);
    expect(openLog("acme@2").read()).toEqual(restarted);
    expect(openLog("umbrella@2").read()).toEqual(emptyState);
    openLog("acme@2").write({ ...emptyState, cursor: "0" });
    expect(openLog("acme@2").read()).toEqual({ ...emptyState, cursor: "0" });
  });

  it("continues after the cursor, with the former name of the database, if that failed over", () => {
    const folder = tempFolder();
    const before = { cursor: "7", announced: [{ id: "e", at: 1 }] };
    const openLog = (log: string) => open(folder, "http://hub.example", log);
    openLog("acme@0a1b2c01").write(before);
    const resumed = { ...before, cursor: "7@0a1b2c01" };
    expect(openLog("acme@0a1b2c02").read()).toEqual(resumed);
    // Saved before the hub has named another cursor, and failed over again.
    openLog("acme@0a1b2c02").write(resumed);
    expect(openLog("acme@0a1b2c03").read()).toEqual(resumed);
    openLog("acme@0a1b2c03").write({ ...before, cursor: null });
    expect(openLog("acme@0a1b2c04").read()).toEqual({ ...before, cursor: null });
  });

  it("saves a cursor of many tenants, and the repository of an event", () => {
    const folder = tempFolder();
    const state = {
      cursor: "x".repeat(64 * 1024),
      announced: [{ id: "e", at: 1, repo: "octo/town" }],
    };
    open(folder).write(state);
    const file = open(folder);
    expect(file.read()).toEqual(state);
    expect(file.warnings).toEqual([]);
  });

  it("limits the number of announced events", () => {
    const file = open(tempFolder());
    const announced = Array.from({ length: 2_000 }, (_, at) => ({ id: `e${at}`, at }));
    file.write({ cursor: "1", announced });
    expect(file.read().announced).toEqual(announced.slice(-MAX_ANNOUNCED));
  });

  it.each(["", "{", "null", '{"version":2}', '{"version":1,"cursor":"a\\r\\nb"}', '{"version":1}'])(
    "ignores the invalid content %j, and warns",
    (text) => {
      const folder = tempFolder();
      const file = open(folder);
      file.write({ ...emptyState, cursor: "1" });
      for (const name of readdirSync(folder)) writeFileSync(join(folder, name), text);
      expect(file.read()).toEqual(emptyState);
      expect(file.warnings).toEqual([expect.stringContaining("damaged")]);
    },
  );

  it("continues if it cannot write, and warns once", () => {
    const folder = join(tempFolder(), "taken");
    writeFileSync(folder, "a file, not a folder");
    const file = open(folder);
    file.write(emptyState);
    file.write(emptyState);
    expect(file.warnings).toEqual([expect.stringContaining("cannot save its state")]);
  });

  it("ignores an incomplete file left by a crash", () => {
    const folder = tempFolder();
    mkdirSync(folder, { recursive: true });
    const file = open(folder);
    file.write({ ...emptyState, cursor: "1" });
    const [name = ""] = readdirSync(folder);
    writeFileSync(join(folder, `${name}.1.abc.tmp`), "{");
    expect(file.read().cursor).toBe("1");
  });
});
