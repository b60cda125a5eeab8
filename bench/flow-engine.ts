/** The run engine on a SQLite file, without a server. */
import { join } from "node:path";
import type { FlowEdge, FlowNode } from "@signalbox/rules/flows/model.ts";
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { triggersOf } from "../packages/hub/src/flows/editing/publication.ts";
import type { NewTrigger } from "../packages/hub/src/flows/model.ts";
import { loadInput } from "../packages/hub/src/flows/runs/load-input.ts";
import type { ImmediateRun } from "../packages/hub/src/flows/runs/model.ts";
import { createNodeServices } from "../packages/hub/src/flows/runs/node-services.ts";
import { createRunner, type Runner } from "../packages/hub/src/flows/runs/runner.ts";
import { noAgent } from "../packages/hub/src/flows/runs/test-agent.ts";
import { createJobWorkers } from "../packages/hub/src/hosts/node/job-workers.ts";
import { openSqlite } from "../packages/hub/src/kernel/backends/sqlite.ts";
import type { RunJob } from "../packages/hub/src/kernel/jobs/job.ts";
import { createIds } from "../packages/hub/src/kernel/lib/ids.ts";
import { type Store, storeDefinition } from "../packages/hub/src/store.ts";
import { makeFolder, removeFolder } from "./cleanup.ts";
import { TENANT } from "./seed.ts";

const APP = "bench";
export const newId = createIds();

export interface Engine {
  store: Store;
  runner: Runner;
  runJob: RunJob;
  folder: string;
  close(): Promise<void>;
}

export function openEngine(): Engine {
  const folder = makeFolder();
  const store = openSqlite(storeDefinition, join(folder, "signalbox.db"));
  const workers = createJobWorkers();
  const throwUnexpected = () => {
    throw new Error("unexpected call");
  };
  const runner: Runner = createRunner({
    store,
    registry: nodeTypes,
    worker: newId(),
    loadSecrets: async () => ({}),
    loadInput: (run) => loadInput({ store, runJob: workers.runJob }, run),
    timers: {
      now: Date.now,
      monotonic: () => performance.now(),
      defer: setImmediate,
      after(ms, work) {
        const timer = setTimeout(work, ms);
        return () => clearTimeout(timer);
      },
    },
    services: createNodeServices({
      store,
      append: throwUnexpected,
      start: (run, options) => runner.start(run, options),
      fetch: throwUnexpected,
      runJob: workers.runJob,
      agent: noAgent,
      newId,
      now: Date.now,
      maxChain: 5,
      connections: { callTool: throwUnexpected, loadOffers: throwUnexpected },
    }),
    onError: (error) => {
      throw error;
    },
  });
  return {
    store,
    runner,
    runJob: workers.runJob,
    folder,
    async close() {
      await runner.close();
      await workers.close();
      await store.close();
      removeFolder(folder);
    },
  };
}

export const flowNode = (id: string, type: string, parameters: JsonObject = {}): FlowNode => ({
  id,
  slug: id,
  name: id,
  type,
  position: { x: 0, y: 0 },
  parameters,
});

const connectInOrder = (nodes: readonly FlowNode[]): FlowEdge[] =>
  nodes.slice(1).map(({ id }, at) => {
    const source = nodes[at]?.id as string;
    return { id: `${source}-${id}`, source, sourceHandle: "out", target: id, targetHandle: "in" };
  });

/**
 * Publishes a flow and returns its id. By default the edges connect the nodes in order, and the triggers
 * are those of the graph.
 */
export async function publishFlow(
  store: Store,
  nodes: readonly FlowNode[],
  {
    tenant = TENANT,
    app = APP,
    edges = connectInOrder(nodes),
    triggers: explicitTriggers,
  }: { tenant?: string; app?: string; edges?: FlowEdge[]; triggers?: NewTrigger[] } = {},
): Promise<string> {
  const graph = { nodes: [...nodes], edges };
  const triggers = explicitTriggers ?? triggersOf(graph, nodeTypes, 0);
  const id = newId();
  await store.createApp({
    tenant,
    slug: app,
    name: app,
    description: "",
    created_at: 1,
    updated_at: 1,
  });
  await store.createFlow({ id, tenant, app, at: 1 }, () => ({
    name: "Flow",
    description: "",
    graph,
    toolNames: triggers.flatMap(({ tool_name }) => (tool_name ? [{ name: tool_name }] : [])),
  }));
  await store.publishFlow({ tenant, id }, () => ({
    graph,
    triggers,
    note: "",
    by: "bench",
    at: 1,
    aliasUntil: 1,
  }));
  return id;
}

export const newRun = (flow_id: string, trigger_node: string, input: JsonObject): ImmediateRun => ({
  id: newId(),
  tenant: TENANT,
  app: APP,
  flow_id,
  version: 1,
  trigger_node,
  cause: "api",
  input,
  at: Date.now(),
  depth: 0,
});
