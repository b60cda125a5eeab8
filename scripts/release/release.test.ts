import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseYaml } from "@redocly/openapi-core";
import { describe, expect, it, test } from "vitest";
import { tempFolder } from "../../test/support/temp-folder.ts";
import { type Manifest, PUBLISHED } from "./manifests.ts";
import { changelogSection, releaseNotes } from "./release-notes.ts";
import { releaseOfTag } from "./release-of-tag.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const manifestIn = (folder: string, path: string): Manifest =>
  JSON.parse(readFileSync(join(folder, path, "package.json"), "utf8"));

describe("releaseOfTag", () => {
  it.each([
    ["v1.2.3", "1.2.3", "latest"],
    ["v0.10.0", "0.10.0", "latest"],
    ["v1.2.3-rc.1", "1.2.3-rc.1", "next"],
    ["v2.0.0-0", "2.0.0-0", "next"],
    ["v2.0.0-alpha-x.7", "2.0.0-alpha-x.7", "next"],
  ])("maps %s to the version %s and the dist-tag %s", (tag, version, distTag) => {
    expect(releaseOfTag(tag)).toEqual({ version, distTag });
  });

  it.each(["1.2.3", "v1.2", "v01.2.3", "v1.2.3-", "v1.2.3-01", "v1.2.3+build", "v1.2.3 ", "vnext"])(
    "rejects %j",
    (tag) => {
      expect(() => releaseOfTag(tag)).toThrow("name it v1.2.3");
    },
  );
});

test.each(["set-version", "publish", "write-notes"])(
  "%s rejects an invalid tag with an explanation",
  (name) => {
    const program = join(import.meta.dirname, `${name}.ts`);
    const { status, stderr } = spawnSync(process.execPath, [program, "v1.2"], { encoding: "utf8" });
    expect(status).toBe(1);
    expect(stderr).toBe(
      'The tag "v1.2" is not a release: name it v1.2.3, or v1.2.3-rc.1 for a prerelease.\n',
    );
  },
);

test("set-version changes the version of all packages, and of the dependencies between them", () => {
  const folder = tempFolder();
  for (const path of PUBLISHED) {
    mkdirSync(join(folder, path), { recursive: true });
    writeFileSync(join(folder, path, "package.json"), read(`${path}/package.json`));
  }
  execFileSync(
    process.execPath,
    [join(import.meta.dirname, "set-version.ts"), "v3.1.4-rc.1", folder],
    { env: { ...process.env, GITHUB_REPOSITORY: "acme/signalbox" } },
  );
  for (const path of PUBLISHED) {
    const { version, repository } = manifestIn(folder, path);
    expect(version).toBe("3.1.4-rc.1");
    expect(repository).toEqual({
      type: "git",
      url: "git+https://github.com/acme/signalbox.git",
      directory: path,
    });
  }
  const before = manifestIn(root, "packages/hub");
  const after = manifestIn(folder, "packages/hub");
  expect(after.dependencies).toEqual({
    ...before.dependencies,
    "@signalbox/bridge": "3.1.4-rc.1",
  });
  expect(after.devDependencies).toEqual({
    ...before.devDependencies,
    "@signalbox/cli": "3.1.4-rc.1",
  });
});

test("published packages depend at run time only on published packages of the repository", () => {
  const names = PUBLISHED.map((path) => manifestIn(root, path).name);
  for (const path of PUBLISHED) {
    const { dependencies = {}, private: isPrivate } = manifestIn(root, path);
    expect(isPrivate).toBeUndefined();
    const ownDependencies = Object.keys(dependencies).filter((name) =>
      name.startsWith("@signalbox/"),
    );
    expect(names).toEqual(expect.arrayContaining(ownDependencies));
  }
});

test.each([
  ["packages/hub", ["README.md", "packages/hub/README.md", "packages/hub/bin/signalbox.js"]],
  ["packages/bridge", ["docs/claude-code.md", "packages/bridge/README.md"]],
  ["packages/bridge", ["packages/bridge/bin/signalbox-bridge.js"]],
  ["packages/cli", ["packages/cli/README.md", "packages/cli/bin/signalbox-cli.js"]],
  ["packages/triggers", ["packages/triggers/README.md"]],
])("%s states the same Node version in engines, docs and messages", (folder, pages) => {
  const { engines } = manifestIn(root, folder) as { engines?: { node: string } };
  const [, version = ""] = /^>=([\d.]+)$/.exec(engines?.node ?? "") ?? [];
  for (const page of [...pages, "docs/deploy.md"])
    expect(read(page)).toMatch(new RegExp(`(?:Node |≥ )${version.replace(".", "\\.")}(?!\\.?\\d)`));
});

test("the notes group commits by their type, and omit internal commits", () => {
  const notes = releaseNotes([
    "feat(api): list tenants",
    "fix(ingest): reject an empty body",
    "feat(store)!: drop the table of repositories",
    "test(runs): wait for a condition",
    "Merge branch x",
    "perf: cache tokens",
  ]);
  expect(notes).toBe(
    [
      "## Breaking changes\n\n- **store**: drop the table of repositories\n",
      "## New\n\n- **api**: list tenants\n",
      "## Fixed\n\n- **ingest**: reject an empty body\n",
      "## Faster\n\n- cache tokens\n",
    ].join("\n"),
  );
  expect(releaseNotes(["test(runs): wait"])).toBe("Internal changes only.\n");
});

const changelog = "# Changelog\n\n## 1.2.3 (2026-12-01)\n\nFirst.\n\n- one\n\n## 1.2.2\n\nOld.\n";

test.each([
  ["1.2.3", "First.\n\n- one\n\n"],
  ["1.2.2", "Old.\n\n"],
  ["1.2", undefined],
  ["1.2.30", undefined],
])("the section %s of the changelog precedes the commits", (version, section) => {
  expect(changelogSection(changelog, version)).toBe(section);
});

test("write-notes reports a version that is not in the changelog", () => {
  const folder = tempFolder();
  const git = (...args: string[]) => execFileSync("git", args, { cwd: folder });
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
  writeFileSync(join(folder, "CHANGELOG.md"), changelog);
  git("init", "--quiet");
  git(...identity, "commit", "--quiet", "--allow-empty", "--message", "feat: a thing");
  for (const tag of ["v1.2.3", "v1.2.4", "v1.2.4-rc.1"]) git("tag", tag);
  const writeNotes = (tag: string) => {
    const args = [join(import.meta.dirname, "write-notes.ts"), tag];
    return spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  };
  expect(writeNotes("v1.2.3").stdout).toBe("First.\n\n- one\n\n## New\n\n- a thing\n");
  expect(writeNotes("v1.2.4-rc.1").stdout).toBe("## New\n\n- a thing\n");
  const { status, stderr } = writeNotes("v1.2.4");
  expect([status, stderr]).toEqual([
    1,
    'CHANGELOG.md has no section for this release. Give the section "Not released yet" the heading: ## 1.2.4 (YYYY-MM-DD)\n',
  ]);
});

test("write-notes reports a tag that does not exist", () => {
  const cwd = tempFolder();
  execFileSync("git", ["init", "--quiet"], { cwd });
  const args = [join(import.meta.dirname, "write-notes.ts"), "v9.9.9"];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  expect([status, stderr]).toEqual([
    1,
    "The tag v9.9.9 does not exist. Create it: git tag v9.9.9\n",
  ]);
});

describe("the workflows", () => {
  interface Step {
    run?: string;
    uses?: string;
  }
  interface Workflow {
    on: Record<string, unknown>;
    jobs: Record<string, { uses?: string; needs?: string; steps?: Step[] }>;
  }
  const names = readdirSync(join(root, ".github/workflows"));
  const workflowOf = (name: string) => parseYaml(read(`.github/workflows/${name}`)) as Workflow;

  it.each(names)("%s refers to files and scripts that exist", (name) => {
    const { scripts } = JSON.parse(read("package.json"));
    const jobs = Object.values(workflowOf(name).jobs);
    for (const { uses } of jobs) if (uses) expect(existsSync(join(root, uses)), uses).toBe(true);
    const steps = jobs.flatMap((job) => job.steps ?? []);
    for (const { run = "", uses } of steps) {
      if (uses) expect(uses).toMatch(/^[\w-]+\/[\w-]+@v\d+$/);
      for (const [, script = ""] of run.matchAll(/npm run (?:--silent )?([\w:-]+)/g))
        expect(Object.keys(scripts)).toContain(script);
      for (const [path] of run.matchAll(/^\.[\w/.-]+/g))
        expect(existsSync(join(root, path))).toBe(true);
      const shellScript = run.replaceAll(/\$\{\{.*?\}\}/g, "x");
      execFileSync("bash", ["-n"], { input: shellScript });
    }
  });

  it("run all checks before a release", () => {
    const { on, jobs } = workflowOf("release.yml");
    expect(on).toEqual({ push: { tags: ["v*"] } });
    expect(jobs.check?.uses).toBe("./.github/workflows/ci.yml");
    expect(jobs.release?.needs).toBe("check");
    expect(workflowOf("ci.yml").on).toHaveProperty("workflow_call");
  });
});
