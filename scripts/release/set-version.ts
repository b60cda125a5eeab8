/**
 * `node scripts/release/set-version.ts v1.2.3` writes the version of a tag to the package.json files of
 * the published packages. Run it before `npm run build`, which embeds the version in the programs.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Manifest, PUBLISHED, withVersion } from "./manifests.ts";
import { releaseOfArgument } from "./release-of-tag.ts";

const [tag = "", root = "."] = process.argv.slice(2);
const { version } = releaseOfArgument(tag);
const pathOf = (folder: string) => join(root, folder, "package.json");
const manifests = new Map(
  PUBLISHED.map((folder) => [folder, JSON.parse(readFileSync(pathOf(folder), "utf8")) as Manifest]),
);
for (const [folder, manifest] of withVersion(manifests, version, process.env.GITHUB_REPOSITORY)) {
  writeFileSync(pathOf(folder), `${JSON.stringify(manifest, null, 2)}\n`);
  process.stdout.write(`${manifest.name} ${manifest.version}\n`);
}
