import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { WARNING_CODES } from "./finding.ts";
import { preventsPublishing } from "./validate.ts";

const docs = readFileSync(new URL("../../../../docs/flows.md", import.meta.url), "utf8");

it.each(WARNING_CODES)("documents the warning %s, and whether it prevents publishing", (code) => {
  const row = docs.split("\n").find((line) => line.startsWith(`| \`${code}\` `));
  expect(row).toBeDefined();
  expect(row?.includes("**prevents publishing**")).toBe(preventsPublishing({ code, message: "" }));
});
