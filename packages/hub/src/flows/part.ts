/** Flows: their editing, runs and tools. */
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import type { LiveStreamsOptions } from "../events/live/live-streams.ts";
import { once } from "../kernel/lib/once.ts";
import type { Timers } from "../kernel/lib/timers.ts";
import type { Kernel, Part } from "../part.ts";
import type { TokensPart } from "../tokens/part.ts";
import { appRoutes } from "./editing/app-routes.ts";
import { createDraftRuns } from "./editing/draft-runs.ts";
import { flowRoutes } from "./editing/flow-routes.ts";
import { createFlows, type Flows } from "./editing/flows.ts";
import { nodeTypeRoutes } from "./editing/node-type-routes.ts";
import { createToolCalls, type ToolCalls } from "./editing/tool-calls.ts";
import { createAppImports } from "./import/import-app.ts";
import { importRoutes } from "./import/import-routes.ts";
import { logLegacyMigration } from "./import/log-legacy-migration.ts";
import { migrateLegacyFlows } from "./import/migrate-legacy-flows.ts";
import { addRunGauges, createRunMetrics } from "./metrics.ts";
import { createSecretLoader, loadInput } from "./runs/load-input.ts";
import { createNodeServices, type NodeServicesOptions } from "./runs/node-services.ts";
import { queueRoutes, runRoutes } from "./runs/run-routes.ts";
import { createRunner } from "./runs/runner.ts";
import { createTicker } from "./runs/ticker.ts";
import { secretRoutes } from "./secrets/secret-routes.ts";
import { createFindSecretUses } from "./secrets/secret-uses.ts";
import type { AppServers } from "./tools/app-server.ts";
import { viewRun, viewStep } from "./views.ts";

export interface FlowsPart extends Part {
  flows: Flows;
  calls: ToolCalls;
  /** Follows a run; yields its changes as the API returns them. */
  followRun: LiveStreamsOptions["followRun"];
  /** The MCP servers of apps. */
  appServers: AppServers;
}

export interface FlowsPartOptions
  extends Pick<NodeServicesOptions, "append" | "connections" | "agent"> {
  /** The number of events that wait for the store. */
  pendingAppends(): number;
}

/** Migrates the flows of a legacy system that used the same database. */
export const migrateFlows = ({ store, ports, tenant, newId }: Kernel): Promise<void> =>
  logLegacyMigration(ports.log, () =>
    migrateLegacyFlows({
      store,
      registry: nodeTypes,
      runJob: ports.runJob,
      tenant,
      newId,
      now: ports.timers.now,
    }),
  );

/**
 * Throttling: while more than BUSY_APPENDS appends wait for the store, the runner delays its claims
 * and its saves by BUSY_RUNNER_DELAY_MS, so that senders of webhooks get their responses first.
 */
const BUSY_APPENDS = 4;
const BUSY_RUNNER_DELAY_MS = 10;

export function createFlowsPart(
  kernel: Kernel,
  { authorizer, streamSlots }: TokensPart,
  options: FlowsPartOptions,
): FlowsPart {
  const { store, ports, settings, seal, newId, closing, onError } = kernel;
  const { timers, runJob } = ports;
  const { now } = timers;
  const { tenancy } = settings;
  const runner = createRunner({
    store,
    registry: nodeTypes,
    worker: newId(),
    loadSecrets: createSecretLoader(store, seal),
    loadInput: (run) => loadInput({ store, runJob }, run),
    services: createNodeServices({
      store,
      append: options.append,
      start: (run, startOptions) => runner.start(run, startOptions),
      fetch: ports.guardedFetch,
      runJob,
      agent: options.agent,
      newId,
      now,
      maxChain: settings.maxChain,
      connections: options.connections,
    }),
    concurrency: settings.runConcurrency,
    memoryBytes: settings.runMemoryBytes,
    originRequests: settings.originRequests,
    leaseMs: settings.runLeaseMs,
    maxRunBytes: settings.maxRunBytes,
    timers,
    writeTimers: delayWhileBusy(timers, options.pendingAppends),
    metrics: createRunMetrics(ports.metrics),
    onError,
  });
  addRunGauges(ports.metrics, { store, now, readLoad: runner.readLoad });
  const ticker = createTicker({ store, timers, newId, onError });
  const calls = createToolCalls({ store, runner, runJob, newId, now });
  const drafts = createDraftRuns({ store, runner, registry: nodeTypes, runJob, newId, now });
  const flows = createFlows({ store, registry: nodeTypes, runJob, newId, now });
  // The MCP SDK is a large dependency. It is loaded on the first MCP request, so that
  // an idle hub uses less memory.
  const loadAppServers = once(async () => {
    const { createAppServers } = await import("./tools/app-server.ts");
    return createAppServers({
      store,
      calls,
      authorizer,
      version: settings.version,
      limits: settings.limits,
      // MCP requires an integer for the `ttl` of a task.
      keepRunsMs: Math.floor(settings.keepRunsMs),
      onError,
    });
  });
  const appServers: AppServers = {
    serve: async (...request) => (await loadAppServers()).serve(...request),
    close: async () => (await loadAppServers.loaded)?.close(),
  };
  return {
    flows,
    calls,
    async *followRun(...request) {
      for await (const { run, steps } of calls.follow(...request))
        yield { run: viewRun(run), steps: steps.map(viewStep) };
    },
    appServers,
    routes: [
      ...editingRoutes({ store, flows, seal, tenancy, newId, now }),
      ...runRoutes({ calls, drafts, store, now, streamSlots, closing }),
      ...queueRoutes({
        store,
        now,
        readLoad: tenancy === "single" ? runner.readLoad : undefined,
      }),
    ],
    async stop() {
      // A client that disconnects after its server has closed does not cancel its runs, so that other
      // processes can continue them.
      await Promise.all([appServers.close(), ticker.close(), runner.close()]);
    },
  };
}

/** The routes that need only a store: commands also use them while no hub runs. */
export const editingRoutes = ({
  store,
  flows,
  seal,
  tenancy,
  newId,
  now,
}: Pick<Kernel, "store" | "seal" | "newId"> & {
  flows: Flows;
  tenancy: Kernel["settings"]["tenancy"];
  now: () => number;
}) => [
  ...appRoutes(store, now),
  ...flowRoutes({ flows, store }),
  ...importRoutes(createAppImports({ store, registry: nodeTypes, flows, tenancy, newId, now })),
  ...secretRoutes({ store, seal, findUses: createFindSecretUses(store, nodeTypes), now }),
  ...nodeTypeRoutes(nodeTypes),
];

const delayWhileBusy = (timers: Timers, pendingAppends: () => number): Timers => ({
  ...timers,
  defer(work) {
    if (pendingAppends() > BUSY_APPENDS) timers.after(BUSY_RUNNER_DELAY_MS, work);
    else timers.defer(work);
  },
});
