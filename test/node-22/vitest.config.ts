/**
 * A subset of the test suite that runs as a smoke test on the oldest supported Node version. Build the
 * packages first, then run `npm run smoke -w @signalbox/node-22`, which uses the Node of this workspace.
 */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import ClosingLineReporter from "../support/closing-line-reporter.ts";
import { timeouts } from "../support/timeouts.ts";

export default defineConfig({
  test: {
    ...timeouts,
    name: "node-22",
    pool: "forks",
    maxWorkers: 2,
    include: [
      "test/node-22/*.smoke.ts",
      "packages/hub/src/kernel/lib/*.test.ts",
      "packages/hub/src/events/admit/*.test.ts",
      "packages/hub/src/kernel/backends/sqlite.test.ts",
      "packages/hub/src/flows/runs/runner.test.ts",
      "packages/hub/src/pipeline.test.ts",
      "packages/bridge/src/{bridge,hub-client}.test.ts",
      "packages/cli/src/**/*.test.ts",
      "test/stories/serve.test.ts",
    ],
    globalSetup: fileURLToPath(new URL("../support/global-setup.ts", import.meta.url)),
    reporters: ["default", new ClosingLineReporter()],
  },
});
