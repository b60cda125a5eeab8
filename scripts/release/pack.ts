/**
 * `node scripts/release/pack.ts FOLDER` writes the files of a release to the folder: the npm packages, the
 * bundle for Claude Desktop, and the Dockerfile, which installs the packages. Run `npm run build` first.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Manifest, PUBLISHED } from "./manifests.ts";

const root = resolve(import.meta.dirname, "../..");
const target = resolve(process.argv[2] ?? "release");
mkdirSync(target, { recursive: true });
if (readdirSync(target).length > 0)
  throw new Error(`${target} is not empty: delete its files, or name another folder.`);

const run = (command: string, args: string[], cwd = root) =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

const versions = new Set<string>();
for (const folder of PUBLISHED) {
  const path = join(root, folder);
  const manifest = JSON.parse(readFileSync(join(path, "package.json"), "utf8")) as Manifest;
  if (manifest.private) throw new Error(`${manifest.name} is private: it cannot be published.`);
  versions.add(manifest.version);
  run("npm", ["pack", "--silent", "--pack-destination", target], path);
}
const [version, otherVersion] = versions;
if (otherVersion !== undefined)
  throw new Error(
    `The packages have different versions: ${[...versions].join(", ")}. Set one version: npm run release:set-version -- v1.2.3`,
  );
for (const program of ["packages/hub/bin/signalbox.js", "packages/cli/bin/signalbox-cli.js"]) {
  const builtVersion = run(process.execPath, [program, "--version"]).trim();
  if (builtVersion !== version)
    throw new Error(
      `${program} was built as version ${builtVersion}, not as ${version}: run \`npm run build\`.`,
    );
}

run(process.execPath, ["packages/bridge/src/pack-mcpb.ts", join(target, "signalbox.mcpb")]);
copyFileSync(join(root, "Dockerfile"), join(target, "Dockerfile"));

const sums = readdirSync(target)
  .filter((name) => name !== "Dockerfile")
  .toSorted()
  .map((name) => {
    const hash = createHash("sha256").update(readFileSync(join(target, name)));
    return `${hash.digest("hex")}  ${name}\n`;
  });
writeFileSync(join(target, "SHA256SUMS"), sums.join(""));
process.stdout.write(sums.join(""));
