/** The response schemas of the API, and the functions that map rows to them. */

import { LOG_LEVELS } from "@signalbox/rules/flows/evaluation.ts";
import { edgeSchema, nodeSchema } from "@signalbox/rules/flows/model.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { z } from "zod";
import { iso, isoOrNull } from "../kernel/http/paging.ts";
import { firstFindings } from "./editing/first-findings.ts";
import type { DescribedFlow } from "./editing/flows.ts";
import type { StoredApp } from "./model.ts";
import { RUN_CAUSES, RUN_STATUSES, type Run, type RunSummary, type Step } from "./runs/model.ts";

export const appView = z.object({
  slug: z.string(),
  name: z.string(),
  description: z.string(),
  mcp_path: z.string().describe("The path of the app's MCP server."),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});
export const viewApp = (app: StoredApp): z.input<typeof appView> => ({
  slug: app.slug,
  name: app.name,
  description: app.description,
  mcp_path: `/mcp/${app.slug}`,
  created_at: iso(app.created_at),
  updated_at: iso(app.updated_at),
});

const finding = z.object({
  code: z.string(),
  message: z.string(),
  nodeId: z.string().optional(),
  edgeId: z.string().optional(),
  path: z.string().optional(),
});

export const flowView = z.object({
  id: z.string(),
  app: z.string(),
  name: z.string(),
  description: z.string(),
  nodes: z.array(nodeSchema),
  edges: z.array(edgeSchema),
  revision: z
    .int()
    .describe("Send it as If-Match, so that concurrent changes are not overwritten."),
  version: z.int().nullable().describe("The published version; null if none is published."),
  draft: z
    .enum(["unpublished", "published", "changed"])
    .describe("`changed`: the draft differs from the published version."),
  exposedTools: z.array(
    z.object({ nodeId: z.string(), name: z.string(), description: z.string() }),
  ),
  schedules: z
    .array(
      z.object({
        nodeId: z.string(),
        cron: z.string(),
        timeZone: z.string(),
        next_fire_at: z.iso.datetime().nullable(),
      }),
    )
    .describe("The active schedules of the published version, and when they fire next."),
  listensTo: z
    .array(z.object({ nodeId: z.string(), source: z.string(), type: z.string() }))
    .describe("The source and type of each event trigger. An empty type matches every type."),
  hasTriggers: z.boolean(),
  warnings: z.array(finding),
  errors: z.array(finding).describe("The errors that prevent publishing."),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});
/** A flow in a list, without its graph, which can be large. */
export const flowSummary = flowView.omit({ nodes: true, edges: true });
export const summarizeFlow = (flow: DescribedFlow): z.input<typeof flowSummary> => {
  const { nodes: _, edges: __, ...summary } = viewFlow(flow);
  return summary;
};

export const viewFlow = ({ graph, ...flow }: DescribedFlow): z.input<typeof flowView> => ({
  id: flow.id,
  app: flow.app,
  name: flow.name,
  description: flow.description,
  nodes: graph.nodes,
  edges: graph.edges,
  revision: flow.revision,
  version: flow.version,
  draft: flow.draft,
  exposedTools: flow.exposedTools,
  schedules: flow.schedules.map(({ node_id, cron, time_zone, next_at }) => ({
    nodeId: node_id,
    cron,
    timeZone: time_zone,
    next_fire_at: isoOrNull(next_at),
  })),
  listensTo: flow.listensTo,
  hasTriggers: flow.hasTriggers,
  warnings: firstFindings(flow.warnings),
  errors: firstFindings(flow.errors),
  created_at: iso(flow.created_at),
  updated_at: iso(flow.updated_at),
});

const runError = z.object({
  code: z.string(),
  message: z.string(),
  node_id: z.string().optional(),
  details: z.json().optional(),
});

export const runView = z.object({
  id: z.string(),
  app: z.string(),
  flow_id: z.string(),
  version: z.int().describe("Negative: a run of the draft."),
  trigger_node: z.string(),
  cause: z.enum(RUN_CAUSES),
  event_id: z.string().nullable(),
  parent_run: z.string().nullable(),
  status: z.enum(RUN_STATUSES),
  input: z.json(),
  output: z.json(),
  error: runError.nullable(),
  created_at: z.iso.datetime(),
  started_at: z.iso.datetime().nullable(),
  finished_at: z.iso.datetime().nullable(),
});
export const viewRun = (run: Run): z.input<typeof runView> => ({
  id: run.id,
  app: run.app,
  flow_id: run.flow_id,
  version: run.version,
  trigger_node: run.trigger_node,
  cause: run.cause,
  event_id: run.event_id ?? null,
  parent_run: run.parent_run ?? null,
  status: run.status,
  // The cast hides large values, which a route can return: see `RouteResult`.
  input: run.input as Json,
  output: run.output as Json,
  error: run.error,
  created_at: iso(run.created_at),
  started_at: isoOrNull(run.started_at),
  finished_at: isoOrNull(run.finished_at),
});

/** A run in a list, without its input and output. */
export const runSummary = runView.omit({ input: true, output: true }).extend({
  flow_name: z.string().nullable().describe("Null if the flow was deleted."),
  trigger_name: z
    .string()
    .nullable()
    .describe(
      "The name of the trigger's tool, or the type of its events. Null if it has neither, or if the trigger is not published any more.",
    ),
  due_at: z.iso
    .datetime()
    .nullable()
    .describe("When a queued or waiting run continues; null if it has ended."),
});
export const summarizeRun = ({ tenant: _, ...run }: RunSummary): z.input<typeof runSummary> => ({
  ...run,
  due_at: run.finished_at === null ? isoOrNull(run.due_at) : null,
  created_at: iso(run.created_at),
  started_at: isoOrNull(run.started_at),
  finished_at: isoOrNull(run.finished_at),
});

export const stepView = z.object({
  nth: z.int().describe("The position among the run's steps."),
  node_id: z.string(),
  item: z
    .string()
    .describe(
      "The iteration of the enclosing loops, such as `each:2`. A part of a step, such as a turn of an agent, ends with `#` and its name: `each:2#turn-1`.",
    ),
  attempt: z.int(),
  status: z.enum(["running", "waiting", "done", "failed", "skipped", "retried"]),
  port: z.string().nullable(),
  input: z.json(),
  output: z.json(),
  error: runError.nullable(),
  log: z
    .array(z.object({ level: z.enum(LOG_LEVELS), text: z.string() }))
    .describe(
      "The console output of the step's code, and the progress of the tool that it called.",
    ),
  started_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
});
export const viewStep = (step: Step): z.input<typeof stepView> => ({
  ...step,
  started_at: iso(step.started_at),
  finished_at: isoOrNull(step.finished_at),
});
