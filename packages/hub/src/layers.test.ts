/**
 * The kernel knows no capability, and capabilities form no cycles: a folder imports only folders that are
 * earlier in `FOLDERS`, the types of `part.ts`, and the package `@signalbox/rules`.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { expect, it } from "vitest";

const FOLDERS = [
  "kernel",
  "tokens",
  "oauth",
  "tenants",
  "events",
  "github",
  "people",
  "redelivery",
  "connections",
  "flows",
  "agents",
  "automations",
  "mcp",
  "web-ui",
  "operations",
];

const IMPORT =
  /^(?:import|export) (type )?[^"';]*?\bfrom "(\.[^"]+\.ts)"|\bimport\("(\.[^"]+\.ts)"\)/gm;

interface Import {
  path: string;
  isTypeOnly: boolean;
}

const importsOf = (root: string, file: string): Import[] =>
  [...readFileSync(join(root, file), "utf8").matchAll(IMPORT)].map(([, type, ...specs]) => ({
    path: relative(root, resolve(root, dirname(file), specs.find(Boolean) ?? "")),
    isTypeOnly: type !== undefined,
  }));

/** The list of all verbs, from which the type of the store is inferred. */
const STORE = "store.ts";

/** The store, and all files that its type depends on. */
function findStoreFiles(root: string): Set<string> {
  const files = new Set([STORE]);
  for (const file of files)
    for (const { path } of importsOf(root, file)) if (!path.startsWith("..")) files.add(path);
  return files;
}

/** Returns every import of a later folder, or of a file outside of `root`, as "file → imported file". */
function findForbiddenImports(root: string): string[] {
  const forbidden: string[] = [];
  const storeFiles = findStoreFiles(root);
  for (const file of globSync("*/**/*.ts", { cwd: root })) {
    const from = FOLDERS.indexOf(file.split(sep)[0] ?? "");
    if (from < 0 || /\.test(-\w+)?\.ts$|contract/.test(file)) continue;
    for (const { path, isTypeOnly } of importsOf(root, file)) {
      // Capabilities import the type of the store, except in the files that it is inferred from.
      if (path === STORE && isTypeOnly && from > 0 && !storeFiles.has(file)) continue;
      const to = path.startsWith("..") ? Number.NaN : FOLDERS.indexOf(path.split(sep)[0] ?? "");
      const isOfRoot = isTypeOnly && path === "part.ts";
      if (!isOfRoot && !(to >= 0 && to <= from)) forbidden.push(`${file} → ${path}`);
    }
  }
  return forbidden;
}

it("imports no later folder", () => {
  expect(findForbiddenImports(import.meta.dirname)).toEqual([]);
});

const RAW_TIMER = /\b(setTimeout|setInterval|setImmediate|clearTimeout|clearInterval)\b/;

it.each(["connections", "flows/runs"])("uses only injected `Timers` in %s/", (layer) => {
  const folder = join(import.meta.dirname, layer);
  const filesWithTimers = globSync("**/*.ts", { cwd: folder })
    .filter((file) => !/\.test\.ts$|contract/.test(file))
    .filter((file) => RAW_TIMER.test(readFileSync(join(folder, file), "utf8")));
  expect(filesWithTimers).toEqual([]);
});
