import { execFile } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { loadSealKeys, writeSealKeys } from "./seal-key.ts";

it("uses the configured key, and writes no file", () => {
  const data = join(tempFolder(), "never");
  const [key, former] = [new Uint8Array(32).fill(7), new Uint8Array(32).fill(8)];
  const setting = [key, former].map((bytes) => Buffer.from(bytes).toString("base64")).join(",");
  expect(loadSealKeys(setting, data)).toEqual([key, former]);
  expect(() => statSync(data)).toThrow("ENOENT");
});

it("creates a key once, readable by its owner only, and no other file", () => {
  const data = join(tempFolder(), "new");
  const first = loadSealKeys(undefined, data);
  expect(first.map(({ byteLength }) => byteLength)).toEqual([32]);
  expect(loadSealKeys(undefined, data)).toEqual(first);
  expect(readdirSync(data)).toEqual(["key"]);
  expect(statSync(join(data, "key")).mode & 0o777).toBe(0o600);
  expect(statSync(data).mode & 0o777).toBe(0o700);
  expect(loadSealKeys(undefined, tempFolder())).not.toEqual(first);
});

it("rejects an invalid key file, and never replaces it", () => {
  const data = tempFolder();
  const file = join(data, "key");
  writeFileSync(file, "");
  expect(() => loadSealKeys(undefined, data)).toThrow(/key is empty.*Restore it from a backup/);
  writeFileSync(file, "c2hvcnQ=\n");
  expect(() => loadSealKeys(undefined, data)).toThrow(
    /does not contain a key of 32 bytes in base64/,
  );
  expect(readFileSync(file, "utf8")).toBe("c2hvcnQ=\n");
});

it("makes a key file readable by its owner only", () => {
  const data = tempFolder();
  const key = loadSealKeys(undefined, data);
  chmodSync(join(data, "key"), 0o644);
  expect(loadSealKeys(undefined, data)).toEqual(key);
  expect(statSync(join(data, "key")).mode & 0o777).toBe(0o600);
});

it("replaces the keys of the file, and keeps its mode", () => {
  const data = tempFolder();
  const [former] = loadSealKeys(undefined, data);
  const next = new Uint8Array(32).fill(7);
  writeSealKeys(data, [next, former]);
  expect(loadSealKeys(undefined, data)).toEqual([next, former]);
  expect(statSync(join(data, "key")).mode & 0o777).toBe(0o600);
  writeSealKeys(data, [next]);
  expect(loadSealKeys(undefined, data)).toEqual([next]);
  expect(readdirSync(data)).toEqual(["key"]);
});

it("creates no key if secrets are stored that another key has encrypted", () => {
  const data = join(tempFolder(), "new");
  expect(() => loadSealKeys(undefined, data, { canCreate: false })).toThrow(
    /key is missing.*Restore the file from a backup, or set SIGNALBOX_KEY/,
  );
  expect(readdirSync(data)).toEqual([]);
});

it("returns the same key in processes that start together", async () => {
  const script = `import { loadSealKeys } from ${JSON.stringify(join(import.meta.dirname, "seal-key.ts"))};
    process.stdout.write(Buffer.from(loadSealKeys(undefined, process.argv[1])[0]).toString("base64"))`;
  const data = join(tempFolder(), "new");
  const runs = Array.from({ length: 6 }, () =>
    promisify(execFile)(process.execPath, ["--input-type=module", "-e", script, data]),
  );
  const keys = (await Promise.all(runs)).map(({ stdout }) => stdout);
  expect(new Set(keys)).toEqual(new Set([readFileSync(join(data, "key"), "utf8").trim()]));
  expect(readdirSync(data)).toEqual(["key"]);
});
