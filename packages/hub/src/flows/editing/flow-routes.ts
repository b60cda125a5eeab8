/** Routes of flows: drafts, which can be edited as a whole or by node and edge, and published versions. */

import { jsonObject } from "@signalbox/rules/flows/json-value.ts";
import { edgeSchema, flowDraftSchema, LIMITS, nodeSchema } from "@signalbox/rules/flows/model.ts";
import { z } from "zod";
import { cursorFor, iso, isoOrNull, limitQuery, pageOf } from "../../kernel/http/paging.ts";
import { defineRoute, type Route } from "../../kernel/http/route.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Store } from "../../store.ts";
import {
  flowSummary,
  flowView,
  runSummary,
  summarizeFlow,
  summarizeRun,
  viewFlow,
} from "../views.ts";
import type { DescribedFlow, Flows } from "./flows.ts";

const tag = "flows";
const cursors = cursorFor("flow");
const scope = "admin" as const;

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
  created_at: z.iso.datetime(),
});

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
  last_fired_at: z.iso
    .datetime()
    .nullable()
    .describe("When the trigger last started one of the flow's newest 500 runs."),
  next_fire_at: z.iso
    .datetime()
    .nullable()
    .describe("When a schedule fires next; null for other triggers."),
});

const cursorAfter = ({ flows, hasMore }: Awaited<ReturnType<Flows["list"]>>): string | null => {
  const last = hasMore ? flows.at(-1) : undefined;
  return last ? cursors.of(last.id) : null;
};

export interface FlowRoutes {
  flows: Flows;
  store: Pick<
    Store,
    "getApp" | "getFlow" | "listVersions" | "getVersion" | "lastRuns" | "listTriggerStates"
  >;
}

/** The parts of a request that name the flow and the expected revision. */
interface FlowRequest {
  tenant: string;
  param(name: "flow"): string;
  ifMatch: number | undefined;
}

export function flowRoutes({ flows, store }: FlowRoutes): Route[] {
  const response = { status: 200, schema: flowView, etag: true };
  const createdResponse = { ...response, status: 201 };
  const respondWith = (flow: DescribedFlow, status: 200 | 201 = 200) => ({
    status,
    json: viewFlow(flow),
    etag: flow.revision,
  });
  const flowRef = ({ tenant, param, ifMatch }: FlowRequest) => ({
    tenant,
    id: param("flow"),
    ifRevision: ifMatch,
  });
  /** The versions of a deleted flow are kept for its runs, but are not served. */
  const assertFlowExists = async (tenant: string, id: string): Promise<void> => {
    if (!(await store.getFlow(tenant, id)))
      throw new RequestError("not_found", "flow", `There is no flow ${id}.`);
  };

  return [
    defineRoute({
      method: "get",
      path: "/api/flows",
      summary: "List the flows of all apps, without their graphs, with their last runs",
      tag,
      scope,
      query: z.strictObject({
        limit: limitQuery,
        cursor: cursors.query,
        app: z.string().max(100).optional(),
      }),
      response: {
        status: 200,
        schema: pageOf(flowSummary.extend({ last_run: runSummary.nullable() })),
      },
      async handle({ tenant, query: { limit, cursor, app } }) {
        const listed = await flows.list(tenant, { app, after: cursor, limit });
        const ids = listed.flows.map(({ id }) => id);
        const runs = await store.lastRuns(tenant, ids);
        const lastRun = new Map(runs.map((run) => [run.flow_id, summarizeRun(run)]));
        const items = listed.flows.map((flow) => ({
          ...summarizeFlow(flow),
          last_run: lastRun.get(flow.id) ?? null,
        }));
        return { json: { items, next_cursor: cursorAfter(listed) } };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/apps/:app/flows",
      summary: "List an app's flows, without their graphs",
      tag,
      scope,
      query: z.strictObject({ limit: limitQuery, cursor: cursors.query }),
      response: { status: 200, schema: pageOf(flowSummary) },
      async handle({ tenant, param, query: { limit, cursor } }) {
        const app = param("app");
        if (!(await store.getApp(tenant, app)))
          throw new RequestError("not_found", "app", `There is no app ${app}.`);
        const listed = await flows.list(tenant, { app, after: cursor, limit });
        return {
          json: { items: listed.flows.map(summarizeFlow), next_cursor: cursorAfter(listed) },
        };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/apps/:app/flows",
      summary: "Create a flow",
      tag,
      scope,
      body: newFlow,
      hasFlows: true,
      response: createdResponse,
      handle: async ({ tenant, param, body }) =>
        respondWith(await flows.create(tenant, param("app"), body), 201),
    }),
    defineRoute({
      method: "post",
      path: "/api/apps/:app/flows/import",
      summary: "Create a flow from an exported file, in the current or a legacy format",
      tag,
      scope,
      body: jsonObject(),
      hasFlows: true,
      response: { ...createdResponse, schema: flowView.extend({ notes: z.array(z.string()) }) },
      async handle({ tenant, param, body }) {
        const { flow, notes } = await flows.import(tenant, param("app"), body);
        return { ...respondWith(flow, 201), json: { ...viewFlow(flow), notes } };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/flows/:flow",
      summary: "Get a flow",
      tag,
      scope,
      response,
      handle: async ({ tenant, param }) => respondWith(await flows.get(tenant, param("flow"))),
    }),
    defineRoute({
      method: "put",
      path: "/api/flows/:flow",
      summary: "Replace a flow's draft",
      tag,
      scope,
      ifMatch: true,
      body: newFlow,
      hasFlows: true,
      response,
      handle: async (request) =>
        respondWith(
          await flows.change(flowRef(request), {
            description: "",
            nodes: [],
            edges: [],
            ...request.body,
          }),
        ),
    }),
    defineRoute({
      method: "patch",
      path: "/api/flows/:flow",
      summary: "Update parts of a flow's draft",
      tag,
      scope,
      ifMatch: true,
      body: newFlow.partial(),
      response,
      handle: async (request) => respondWith(await flows.change(flowRef(request), request.body)),
    }),
    defineRoute({
      method: "delete",
      path: "/api/flows/:flow",
      summary: "Delete a flow; its active runs continue",
      tag,
      scope,
      ifMatch: true,
      response: { status: 204 },
      async handle(request) {
        await flows.remove(flowRef(request));
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/flows/:flow/export",
      summary: "Export a flow as one JSON file",
      tag,
      scope,
      response: { status: 200, schema: flowDraftSchema },
      async handle({ tenant, param }) {
        const { name, description, graph } = await flows.get(tenant, param("flow"));
        return {
          json: { name, description, ...graph },
          headers: { "content-disposition": 'attachment; filename="flow.json"' },
        };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/flows/:flow/publish",
      summary: "Publish the draft as a new version",
      tag,
      scope,
      ifMatch: true,
      body: z.strictObject({ note: z.string().max(1000).default("") }),
      response,
      handle: async (request) =>
        respondWith(
          await flows.publish(flowRef(request), {
            note: request.body.note,
            by: request.access.name,
          }),
        ),
    }),
    defineRoute({
      method: "get",
      path: "/api/flows/:flow/triggers",
      summary: "List the triggers of the published version: their states, and when they last fired",
      tag,
      scope,
      response: { status: 200, schema: z.object({ items: z.array(triggerView) }) },
      async handle({ tenant, param }) {
        await assertFlowExists(tenant, param("flow"));
        const triggers = await store.listTriggerStates(tenant, param("flow"));
        const items = triggers.map(({ next_at, last_fired_at, ...trigger }) => ({
          ...trigger,
          last_fired_at: isoOrNull(last_fired_at),
          next_fire_at: isoOrNull(next_at),
        }));
        return { json: { items } };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/flows/:flow/versions",
      summary: "List a flow's versions, newest first",
      tag,
      scope,
      response: { status: 200, schema: z.object({ items: z.array(versionView) }) },
      async handle({ tenant, param }) {
        await assertFlowExists(tenant, param("flow"));
        const versions = await store.listVersions(tenant, param("flow"));
        return {
          json: {
            items: versions.map((version) => ({
              ...version,
              created_at: iso(version.created_at),
            })),
          },
        };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/flows/:flow/versions/:version",
      summary: "Get the graph of a version, or of a run of the draft (a negative number)",
      tag,
      scope,
      response: { status: 200, schema: flowDraftSchema.pick({ nodes: true, edges: true }) },
      async handle({ tenant, param }) {
        await assertFlowExists(tenant, param("flow"));
        const number = z.int().safeParse(Number(param("version"))).data;
        const graph = number && (await store.getVersion(tenant, param("flow"), number));
        if (!graph)
          throw new RequestError(
            "not_found",
            "version",
            `The flow has no version ${param("version").slice(0, 100)}.`,
          );
        return { json: graph };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/flows/:flow/rollback",
      summary: "Publish an earlier version again",
      tag,
      scope,
      ifMatch: true,
      body: z.strictObject({ version: versionNumber }),
      response,
      handle: async (request) =>
        respondWith(
          await flows.rollBack(flowRef(request), request.body.version, request.access.name),
        ),
    }),
    defineRoute({
      method: "post",
      path: "/api/flows/:flow/nodes",
      summary: "Add a node",
      tag,
      scope,
      ifMatch: true,
      body: newNode,
      response: createdResponse,
      handle: async (request) =>
        respondWith(await flows.addNode(flowRef(request), request.body), 201),
    }),
    defineRoute({
      method: "patch",
      path: "/api/flows/:flow/nodes/:node",
      summary: "Update a node; a new name also updates every reference to it",
      tag,
      scope,
      ifMatch: true,
      body: nodeChange,
      response,
      handle: async (request) =>
        respondWith(await flows.changeNode(flowRef(request), request.param("node"), request.body)),
    }),
    defineRoute({
      method: "put",
      path: "/api/flows/:flow/nodes/:node",
      summary: "Replace a node's parameters; other fields keep their values if omitted",
      tag,
      scope,
      ifMatch: true,
      body: nodeReplacement,
      response,
      handle: async (request) =>
        respondWith(await flows.replaceNode(flowRef(request), request.param("node"), request.body)),
    }),
    defineRoute({
      method: "delete",
      path: "/api/flows/:flow/nodes/:node",
      summary: "Delete a node and its edges",
      tag,
      scope,
      ifMatch: true,
      response,
      handle: async (request) =>
        respondWith(await flows.removeNode(flowRef(request), request.param("node"))),
    }),
    defineRoute({
      method: "post",
      path: "/api/flows/:flow/edges",
      summary: "Add an edge",
      tag,
      scope,
      ifMatch: true,
      body: newEdge,
      response: createdResponse,
      handle: async (request) =>
        respondWith(await flows.addEdge(flowRef(request), request.body), 201),
    }),
    defineRoute({
      method: "delete",
      path: "/api/flows/:flow/edges/:edge",
      summary: "Delete an edge",
      tag,
      scope,
      ifMatch: true,
      response,
      handle: async (request) =>
        respondWith(await flows.removeEdge(flowRef(request), request.param("edge"))),
    }),
  ];
}
