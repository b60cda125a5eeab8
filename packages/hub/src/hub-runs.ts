/**
 * Creates the runner, and what starts runs: tool calls, tests of drafts, the ticker of schedules, and the
 * explainer, which explains and replays events.
 */
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import { newNonce } from "./agents/nonce.ts";
import type { Connections } from "./connections/connections.ts";
import type { Inbox } from "./events/inbox/inbox.ts";
import { createToolCalls } from "./flows/editing/call-tool.ts";
import { createDraftRuns } from "./flows/editing/draft-runs.ts";
import { createExplainer, type Explainer } from "./flows/matching/explain.ts";
import { loadInput } from "./flows/runs/load-input.ts";
import { createNodeServices, type NodeServicesOptions } from "./flows/runs/node-services.ts";
import { createRunner } from "./flows/runs/runner.ts";
import { createSecretLoader } from "./flows/runs/secret-loader.ts";
import { createTicker } from "./flows/runs/ticker.ts";
import type { HostPorts, HubSettings } from "./host-ports.ts";
import type { HubPipeline } from "./hub-pipeline.ts";
import { once } from "./kernel/lib/once.ts";
import type { Seal } from "./kernel/lib/seal.ts";
import type { Timers } from "./kernel/lib/timers.ts";
import type { Store } from "./kernel/store/store.ts";

export interface HubRunsOptions {
  store: Store;
  ports: HostPorts;
  settings: HubSettings;
  seal: Seal;
  newId: () => string;
  pipeline: Pick<HubPipeline, "append" | "pendingAppends">;
  connections: Pick<Connections, "callTool" | "loadOffers">;
  inbox: Inbox;
  onError: (error: unknown) => void;
}

/**
 * Throttling: while more than BUSY_APPENDS appends wait for the store, the runner delays its claims
 * and its saves by BUSY_RUNNER_DELAY_MS, so that senders of webhooks get their responses first.
 */
const BUSY_APPENDS = 4;
const BUSY_RUNNER_DELAY_MS = 10;

export function createHubRuns(options: HubRunsOptions) {
  const { store, ports, settings, seal, newId, pipeline, connections, onError } = options;
  const { timers, evaluate } = ports;
  const { now } = timers;
  const { maxChain, maxLoops } = settings;
  const { largeReads } = options.inbox;
  const explainer = createExplainer({
    store,
    largeReads,
    evaluate,
    newId,
    now,
    maxChain,
    maxLoops,
  });
  const runner = createRunner({
    store,
    registry: nodeTypes,
    worker: newId(),
    loadSecrets: createSecretLoader(store, seal),
    loadInput: (run) => loadInput({ store, evaluate }, run),
    services: createNodeServices({
      store,
      append: pipeline.append,
      start: (run, options) => runner.start(run, options),
      fetch: ports.guardedFetch,
      evaluate,
      agent: createAgentServices(options, explainer),
      newId,
      now,
      maxChain,
      connections,
    }),
    concurrency: settings.runConcurrency,
    memoryBytes: settings.runMemoryBytes,
    originRequests: settings.originRequests,
    leaseMs: settings.runLeaseMs,
    maxRunBytes: settings.maxRunBytes,
    timers,
    writeTimers: delayWhileBusy(timers, pipeline.pendingAppends),
    metrics: ports.metrics,
    onError,
  });
  const ticker = createTicker({ store, timers, newId, onError });
  return {
    calls: createToolCalls({ store, runner, evaluate, newId, now }),
    drafts: createDraftRuns({ store, runner, registry: nodeTypes, evaluate, newId, now }),
    explainer,
    readLoad: runner.readLoad,
    close: async () => void (await Promise.all([ticker.close(), runner.close()])),
  };
}

/** The services of `Agent` nodes. They are loaded on first use, so that an idle hub uses less memory. */
function createAgentServices(
  { ports, inbox, onError }: HubRunsOptions,
  explainer: Explainer,
): NodeServicesOptions["agent"] {
  const { timers, guardedWebFetch: fetch } = ports;
  const loadModel = once(async () => {
    const { createAskModel } = await import("./agents/ask-model.ts");
    return createAskModel({ fetch, timers });
  });
  const loadInbox = once(async () => {
    const { createAgentInbox } = await import("./events/inbox/agent-inbox.ts");
    return createAgentInbox({ inbox, explainer, onError });
  });
  return {
    model: async (...request) => (await loadModel())(...request),
    inbox: {
      listTools: async () => (await loadInbox()).listTools(),
      callTool: async (...call) => (await loadInbox()).callTool(...call),
    },
    newNonce,
  };
}

const delayWhileBusy = (timers: Timers, pendingAppends: () => number): Timers => ({
  ...timers,
  defer(work) {
    if (pendingAppends() > BUSY_APPENDS) timers.after(BUSY_RUNNER_DELAY_MS, work);
    else timers.defer(work);
  },
});
