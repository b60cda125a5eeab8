/**
 * `npm run count [-- --static] [-- --verbose]`: prints figures about the structure of the source: how many files a request, a capability, a new
 * store method or table touches, import cycles, casts of responses, and lines. Tests and contract suites are
 * not counted. `--static` does not start a hub, `--verbose` also prints the paths.
 */
import { dirname } from "node:path";
import { countExecutedFiles } from "./executed-files.ts";
import { findCycles, listProductFiles, type SourceFile } from "./product-files.ts";

const MAX_FILE_LINES = 500;

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
    /createOAuth(?!Tokens)|oauth_(clients|codes|grants|refresh|device)|"\.\.\/oauth\/|\/src\/oauth\//,
  "MCP Events": /mcp-events\/|EventsDraft|"events\/(list|poll|stream|subscribe)/,
};
const NOT_COUNTED = /^packages\/hub\/src\/[^/]+\.ts$|\/hosts\/cli\/|\/(legacy-)?migrations\.ts$/;

/** Examples of a verb and of a table of the store: what declares or registers them. */
const DECLARATIONS = {
  "method of the store (listRedeliveries)": /^\s*(export const )?listRedeliveries( =|:|\()/m,
  "table (matching_events)": /^ *matching_events: \{$/m,
};

const withoutProse = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|"[^"\n]* [^"\n]*"|`[^`\n]* [^`\n]*`/gm, "");

const files = listProductFiles();
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
print(
  "imports of the hub from the command line",
  countMatches(inFolder(files, "packages/cli/src"), /"[./]*\/hub\/src\/|from "signalbox[/"]/g),
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
