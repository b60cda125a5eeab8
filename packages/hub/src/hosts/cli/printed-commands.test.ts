import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../../../../..");
const pages = [
  "README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
];

// The package is not on npm: outside of a checkout, npx would run somebody else's program.
it("documents that commands for a hub on another machine need a checkout", () => {
  const remote = pages.filter((page) =>
    /SIGNALBOX_URL=\S+[^`]*npx signalbox/.test(readFileSync(join(root, page), "utf8")),
  );
  expect(remote).toEqual(expect.arrayContaining(["docs/exec.md", "docs/operating.md"]));
  for (const page of remote)
    expect(readFileSync(join(root, page), "utf8"), page).toMatch(/checkout.*not on npm/s);
});
