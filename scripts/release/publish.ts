/**
 * `node scripts/release/publish.ts v1.2.3 FOLDER [--dry-run]` publishes the packed packages on npm. Packages
 * that are already published are skipped, so that a failed release can be repeated.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { PUBLISHED } from "./manifests.ts";
import { releaseOfArgument } from "./release-of-tag.ts";

const [tag = "", folder = "release", ...flags] = process.argv.slice(2);
const { version, distTag } = releaseOfArgument(tag);
const isDryRun = flags.includes("--dry-run");

const npm = (...args: string[]) =>
  spawnSync("npm", args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

const nameOf = (packageFolder: string): string =>
  JSON.parse(readFileSync(new URL(`../../${packageFolder}/package.json`, import.meta.url), "utf8"))
    .name;

for (const name of PUBLISHED.map(nameOf)) {
  const isPublished =
    !isDryRun && npm("view", `${name}@${version}`, "version").stdout.trim() !== "";
  if (isPublished) {
    process.stdout.write(`${name}@${version} is published already\n`);
    continue;
  }
  const file = resolve(folder, `${name.replace("@", "").replace("/", "-")}-${version}.tgz`);
  const modeFlags = isDryRun ? ["--dry-run", "--offline"] : ["--provenance"];
  const { status } = npm("publish", file, "--access", "public", "--tag", distTag, ...modeFlags);
  if (status !== 0) process.exit(1);
  process.stdout.write(`${name}@${version} (${distTag}${isDryRun ? ", dry run" : ""})\n`);
}
