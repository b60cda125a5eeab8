/** The code blocks of the documentation run, and print what the pages show. */
import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { blocksOf, brokenLinksOf, listPages } from "../support/docs/blocks.ts";
import { decisions, jsonChecks, parseJson } from "../support/docs/decisions.ts";
import { startWorld, type World } from "../support/docs/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.close());

/** In this order: the callbacks need a trigger of the page before. */
const pages = ["docs/triggers.md", ...listPages().filter((page) => page !== "docs/triggers.md")];
const isJson = (language: string) => /^jsonc?$/.test(language);

const isInstalled = (program: string) =>
  process.platform === "linux" && spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;

describe.each(pages)("%s", (page) => {
  const blocks = blocksOf(page);
  const ofPage = decisions[page] ?? {};

  it("has a decision in test/support/docs/decisions.ts for every block, and for no other", () => {
    const titles = blocks.filter(({ language }) => !isJson(language)).map(({ title }) => title);
    expect(Object.keys(ofPage).toSorted()).toEqual([...new Set(titles)].toSorted());
  });

  it("links to files and headings that exist", () => {
    expect(brokenLinksOf(page)).toEqual([]);
  });

  for (const block of blocks) {
    const decision = ofPage[block.title];
    const name = `${block.line}: ${block.title}`;
    if (isJson(block.language))
      it(name, async () => {
        parseJson(block.text);
        await jsonChecks[page]?.(block, world);
      });
    else if (typeof decision === "function") it(name, async () => decision(block, world));
    else if (decision && "check" in decision)
      it(name, async ({ skip }) => {
        skip(!isInstalled(decision.program), `${decision.program} is not installed`);
        await decision.check(block, world);
      });
  }
});
