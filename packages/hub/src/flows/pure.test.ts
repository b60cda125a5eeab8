/** The rules of flows and of matching run anywhere: on a server, in a Worker, in a browser. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, it } from "vitest";

const source = resolve(import.meta.dirname, "..");
const IMPORT = /^(?:import|export) (?!type )[^;]*?from "([^"]+)"/gm;

it("nothing in flows/ and match/ needs Node, or another stage", () => {
  const files = new Set(
    globSync(["flows/**/*.ts", "match/**/*.ts"], { cwd: source }).filter(
      (file) => !file.endsWith(".test.ts"),
    ),
  );
  expect(files.size).toBeGreaterThan(20);
  // A set takes in what is added while it is walked.
  for (const file of files)
    for (const [, from = ""] of readFileSync(join(source, file), "utf8").matchAll(IMPORT)) {
      expect(from, file).not.toMatch(/^node:/);
      if (!from.startsWith(".")) continue;
      const imported = relative(source, resolve(source, dirname(file), from));
      expect(imported, file).toMatch(/^(?:flows|match|lib|sandbox)\//);
      files.add(imported);
    }
});
