/** Flows: drafts, which can be edited as a whole or by node and edge, and published versions. */

import { jsonObject } from "@signalbox/rules/flows/json-value.ts";
import { edgeSchema, flowDraftSchema, LIMITS, nodeSchema } from "@signalbox/rules/flows/model.ts";
import { z } from "zod";
import { cursorFor, limitQuery, listOf, pageOf, time } from "./paging.ts";
import { route } from "./route.ts";
import { runSummary } from "./runs.ts";

const deprecated = { deprecated: true };

const finding = z.object({
  code: z.string(),
  message: z.string(),
  problem: z.string().optional().describe("The message without the name of the node and the path."),
  node_id: z.string().optional(),
  edge_id: z.string().optional(),
  path: z.string().optional(),
  nodeId: z.string().optional().meta(deprecated),
  edgeId: z.string().optional().meta(deprecated),
});
export type Finding = z.output<typeof finding>;

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
  exposed_tools: z.array(
    z.object({ node_id: z.string(), name: z.string(), description: z.string() }),
  ),
  schedules: z
    .array(
      z.object({
        node_id: z.string(),
        cron: z.string(),
        time_zone: z.string(),
        next_fire_at: time.nullable(),
        nodeId: z.string().meta(deprecated),
        timeZone: z.string().meta(deprecated),
      }),
    )
    .describe("The active schedules of the published version, and when they fire next."),
  listens_to: z
    .array(z.object({ node_id: z.string(), source: z.string(), type: z.string() }))
    .describe("The source and type of each event trigger. An empty type matches every type."),
  has_triggers: z.boolean(),
  warnings: z.array(finding),
  errors: z.array(finding).describe("The errors that prevent publishing."),
  created_at: time,
  updated_at: time,
  exposedTools: z
    .array(z.object({ nodeId: z.string(), name: z.string(), description: z.string() }))
    .meta(deprecated),
  listensTo: z
    .array(z.object({ nodeId: z.string(), source: z.string(), type: z.string() }))
    .meta(deprecated),
  hasTriggers: z.boolean().meta(deprecated),
});
export type Flow = z.output<typeof flowView>;

/** A flow in a list, without its graph, which can be large. */
export const flowSummary = flowView.omit({ nodes: true, edges: true });
export type FlowSummary = z.output<typeof flowSummary>;

/** A flow in the list of all flows. */
const flowItem = flowSummary.extend({ last_run: runSummary.nullable() });
export type FlowItem = z.output<typeof flowItem>;

const tag = "flows";

export const flowCursors = cursorFor("flow");

const scope = "admin";

const newNode = nodeSchema.partial({ id: true, slug: true, position: true, parameters: true });

const nodeChange = nodeSchema
  .pick({ name: true, position: true })
  .extend({
    parameters: nodeSchema.shape.parameters.describe(
      "A JSON Merge Patch (RFC 7396): a parameter in the patch replaces the stored one, objects are merged, null removes a parameter. PUT replaces all parameters.",
    ),
  })
  .partial();

const nodeReplacement = nodeSchema.partial({
  id: true,
  type: true,
  name: true,
  slug: true,
  position: true,
});

const newEdge = edgeSchema.partial({ id: true });

const newFlow = z.strictObject({
  name: flowDraftSchema.shape.name,
  description: flowDraftSchema.shape.description.unwrap().optional(),
  nodes: z.array(newNode).max(LIMITS.nodes).optional(),
  edges: z.array(newEdge).max(LIMITS.edges).optional(),
});

const versionNumber = z.int().min(1);

export const versionView = z.object({
  version: z.int(),
  note: z.string(),
  created_by: z.string(),
  created_at: time,
});
export type FlowVersion = z.output<typeof versionView>;

export const triggerView = z.object({
  node_id: z.string(),
  kind: z.enum(["intent", "event", "schedule", "other"]),
  tool_name: z.string().nullable(),
  source: z
    .string()
    .nullable()
    .describe("The source, endpoint or connection of an event trigger; null for other triggers."),
  type: z.string().nullable(),
  active: z.boolean(),
  state: z
    .enum(["configuring", "active", "paused", "failed"])
    .nullable()
    .describe(
      "The state of the trigger at the server of its connection; null if the trigger needs no subscription.",
    ),
  error: z.string().nullable().describe("The error message of the server."),
  last_fired_at: time
    .nullable()
    .describe("When the trigger last started one of the flow's newest 500 runs."),
  next_fire_at: time.nullable().describe("When a schedule fires next; null for other triggers."),
});
export type TriggerState = z.output<typeof triggerView>;

const response = { status: 200, schema: flowView, etag: true } as const;
const createdResponse = { ...response, status: 201 } as const;

export const flowApi = {
  list: route({
    method: "get",
    path: "/api/flows",
    summary: "List the flows of all apps, without their graphs, with their last runs",
    tag,
    scope,
    query: z.strictObject({
      limit: limitQuery,
      cursor: flowCursors.query,
      app: z.string().max(100).optional(),
    }),
    response: {
      status: 200,
      schema: pageOf(flowItem),
    },
  }),
  listOfApp: route({
    method: "get",
    path: "/api/apps/:app/flows",
    summary: "List an app's flows, without their graphs",
    tag,
    scope,
    query: z.strictObject({ limit: limitQuery, cursor: flowCursors.query }),
    response: { status: 200, schema: pageOf(flowSummary) },
  }),
  create: route({
    method: "post",
    path: "/api/apps/:app/flows",
    summary: "Create a flow",
    tag,
    scope,
    body: newFlow,
    hasFlows: true,
    response: createdResponse,
  }),
  import: route({
    method: "post",
    path: "/api/apps/:app/flows/import",
    summary: "Create a flow from an exported file, in the current or a legacy format",
    tag,
    scope,
    body: jsonObject(),
    hasFlows: true,
    response: { ...createdResponse, schema: flowView.extend({ notes: z.array(z.string()) }) },
  }),
  get: route({
    method: "get",
    path: "/api/flows/:flow",
    summary: "Get a flow",
    tag,
    scope,
    response,
  }),
  replace: route({
    method: "put",
    path: "/api/flows/:flow",
    summary: "Replace a flow's draft",
    tag,
    scope,
    ifMatch: true,
    body: newFlow,
    hasFlows: true,
    response,
  }),
  change: route({
    method: "patch",
    path: "/api/flows/:flow",
    summary: "Update parts of a flow's draft",
    tag,
    scope,
    ifMatch: true,
    body: newFlow.partial(),
    response,
  }),
  remove: route({
    method: "delete",
    path: "/api/flows/:flow",
    summary: "Delete a flow; its active runs continue",
    tag,
    scope,
    ifMatch: true,
    response: { status: 204 },
  }),
  export: route({
    method: "get",
    path: "/api/flows/:flow/export",
    summary: "Export a flow as one JSON file",
    tag,
    scope,
    response: { status: 200, schema: flowDraftSchema },
  }),
  publish: route({
    method: "post",
    path: "/api/flows/:flow/publish",
    summary: "Publish the draft as a new version",
    tag,
    scope,
    ifMatch: true,
    body: z.strictObject({ note: z.string().max(1000).default("") }),
    response,
  }),
  listTriggers: route({
    method: "get",
    path: "/api/flows/:flow/triggers",
    summary: "List the triggers of the published version: their states, and when they last fired",
    tag,
    scope,
    response: { status: 200, schema: listOf(triggerView) },
  }),
  listVersions: route({
    method: "get",
    path: "/api/flows/:flow/versions",
    summary: "List a flow's versions, newest first",
    tag,
    scope,
    response: { status: 200, schema: listOf(versionView) },
  }),
  getVersion: route({
    method: "get",
    path: "/api/flows/:flow/versions/:version",
    summary: "Get the graph of a version, or of a run of the draft (a negative number)",
    tag,
    scope,
    response: { status: 200, schema: flowDraftSchema.pick({ nodes: true, edges: true }) },
  }),
  rollBack: route({
    method: "post",
    path: "/api/flows/:flow/rollback",
    summary: "Publish an earlier version again",
    tag,
    scope,
    ifMatch: true,
    body: z.strictObject({ version: versionNumber }),
    response,
  }),
  addNode: route({
    method: "post",
    path: "/api/flows/:flow/nodes",
    summary: "Add a node",
    tag,
    scope,
    ifMatch: true,
    body: newNode,
    response: createdResponse,
  }),
  changeNode: route({
    method: "patch",
    path: "/api/flows/:flow/nodes/:node",
    summary: "Update a node; a new name also updates every reference to it",
    tag,
    scope,
    ifMatch: true,
    body: nodeChange,
    response,
  }),
  replaceNode: route({
    method: "put",
    path: "/api/flows/:flow/nodes/:node",
    summary: "Replace a node's parameters; other fields keep their values if omitted",
    tag,
    scope,
    ifMatch: true,
    body: nodeReplacement,
    response,
  }),
  removeNode: route({
    method: "delete",
    path: "/api/flows/:flow/nodes/:node",
    summary: "Delete a node and its edges",
    tag,
    scope,
    ifMatch: true,
    response,
  }),
  addEdge: route({
    method: "post",
    path: "/api/flows/:flow/edges",
    summary: "Add an edge",
    tag,
    scope,
    ifMatch: true,
    body: newEdge,
    response: createdResponse,
  }),
  removeEdge: route({
    method: "delete",
    path: "/api/flows/:flow/edges/:edge",
    summary: "Delete an edge",
    tag,
    scope,
    ifMatch: true,
    response,
  }),
};
