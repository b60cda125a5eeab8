import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { githubSettings } from "../../github-settings.ts";
import { assertSafe } from "../../hub-settings.ts";
import { readSettings } from "../../settings.ts";

const root = join(import.meta.dirname, "../../../../..");
const pages = [
  "README.md",
  "packages/cli/README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
];

// The packages are not on npm: where they are not installed, npx would run an unrelated package.
it("documents that commands for a hub on another machine come from a checkout", () => {
  const pagesWithRemoteHubs = pages.filter((page) =>
    /SIGNALBOX_URL=\S+[^`]*npx (signalbox|@signalbox\/cli)/.test(
      readFileSync(join(root, page), "utf8"),
    ),
  );
  expect(pagesWithRemoteHubs).toEqual(
    expect.arrayContaining(["packages/cli/README.md", "docs/exec.md", "docs/operating.md"]),
  );
  for (const page of pagesWithRemoteHubs)
    expect(readFileSync(join(root, page), "utf8"), page).toMatch(/checkout.*not on npm/s);
});

it("prints commands with npx, so that they can be run as printed", () => {
  const folders = [join(root, "packages/hub/src"), join(root, "packages/cli/src")];
  const sources = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
      .map((name) => join(folder, name)),
  );
  const commandsWithoutNpx = sources.flatMap((file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => !/^\s*(\/\/|\/?\*)/.test(line))
      .filter((line) => /(`|: )signalbox(-cli)? [a-zA-Z$]/.test(line) && !line.includes("Usage: "))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(commandsWithoutNpx).toEqual([]);
});

it("documents settings for sign-in with GitHub with which a hub starts", () => {
  const page = readFileSync(join(root, "docs/sign-in.md"), "utf8");
  const [, block = ""] = /```sh\n(.*?npx signalbox serve)\n```/s.exec(page) ?? [];
  const env = Object.fromEntries(
    [...block.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name, value = ""]) => [
      name,
      value.replace("…", "0123456789abcdef"),
    ]),
  );
  const settings = readSettings({ flags: {}, env, file: {} });
  expect(settings.tenancy).toBe("github");
  expect(githubSettings(settings).client).toBeDefined();
  expect(() => assertSafe(settings, 0)).not.toThrow();
});
