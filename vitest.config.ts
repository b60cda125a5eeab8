import { availableParallelism } from "node:os";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { configDefaults, defineConfig } from "vitest/config";

// Tests run offline: no usage statistics, and no fetching of a sample `request.cf`.
process.env.WRANGLER_SEND_METRICS = "false";
process.env.CLOUDFLARE_CF_FETCH_ENABLED = "false";

const workerdTests = "packages/*/src/**/*.workerd.test.ts";
// Generous, because the machine may be busy: a timeout only ends a test that hangs.
const timeouts = {
  testTimeout: 120_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 60_000 } },
};

export default defineConfig({
  test: {
    // Stories mostly wait for other processes: a machine of two cores can have two files at once.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    reporters: ["default", "./test/support/closing-line-reporter.ts"],
    projects: [
      {
        test: {
          ...timeouts,
          name: "node",
          environment: "node",
          // better-sqlite3 is native code: a process per file, not a thread.
          pool: "forks",
          include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, workerdTests],
          globalSetup: "test/support/global-setup.ts",
        },
      },
      {
        plugins: [
          cloudflareTest({
            main: "packages/hub/src/store/backends/durable-object.test-worker.ts",
            miniflare: {
              // No later than the workerd that the plugin brings.
              compatibilityDate: "2026-09-01",
              durableObjects: { STORE: { className: "StoreObject", useSQLite: true } },
            },
          }),
        ],
        test: { ...timeouts, name: "workerd", include: [workerdTests] },
      },
    ],
  },
});
