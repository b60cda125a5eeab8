/** Fails if the smoke tests run on another Node than the one that this workspace pins. */
import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import manifest from "./package.json" with { type: "json" };

const pinned = `v${manifest.devDependencies.node}`;

it("runs the tests on the pinned Node", () => {
  expect(process.version).toBe(pinned);
});

it.each([process.execPath, "node"])("runs child processes on the pinned Node: %s", (node) => {
  expect(execFileSync(node, ["--version"], { encoding: "utf8" }).trim()).toBe(pinned);
});
