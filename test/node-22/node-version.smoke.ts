/** Fails if the smoke tests run on another Node than the one that this workspace pins. */
import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import manifest from "./package.json" with { type: "json" };

const pinnedVersion = `v${manifest.devDependencies.node}`;

it("runs the tests on the pinned Node version", () => {
  expect(process.version).toBe(pinnedVersion);
});

it.each([process.execPath, "node"])(
  "starts child processes on the pinned Node version with the command %s",
  (node) => {
    expect(execFileSync(node, ["--version"], { encoding: "utf8" }).trim()).toBe(pinnedVersion);
  },
);
