/** The source files of the product, without tests and contract suites, and the cycles of their imports. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

export interface SourceFile {
  path: string;
  text: string;
}

const isProduct = (path: string) =>
  /^packages\/[^/]+\/(src|bin)\/.*\.(tsx?|js|css)$/.test(path) &&
  !/\.test(-\w+)?\.tsx?$|\/test-[^/]+\.ts$|\/src\/.*\bcontract(\/|\.ts$)/.test(path);

export const listProductFiles = (): SourceFile[] =>
  execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "packages"], {
    cwd: ROOT,
    encoding: "utf8",
  })
    .split("\n")
    // A file that was deleted may still be in the index.
    .filter((path) => isProduct(path) && existsSync(join(ROOT, path)))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));

const IMPORT = /\b(?:from|import) ?\(?"(\.[^"]+\.tsx?)"/g;

/** Returns the files of each cycle. Imports of types count. */
export function findCycles(files: readonly SourceFile[]): string[][] {
  const known = new Set(files.map(({ path }) => path));
  const imports = new Map(
    files.map(({ path, text }) => [
      path,
      [...text.matchAll(IMPORT)]
        .map(([, spec]) => relative(ROOT, resolve(ROOT, dirname(path), spec as string)))
        .filter((target) => known.has(target)),
    ]),
  );
  // Tarjan's strongly connected components.
  const cycles: string[][] = [];
  const numbers = new Map<string, { index: number; low: number; isOpen: boolean }>();
  const open: string[] = [];
  const visit = (path: string) => {
    const node = { index: numbers.size, low: numbers.size, isOpen: true };
    numbers.set(path, node);
    open.push(path);
    for (const target of imports.get(path) ?? []) {
      const found = numbers.get(target) ?? visit(target);
      if (found.isOpen) node.low = Math.min(node.low, found.low);
    }
    if (node.low === node.index) {
      const component = open.splice(open.indexOf(path));
      for (const member of component) (numbers.get(member) as typeof node).isOpen = false;
      if (component.length > 1) cycles.push(component.toSorted());
    }
    return node;
  };
  for (const { path } of files) if (!numbers.has(path)) visit(path);
  return cycles;
}
