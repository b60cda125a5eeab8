/** Flows: whole, or node by node; drafts and versions. */

import { edgeSchema, flowDraftSchema, nodeSchema } from "@signalbox/rules/flows/model.ts";
import { z } from "zod";
import type { DescribedFlow, Flows } from "../apps/flows.ts";
import { RequestError } from "../lib/request-error.ts";
import type { Store } from "../store/store.ts";
import { defineRoute, type Route, type RouteRequest } from "./route.ts";
import {
  cursorFor,
  flowSummary,
  flowView,
  limitQuery,
  page,
  pageOf,
  summarizeFlow,
  viewFlow,
} from "./views.ts";

const tag = "flows";
const next = cursorFor("flow");
const scope = "admin" as const;

const newNode = nodeSchema.partial({ id: true, slug: true, position: true, parameters: true });
const newEdge = edgeSchema.partial({ id: true });
const newFlow = z.strictObject({
  name: flowDraftSchema.shape.name,
  description: flowDraftSchema.shape.description.unwrap().optional(),
  nodes: z.array(newNode).optional(),
  edges: z.array(newEdge).optional(),
});
const version = z.int().min(1);
const versionView = z.object({
  version: z.int(),
  note: z.string(),
  created_by: z.string(),
  created_at: z.iso.datetime(),
});

export interface FlowRoutes {
  flows: Flows;
  store: Pick<Store, "getApp" | "getFlow" | "listVersions" | "getVersion">;
}

export function flowRoutes({ flows, store }: FlowRoutes): Route[] {
  const answer = { status: 200, schema: flowView, etag: true };
  const created = { ...answer, status: 201 };
  const saved = (flow: DescribedFlow, status: 200 | 201 = 200) => ({
    status,
    json: viewFlow(flow),
    etag: flow.revision,
  });
  const placeOf = ({ tenant, param, ifMatch }: RouteRequest<unknown, unknown>) => ({
    tenant,
    id: param("flow"),
    ifRevision: ifMatch,
  });
  /** The versions of one that was deleted stay for its runs, and are nobody else's. */
  const mustBeThere = async (tenant: string, id: string): Promise<void> => {
    if (!(await store.getFlow(tenant, id)))
      throw new RequestError("not_found", "flow", `There is no flow ${id}.`);
  };

  return [
    defineRoute({
      method: "get",
      path: "/api/apps/:app/flows",
      summary: "List an app's flows, without their graphs",
      tag,
      scope,
      query: z.strictObject({ limit: limitQuery, cursor: next.query }),
      answer: { status: 200, schema: pageOf(flowSummary) },
      async handle({ tenant, param, query: { limit, cursor } }) {
        const app = param("app");
        if (!(await store.getApp(tenant, app)))
          throw new RequestError("not_found", "app", `There is no app ${app}.`);
        const found = await flows.list(tenant, { app, after: cursor, limit });
        return { json: page(found, limit, ({ id }) => next.of(id), summarizeFlow) };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/apps/:app/flows",
      summary: "Make a flow",
      tag,
      scope,
      body: newFlow,
      answer: created,
      handle: async ({ tenant, param, body }) =>
        saved(await flows.create(tenant, param("app"), body), 201),
    }),
    defineRoute({
      method: "post",
      path: "/api/apps/:app/flows/import",
      summary: "Make a flow out of an exported file, in today's form or an older one",
      tag,
      scope,
      body: z.record(z.string(), z.json()),
      answer: { ...created, schema: flowView.extend({ notes: z.array(z.string()) }) },
      async handle({ tenant, param, body }) {
        const { flow, notes } = await flows.import(tenant, param("app"), body);
        return { ...saved(flow, 201), json: { ...viewFlow(flow), notes } };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/flows/:flow",
      summary: "Get a flow",
      tag,
      scope,
      answer,
      handle: async ({ tenant, param }) => saved(await flows.get(tenant, param("flow"))),
    }),
    defineRoute({
      method: "put",
      path: "/api/flows/:flow",
      summary: "Replace a flow's draft",
      tag,
      scope,
      ifMatch: true,
      body: newFlow,
      answer,
      handle: async (asked) =>
        saved(
          await flows.change(placeOf(asked), {
            description: "",
            nodes: [],
            edges: [],
            ...asked.body,
          }),
        ),
    }),
    defineRoute({
      method: "patch",
      path: "/api/flows/:flow",
      summary: "Change parts of a flow's draft",
      tag,
      scope,
      ifMatch: true,
      body: newFlow.partial(),
      answer,
      handle: async (asked) => saved(await flows.change(placeOf(asked), asked.body)),
    }),
    defineRoute({
      method: "delete",
      path: "/api/flows/:flow",
      summary: "Delete a flow; runs that are under way come to their end",
      tag,
      scope,
      ifMatch: true,
      answer: { status: 204 },
      async handle(asked) {
        await flows.remove(placeOf(asked));
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/flows/:flow/export",
      summary: "Export a flow as one JSON file",
      tag,
      scope,
      answer: { status: 200, schema: flowDraftSchema },
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
      summary: "Make a version of the draft, and let it run",
      tag,
      scope,
      ifMatch: true,
      body: z.strictObject({ note: z.string().max(1000).default("") }),
      answer,
      handle: async (asked) =>
        saved(
          await flows.publish(placeOf(asked), { note: asked.body.note, by: asked.access.name }),
        ),
    }),
    defineRoute({
      method: "get",
      path: "/api/flows/:flow/versions",
      summary: "List a flow's versions, newest first",
      tag,
      scope,
      answer: { status: 200, schema: z.object({ items: z.array(versionView) }) },
      async handle({ tenant, param }) {
        await mustBeThere(tenant, param("flow"));
        const versions = await store.listVersions(tenant, param("flow"));
        return {
          json: {
            items: versions.map(({ created_at, ...rest }) => ({
              ...rest,
              created_at: new Date(created_at).toISOString(),
            })),
          },
        };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/flows/:flow/versions/:version",
      summary: "Get the graph of a version",
      tag,
      scope,
      answer: { status: 200, schema: flowDraftSchema.pick({ nodes: true, edges: true }) },
      async handle({ tenant, param }) {
        await mustBeThere(tenant, param("flow"));
        const wanted = version.safeParse(Number(param("version"))).data;
        const graph = wanted && (await store.getVersion(tenant, param("flow"), wanted));
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
      summary: "Publish an older version again",
      tag,
      scope,
      ifMatch: true,
      body: z.strictObject({ version }),
      answer,
      handle: async (asked) =>
        saved(await flows.rollBack(placeOf(asked), asked.body.version, asked.access.name)),
    }),
    defineRoute({
      method: "post",
      path: "/api/flows/:flow/nodes",
      summary: "Add a node",
      tag,
      scope,
      ifMatch: true,
      body: newNode,
      answer: created,
      handle: async (asked) => saved(await flows.addNode(placeOf(asked), asked.body), 201),
    }),
    defineRoute({
      method: "patch",
      path: "/api/flows/:flow/nodes/:node",
      summary: "Change a node; another name rewrites every reference to it",
      tag,
      scope,
      ifMatch: true,
      body: nodeSchema.pick({ name: true, position: true, parameters: true }).partial(),
      answer,
      handle: async (asked) =>
        saved(await flows.changeNode(placeOf(asked), asked.param("node"), asked.body)),
    }),
    defineRoute({
      method: "delete",
      path: "/api/flows/:flow/nodes/:node",
      summary: "Remove a node and its edges",
      tag,
      scope,
      ifMatch: true,
      answer,
      handle: async (asked) => saved(await flows.removeNode(placeOf(asked), asked.param("node"))),
    }),
    defineRoute({
      method: "post",
      path: "/api/flows/:flow/edges",
      summary: "Add an edge",
      tag,
      scope,
      ifMatch: true,
      body: newEdge,
      answer: created,
      handle: async (asked) => saved(await flows.addEdge(placeOf(asked), asked.body), 201),
    }),
    defineRoute({
      method: "delete",
      path: "/api/flows/:flow/edges/:edge",
      summary: "Remove an edge",
      tag,
      scope,
      ifMatch: true,
      answer,
      handle: async (asked) => saved(await flows.removeEdge(placeOf(asked), asked.param("edge"))),
    }),
  ];
}
