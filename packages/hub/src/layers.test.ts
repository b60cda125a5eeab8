/**
 * Imports have one direction, so that folders form no cycles. A layer may import itself, the layers
 * before it in `LAYERS`, and the package `@signalbox/rules`.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { expect, it } from "vitest";

const LAYERS = [
  "lib",
  "store",
  "ingest",
  "sandbox",
  "tenants",
  "redelivery",
  "inbox",
  "stream",
  "deliver",
  "connections",
  "agents",
  "runs",
  "legacy",
  "apps",
  "mcp",
  "api",
  "pipeline.ts",
  "host-ports.ts",
  "hub-people.ts",
  "hub-github.ts",
  "hub-pipeline.ts",
  "hub-connections.ts",
  "hub-runs.ts",
  "hub-agents.ts",
  "hub-routes.ts",
  "hub.ts",
  "hosts",
];

const IMPORT = /\bfrom "(\.[^"]+\.ts)"|\bimport\("(\.[^"]+\.ts)"\)/gm;

/** Returns every import of a later layer, or of a file outside of `folder`, as "file → imported file". */
function findForbiddenImports(folder: string): string[] {
  const forbidden: string[] = [];
  for (const file of globSync("**/*.ts", { cwd: folder })) {
    if (/\.test(-\w+)?\.ts$|contract/.test(file)) continue;
    const from = LAYERS.indexOf(file.split(sep)[0] ?? "");
    for (const [, ...specs] of readFileSync(join(folder, file), "utf8").matchAll(IMPORT)) {
      const target = resolve(folder, dirname(file), specs.find(Boolean) ?? "");
      const path = relative(folder, target);
      const to = path.startsWith("..") ? Number.NaN : LAYERS.indexOf(path.split(sep)[0] ?? "");
      if (from < 0 || !(to >= 0 && to <= from)) forbidden.push(`${file} → ${path}`);
    }
  }
  return forbidden;
}

it("has no import of a later layer", () => {
  expect(findForbiddenImports(import.meta.dirname)).toEqual([]);
});

const RAW_TIMER = /\b(setTimeout|setInterval|setImmediate|clearTimeout|clearInterval)\b/;

it.each(["connections", "runs"])("uses only injected `Timers` in %s/", (layer) => {
  const folder = join(import.meta.dirname, layer);
  const filesWithTimers = globSync("**/*.ts", { cwd: folder })
    .filter((file) => !/\.test\.ts$|contract/.test(file))
    .filter((file) => RAW_TIMER.test(readFileSync(join(folder, file), "utf8")));
  expect(filesWithTimers).toEqual([]);
});
