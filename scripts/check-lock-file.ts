/**
 * `node scripts/check-lock-file.ts`: fails if package-lock.json lacks an optional package, such as the binary
 * of another platform. npm does not add it later, so a checkout on that platform would lack it. A package
 * that the registry does not have is only printed. Fails also if the lock file contains the field `libc`:
 * npm 10, which Node 20 and 22 include, removes it.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

interface LockFile {
  packages: Record<string, { optionalDependencies?: Record<string, string>; libc?: string[] }>;
}

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const { packages }: LockFile = JSON.parse(readFileSync(`${ROOT}package-lock.json`, "utf8"));

/** Looks up a dependency like Node: in the folder of the package, then in each folder around it. */
function isLocked(folder: string, name: string): boolean {
  if (`${folder}${folder && "/"}node_modules/${name}` in packages) return true;
  return folder !== "" && isLocked(folder.slice(0, Math.max(0, folder.lastIndexOf("/"))), name);
}

const missing = new Set(
  Object.entries(packages).flatMap(([folder, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !isLocked(folder, name))
      .map(([name, version]) => `${name}@${version}`),
  ),
);

const withLibc = Object.keys(packages).filter((folder) => packages[folder]?.libc);
if (withLibc.length > 0) {
  console.error(`Delete the field "libc" from package-lock.json: ${withLibc.join(", ")}`);
  process.exitCode = 1;
}

const run = promisify(execFile);
const isInRegistry = (spec: string): Promise<boolean> =>
  run("npm", ["view", spec, "version"], { cwd: ROOT }).then(
    ({ stdout }) => stdout.trim() !== "",
    () => false,
  );

const found: string[] = [];
for (const spec of missing)
  if (await isInRegistry(spec)) found.push(spec);
  else console.log(`The registry does not have the optional package ${spec}.`);
if (found.length > 0) {
  console.error(
    [
      "package-lock.json lacks these optional packages:",
      ...found.map((spec) => `  ${spec}`),
      "Delete the packages that depend on them from package-lock.json, then run",
      "`npm install --package-lock-only`.",
    ].join("\n"),
  );
  process.exitCode = 1;
}
