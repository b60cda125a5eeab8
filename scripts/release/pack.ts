/**
 * `node scripts/release/pack.ts FOLDER` packs what a release consists of: the npm packages, the bundle for
 * Claude Desktop, and the Dockerfile, which installs the packages. The packages must be built.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Manifest, PUBLISHED } from "./manifests.ts";

const root = resolve(import.meta.dirname, "../..");
const target = resolve(process.argv[2] ?? "release");
mkdirSync(target, { recursive: true });
if (readdirSync(target).length > 0) throw new Error(`${target} is not empty.`);

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
const [version, another] = versions;
if (another !== undefined)
  throw new Error(`The packages have different versions: ${[...versions].join(", ")}`);
const built = run(process.execPath, ["packages/hub/bin/signalbox.js", "--version"]).trim();
if (built !== version)
  throw new Error(`The hub was built as ${built}, not as ${version}: run \`npm run build\`.`);

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
