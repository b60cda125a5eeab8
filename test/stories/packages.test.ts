/** What npm publishes and installs. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

it.each(["hub", "bridge", "triggers"])("packs %s with its license", async (name) => {
  const cwd = join(root, "packages", name);
  const { stdout } = await run("npm", ["pack", "--dry-run", "--json"], { cwd });
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  expect(files.map(({ path }) => path)).toContain("LICENSE");
  const license = (folder: string) => readFileSync(join(folder, "LICENSE"), "utf8");
  expect(license(cwd)).toBe(license(root));
});

it("locks every dependency by its hash", () => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { integrity?: string; link?: boolean }>;
  };
  const without = Object.entries(packages).filter(
    ([path, { integrity, link }]) => path.includes("node_modules/") && !link && !integrity,
  );
  expect(without.map(([path]) => path)).toEqual([]);
});
