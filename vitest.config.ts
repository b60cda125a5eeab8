import { availableParallelism } from "node:os";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { configDefaults, defineConfig } from "vitest/config";
import { SlowFirstSequencer } from "./test/support/slow-first-sequencer.ts";
import { timeouts } from "./test/support/timeouts.ts";

// Tests run offline: no usage statistics, no download of a sample `request.cf`.
process.env.WRANGLER_SEND_METRICS = "false";
process.env.CLOUDFLARE_CF_FETCH_ENABLED = "false";

const browserTests = "test/browser/**/*.test.ts";
const workerdTests = "packages/*/src/**/*.workerd.test.ts";
/** Tests that need PostgreSQL, start other processes, or load native code. Each file runs in its own process. */
const isolatedTests = [
  "packages/cli/src/**/*.test.ts",
  "packages/hub/src/{hosts,kernel/backends}/**/*.test.ts",
  "packages/hub/src/{flows/import/migrate-legacy-flows,flows/runs/runner,flows/runs/ticker-replicas,worker-entry}.test.ts",
  "test/**/*.test.ts",
];

export default defineConfig({
  test: {
    // Stories mostly wait for child processes, so it takes more workers than cores to keep the cores busy.
    maxWorkers: availableParallelism() + 3,
    sequence: { sequencer: SlowFirstSequencer },
    reporters: ["default", "./test/support/closing-line-reporter.ts"],
    // This setup runs once, for all projects.
    globalSetup: "test/support/build.ts",
    projects: [
      {
        test: {
          ...timeouts,
          name: "node",
          environment: "node",
          pool: "forks",
          include: isolatedTests,
          exclude: [...configDefaults.exclude, workerdTests, browserTests],
          globalSetup: "test/support/global-setup.ts",
        },
      },
      {
        test: {
          ...timeouts,
          name: "unit",
          environment: "node",
          pool: "forks",
          // Files share processes, because starting a process takes longer than most of these files.
          isolate: false,
          include: ["packages/*/src/**/*.test.ts", "scripts/**/*.test.ts"],
          exclude: [...configDefaults.exclude, workerdTests, ...isolatedTests],
        },
      },
      {
        plugins: [
          cloudflareTest({
            main: "packages/hub/src/kernel/backends/durable-object.test-worker.ts",
            miniflare: {
              // Must not be later than the release date of the plugin's workerd.
              compatibilityDate: "2026-09-01",
              durableObjects: { STORE: { className: "StoreObject", useSQLite: true } },
            },
          }),
        ],
        test: { ...timeouts, name: "workerd", include: [workerdTests] },
      },
      {
        test: {
          ...timeouts,
          name: "browser",
          environment: "node",
          pool: "forks",
          include: [browserTests],
          globalSetup: "test/browser/support/global-setup.ts",
          // Browser tests and stories would slow each other down, so browser tests run last, with fewer workers.
          maxWorkers: availableParallelism() + 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
