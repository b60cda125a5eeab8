/**
 * The kernel knows no capability, and capabilities form no cycles: a folder imports only folders that are
 * earlier in `FOLDERS`, the types of `part.ts`, and the package `@signalbox/rules`.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { expect, it } from "vitest";

const FOLDERS = [
  "kernel",
  "tokens",
  "oauth",
  "tenants",
  "events",
  "github",
  "people",
  "redelivery",
  "connections",
  "flows",
  "agents",
  "automations",
  "mcp",
  "web-ui",
  "operations",
];

/** Imports that are not corrected yet. */
const NOT_MOVED: string[] = [
  "tenants/tenant-data.ts → flows/runs/store/read-runs.ts",
  "operations/http.ts → described-routes.ts",
  "kernel/store/migrate.ts → flows/store/legacy-flows.ts",
  "kernel/store/migrations.ts → tokens/store.ts",
  "kernel/store/store.ts → events/retention/retention-clock.ts",
  "kernel/store/verbs.ts → connections/store/callback-tokens.ts",
  "kernel/store/verbs.ts → connections/store/connection-leases.ts",
  "kernel/store/verbs.ts → connections/store/connections.ts",
  "kernel/store/verbs.ts → connections/store/grants.ts",
  "kernel/store/verbs.ts → connections/store/trigger-subscriptions.ts",
  "kernel/store/verbs.ts → events/deliveries/store.ts",
  "kernel/store/verbs.ts → events/endpoints/store.ts",
  "kernel/store/verbs.ts → events/retention/clock-store.ts",
  "kernel/store/verbs.ts → events/retention/sweep.ts",
  "kernel/store/verbs.ts → events/store/append-events.ts",
  "kernel/store/verbs.ts → events/store/claim-events.ts",
  "kernel/store/verbs.ts → events/store/read-events.ts",
  "kernel/store/verbs.ts → events/store/search-events.ts",
  "kernel/store/verbs.ts → flows/matching/store/breakers.ts",
  "kernel/store/verbs.ts → flows/matching/store/matching.ts",
  "kernel/store/verbs.ts → flows/runs/store/claim-runs.ts",
  "kernel/store/verbs.ts → flows/runs/store/control-runs.ts",
  "kernel/store/verbs.ts → flows/runs/store/queue-runs.ts",
  "kernel/store/verbs.ts → flows/runs/store/read-runs.ts",
  "kernel/store/verbs.ts → flows/runs/store/run-progress.ts",
  "kernel/store/verbs.ts → flows/runs/store/run-queue-reads.ts",
  "kernel/store/verbs.ts → flows/secrets/store.ts",
  "kernel/store/verbs.ts → flows/store/apps.ts",
  "kernel/store/verbs.ts → flows/store/flows.ts",
  "kernel/store/verbs.ts → flows/store/legacy-flows.ts",
  "kernel/store/verbs.ts → flows/store/schedules.ts",
  "kernel/store/verbs.ts → flows/store/triggers.ts",
  "kernel/store/verbs.ts → oauth/clients-store.ts",
  "kernel/store/verbs.ts → oauth/store.ts",
  "kernel/store/verbs.ts → people/store.ts",
  "kernel/store/verbs.ts → redelivery/store.ts",
  "kernel/store/verbs.ts → tenants/registry.ts",
  "kernel/store/verbs.ts → tenants/tenant-data.ts",
  "kernel/store/verbs.ts → tokens/store.ts",
  "events/store/append-events.ts → flows/matching/store/breakers.ts",
  "events/store/append-events.ts → flows/matching/store/event-plans.ts",
  "events/store/append-events.ts → flows/matching/store/matching.ts",
  "events/store/append-events.ts → flows/runs/store/run-usage.ts",
  "events/retention/sweep.ts → flows/runs/store/read-runs.ts",
  "events/retention/sweep.ts → flows/runs/store/run-usage.ts",
  "events/inbox/event-list-routes.ts → flows/matching/explain.ts",
  "events/inbox/event-routes.ts → flows/matching/explain.ts",
  "events/inbox/inbox-routes.ts → described-routes.ts",
  "events/inbox/inbox-routes.ts → flows/tools/app-server.ts",
  "events/inbox/inbox-routes.ts → mcp/inbox-server.ts",
];

const IMPORT =
  /^(?:import|export) (type )?[^;"]*?from "(\.[^"]+\.ts)"|\bimport\("(\.[^"]+\.ts)"\)/gm;

/** Returns every import of a later folder, or of a file outside of `root`, as "file → imported file". */
function findForbiddenImports(root: string): string[] {
  const forbidden: string[] = [];
  for (const file of globSync("*/**/*.ts", { cwd: root })) {
    const from = FOLDERS.indexOf(file.split(sep)[0] ?? "");
    if (from < 0 || /\.test(-\w+)?\.ts$|contract/.test(file)) continue;
    for (const [, type, ...specs] of readFileSync(join(root, file), "utf8").matchAll(IMPORT)) {
      const path = relative(root, resolve(root, dirname(file), specs.find(Boolean) ?? ""));
      const to = path.startsWith("..") ? Number.NaN : FOLDERS.indexOf(path.split(sep)[0] ?? "");
      const isOfRoot = type !== undefined && path === "part.ts";
      if (!isOfRoot && !(to >= 0 && to <= from)) forbidden.push(`${file} → ${path}`);
    }
  }
  return forbidden;
}

it("imports no later folder", () => {
  expect(findForbiddenImports(import.meta.dirname)).toEqual(NOT_MOVED);
});

const RAW_TIMER = /\b(setTimeout|setInterval|setImmediate|clearTimeout|clearInterval)\b/;

it.each(["connections", "flows/runs"])("uses only injected `Timers` in %s/", (layer) => {
  const folder = join(import.meta.dirname, layer);
  const filesWithTimers = globSync("**/*.ts", { cwd: folder })
    .filter((file) => !/\.test\.ts$|contract/.test(file))
    .filter((file) => RAW_TIMER.test(readFileSync(join(folder, file), "utf8")));
  expect(filesWithTimers).toEqual([]);
});
