/**
 * `npm run count [-- --static] [-- --verbose]`: prints figures about the structure of the source: how many files a request, a capability, a new
 * store method or table touches, import cycles, casts of responses, and lines. Tests and contract suites are
 * not counted. `--static` does not start a hub, `--verbose` also prints the paths.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { countExecutedFiles } from "./executed-files.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const MAX_FILE_LINES = 500;

interface SourceFile {
  path: string;
  text: string;
}

const isProduct = (path: string) =>
  /^packages\/[^/]+\/(src|bin)\/.*\.(tsx?|js|css)$/.test(path) &&
  !/\.test(-\w+)?\.tsx?$|\/test-[^/]+$|\/src\/.*\bcontract(\/|\.ts$)/.test(path);

const listFiles = (): SourceFile[] =>
  execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "packages"], {
    cwd: ROOT,
    encoding: "utf8",
  })
    .split("\n")
    .filter(isProduct)
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));

const countMatches = (files: readonly SourceFile[], pattern: RegExp): number =>
  files.reduce((sum, { text }) => sum + (text.match(pattern)?.length ?? 0), 0);

const inFolder = (files: readonly SourceFile[], folder: string): SourceFile[] =>
  files.filter(({ path }) => path.startsWith(`${folder}/`));

/**
 * What names a capability in the code of the hub. Comments and messages do not count, nor the lists of parts in the root
 * folder, the commands, and former migrations.
 */
const CAPABILITIES: Record<string, RegExp> = {
  redelivery: /redeliver/i,
  "the OAuth server":
    /createOAuth|oauth_(clients|codes|grants|refresh|device)|"\.\.\/oauth\/|\/src\/oauth\//,
  "MCP Events": /mcp-events\/|EventsDraft|"events\/(list|poll|stream|subscribe)/,
};
const NOT_COUNTED = /^packages\/hub\/src\/[^/]+\.ts$|\/hosts\/cli\/|\/(legacy-)?migrations\.ts$/;

/** Examples of a verb and of a table of the store: what declares or registers them. */
const DECLARATIONS = {
  "method of the store (listRedeliveries)": /^\s*(export const )?listRedeliveries( =|:|\()/m,
  "table (matching_events)":
    /CREATE TABLE matching_events|^\s*name: "matching_events"|[a-zA-Z]\("matching_events"/m,
};

const withoutProse = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|"[^"\n]* [^"\n]*"|`[^`\n]* [^`\n]*`/gm, "");

const IMPORT = /\b(?:from|import) ?\(?"(\.[^"]+\.tsx?)"/g;

function findCycles(files: readonly SourceFile[]): string[][] {
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

const files = listFiles();
const lines = ({ text }: SourceFile) => text.split("\n").length - 1;
const print = (what: string, value: string | number) => console.log(`${what}: ${value}`);

const isVerbose = process.argv.includes("--verbose");
const printPaths = (paths: readonly string[]) => {
  if (isVerbose) for (const path of paths) console.log(`  ${path}`);
};
const isBrief = process.argv.includes("--static");
if (!isBrief)
  for (const { request, files: executed } of await countExecutedFiles())
    print(`files that execute for ${request}`, executed.length);
const hub = inFolder(files, "packages/hub/src").map(({ path, text }) => ({
  path,
  text: withoutProse(text),
}));
for (const [name, pattern] of Object.entries(CAPABILITIES)) {
  const own = hub.filter(
    ({ path, text }) => !NOT_COUNTED.test(path) && (pattern.test(path) || pattern.test(text)),
  );
  const folders = new Set(own.map(({ path }) => dirname(path)));
  print(`folders of the hub that hold ${name}`, `${folders.size} (${own.length} files)`);
  printPaths(own.map(({ path }) => path));
}
for (const [what, pattern] of Object.entries(DECLARATIONS)) {
  const found = hub.filter(({ text }) => pattern.test(text));
  print(`files that a ${what} touches`, found.length);
  printPaths(found.map(({ path }) => path));
}
print(
  "casts of API responses in web",
  countMatches(inFolder(files, "packages/web/src"), /\bapi\.\w+<|readAll<|useQuery<|as \w+View\b/g),
);
print(
  "views declared again in the command line",
  countMatches(
    files.filter(({ path }) => /\/cli\//.test(path)),
    /^(export )?(interface|type) \w*View\b/gm,
  ),
);
print(
  "imports of the hub from web",
  countMatches(inFolder(files, "packages/web/src"), /"[./]*\/hub\/src\/|"@signalbox\/hub/g),
);
const cycles = findCycles(files);
print("import cycles, types included", `${cycles.length} (${cycles.flat().length} files)`);
printPaths(cycles.map((cycle) => cycle.join(" ")));
print(
  "product lines",
  files.reduce((sum, file) => sum + lines(file), 0),
);
print(
  `files above ${MAX_FILE_LINES} lines`,
  files.filter((file) => lines(file) > MAX_FILE_LINES).length,
);
