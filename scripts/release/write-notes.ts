/**
 * `node scripts/release/write-notes.ts v1.2.3` prints the notes of a tag: its section of CHANGELOG.md, and the
 * commits since the previous tag. A prerelease needs no section.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { changelogSection, releaseNotes } from "./release-notes.ts";
import { releaseOfArgument } from "./release-of-tag.ts";

const [tag = ""] = process.argv.slice(2);
const { distTag, version } = releaseOfArgument(tag);
const git = (...args: string[]) => spawnSync("git", args, { encoding: "utf8" });
if (git("rev-parse", "--verify", "--quiet", `refs/tags/${tag}`).status !== 0) {
  console.error(`The tag ${tag} does not exist. Create it: git tag ${tag}`);
  process.exit(1);
}
const section = changelogSection(readFileSync("CHANGELOG.md", "utf8"), version);
if (section === undefined && distTag === "latest") {
  console.error(
    `CHANGELOG.md has no section for this release. Give the section "Not released yet" the heading: ## ${version} (YYYY-MM-DD)`,
  );
  process.exit(1);
}
// The notes of a release also contain the commits of its prereleases, so the tags of prereleases are skipped.
const exclude = distTag === "latest" ? ["--exclude", "*-*"] : [];
const { status, stdout } = git(
  "describe",
  "--tags",
  "--abbrev=0",
  "--match",
  "v*",
  ...exclude,
  `${tag}^`,
);
const range = status === 0 ? `${stdout.trim()}..${tag}` : tag;
const log = execFileSync("git", ["log", "--no-merges", "--format=%s", range], { encoding: "utf8" });
process.stdout.write((section ?? "") + releaseNotes(log.trim().split("\n")));
