import { execFile } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { loadSealKey } from "./seal-key.ts";

it("uses the configured key, and writes no file", () => {
  const data = join(tempFolder(), "never");
  const key = Buffer.alloc(32, 7);
  expect(loadSealKey(key.toString("base64"), data)).toEqual(key);
  expect(() => statSync(data)).toThrow("ENOENT");
});

it("creates a key once, readable by its owner only, and no other file", () => {
  const data = join(tempFolder(), "new");
  const first = loadSealKey(undefined, data);
  expect(first).toHaveLength(32);
  expect(loadSealKey(undefined, data)).toEqual(first);
  expect(readdirSync(data)).toEqual(["key"]);
  expect(statSync(join(data, "key")).mode & 0o777).toBe(0o600);
  expect(statSync(data).mode & 0o777).toBe(0o700);
  expect(loadSealKey(undefined, tempFolder())).not.toEqual(first);
});

it("rejects an invalid key file, and never replaces it", () => {
  const data = tempFolder();
  const file = join(data, "key");
  writeFileSync(file, "");
  expect(() => loadSealKey(undefined, data)).toThrow(/key is empty.*Restore it from a backup/);
  writeFileSync(file, "c2hvcnQ=\n");
  expect(() => loadSealKey(undefined, data)).toThrow(
    /does not contain a key of 32 bytes in base64/,
  );
  expect(readFileSync(file, "utf8")).toBe("c2hvcnQ=\n");
});

it("makes a key file readable by its owner only", () => {
  const data = tempFolder();
  const key = loadSealKey(undefined, data);
  chmodSync(join(data, "key"), 0o644);
  expect(loadSealKey(undefined, data)).toEqual(key);
  expect(statSync(join(data, "key")).mode & 0o777).toBe(0o600);
});

it("creates no key if secrets are stored that another key has encrypted", () => {
  const data = join(tempFolder(), "new");
  expect(() => loadSealKey(undefined, data, { canCreate: false })).toThrow(
    /key is missing.*Restore the file from a backup, or set SIGNALBOX_KEY/,
  );
  expect(readdirSync(data)).toEqual([]);
});

it("returns the same key in processes that start together", async () => {
  const script = `import { loadSealKey } from ${JSON.stringify(join(import.meta.dirname, "seal-key.ts"))};
    process.stdout.write(Buffer.from(loadSealKey(undefined, process.argv[1])).toString("base64"))`;
  const data = join(tempFolder(), "new");
  const runs = Array.from({ length: 6 }, () =>
    promisify(execFile)(process.execPath, ["--input-type=module", "-e", script, data]),
  );
  const keys = (await Promise.all(runs)).map(({ stdout }) => stdout);
  expect(new Set(keys)).toEqual(new Set([readFileSync(join(data, "key"), "utf8").trim()]));
  expect(readdirSync(data)).toEqual(["key"]);
});
