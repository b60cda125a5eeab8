/** The functions that map rows to the views of the contract. */
import type { appView } from "@signalbox/contract/apps.ts";
import type { Finding as FindingView, flowSummary, flowView } from "@signalbox/contract/flows.ts";
import type { runSummary, runView, stepView } from "@signalbox/contract/runs.ts";
import type { Finding } from "@signalbox/rules/flows/finding.ts";
import type { Json } from "@signalbox/rules/json.ts";
import type { z } from "zod";
import { iso, isoOrNull } from "../kernel/http/paging.ts";
import { MAX_FINDINGS } from "../kernel/lib/limits.ts";
import type { DescribedFlow } from "./editing/flows.ts";
import type { StoredApp } from "./model.ts";
import type { Run, RunSummary, Step } from "./runs/model.ts";

export const viewApp = (app: StoredApp): z.output<typeof appView> => ({
  slug: app.slug,
  name: app.name,
  description: app.description,
  mcp_path: `/mcp/${app.slug}`,
  created_at: iso(app.created_at),
  updated_at: iso(app.updated_at),
});

export const summarizeFlow = (flow: DescribedFlow): z.output<typeof flowSummary> => {
  const { nodes: _, edges: __, ...summary } = viewFlow(flow);
  return summary;
};

const withNodeId = <Fields extends { nodeId: string }>({ nodeId, ...fields }: Fields) => ({
  node_id: nodeId,
  ...fields,
});

/** The fields `nodeId` and `edgeId` are deprecated. */
const viewFindings = (findings: readonly Finding[]): FindingView[] =>
  firstFindings(findings).map((finding) => ({
    ...finding,
    ...("nodeId" in finding && { node_id: finding.nodeId }),
    ...("edgeId" in finding && { edge_id: finding.edgeId }),
  }));

export const viewFlow = ({ graph, ...flow }: DescribedFlow): z.output<typeof flowView> => ({
  id: flow.id,
  app: flow.app,
  name: flow.name,
  description: flow.description,
  nodes: graph.nodes,
  edges: graph.edges,
  revision: flow.revision,
  version: flow.version,
  draft: flow.draft,
  exposed_tools: flow.exposedTools.map(withNodeId),
  schedules: flow.schedules.map(({ node_id, cron, time_zone, next_at }) => ({
    node_id,
    cron,
    time_zone,
    next_fire_at: isoOrNull(next_at),
    nodeId: node_id,
    timeZone: time_zone,
  })),
  listens_to: flow.listensTo.map(withNodeId),
  has_triggers: flow.hasTriggers,
  warnings: viewFindings(flow.warnings),
  errors: viewFindings(flow.errors),
  created_at: iso(flow.created_at),
  updated_at: iso(flow.updated_at),
  exposedTools: flow.exposedTools,
  listensTo: flow.listensTo,
  hasTriggers: flow.hasTriggers,
});

export const viewRun = (run: Run): z.output<typeof runView> => ({
  id: run.id,
  app: run.app,
  flow_id: run.flow_id,
  version: run.version,
  trigger_node: run.trigger_node,
  cause: run.cause,
  event_id: run.event_id ?? null,
  parent_run: run.parent_run ?? null,
  status: run.status,
  // The cast hides large values, which a route can return: see `writeJson`.
  input: run.input as Json,
  output: run.output as Json,
  error: run.error,
  created_at: iso(run.created_at),
  started_at: isoOrNull(run.started_at),
  finished_at: isoOrNull(run.finished_at),
});

export const summarizeRun = ({ tenant: _, ...run }: RunSummary): z.output<typeof runSummary> => ({
  ...run,
  due_at: run.finished_at === null ? isoOrNull(run.due_at) : null,
  created_at: iso(run.created_at),
  started_at: isoOrNull(run.started_at),
  finished_at: isoOrNull(run.finished_at),
});

export const viewStep = (step: Step): z.output<typeof stepView> => ({
  ...step,
  started_at: iso(step.started_at),
  finished_at: isoOrNull(step.finished_at),
});

/** The first findings about a flow; the last entry counts the others. */
export function firstFindings<Finding extends { message: string }>(
  findings: readonly Finding[],
): (Finding | { code: "more"; message: string })[] {
  const omitted = findings.length - MAX_FINDINGS;
  if (omitted <= 0) return [...findings];
  const message = `and ${omitted.toLocaleString("en")} more`;
  return [...findings.slice(0, MAX_FINDINGS), { code: "more", message }];
}
