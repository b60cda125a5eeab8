/** Every example runs and checks its own results. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const folder = new URL("../../examples/", import.meta.url);
const examples = readdirSync(folder).filter((name) =>
  existsSync(new URL(`${name}/run.ts`, folder)),
);

it.each(examples)("the example %s runs and passes its own checks", async (name) => {
  const file = fileURLToPath(new URL(`${name}/run.ts`, folder));
  const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 100_000 });
  expect(stdout).toContain("✓");
});

it("the folder contains all expected examples", () => {
  expect(examples).toEqual([
    "agent-triage",
    "label-issues",
    "push-digest",
    "trigger-server",
    "two-intents",
    "weekday-digest",
    "what-to-wear",
  ]);
});
