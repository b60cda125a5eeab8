import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, it } from "vitest";

const root = import.meta.dirname;
const IMPORT = /^(?:import|export) [^"';]*?\bfrom "([^"]+)"|\bimport\("([^"]+)"\)/gm;
const ALLOWED_PACKAGES = /^(node:|@signalbox\/(bridge|contract|rules)(\/|$)|zod$)/;

// The hub takes its commands from this package, and the package is installed where there is no hub.
it("imports only its own files, the API, the bridge and pure rules", () => {
  const isAllowed = (file: string, specifier: string) =>
    specifier.startsWith(".")
      ? !relative("..", join(dirname(file), specifier)).startsWith("..")
      : ALLOWED_PACKAGES.test(specifier);
  const imports = globSync("**/*.ts", { cwd: root })
    .filter((file) => !file.endsWith(".test.ts"))
    .flatMap((file) =>
      [...readFileSync(join(root, file), "utf8").matchAll(IMPORT)].map(
        ([, ...specifiers]) => [file, specifiers.find(Boolean) ?? ""] as const,
      ),
    );
  expect(imports.length).toBeGreaterThan(100);
  expect(imports.filter(([file, specifier]) => !isAllowed(file, specifier))).toEqual([]);
  expect(isAllowed("exec/a.ts", "../../../hub/src/store.ts")).toBe(false);
  expect(isAllowed("a.ts", "better-sqlite3")).toBe(false);
});
