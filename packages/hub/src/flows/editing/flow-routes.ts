/** Routes of flows: drafts, which can be edited as a whole or by node and edge, and published versions. */

import { flowApi, flowCursors } from "@signalbox/contract/flows.ts";
import { z } from "zod";
import { iso, isoOrNull } from "../../kernel/http/paging.ts";
import { implement, type Route } from "../../kernel/http/route.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Store } from "../../store.ts";
import { summarizeFlow, summarizeRun, viewFlow } from "../views.ts";
import type { DescribedFlow, Flows } from "./flows.ts";

const cursorAfter = ({ flows, hasMore }: Awaited<ReturnType<Flows["list"]>>): string | null => {
  const last = hasMore ? flows.at(-1) : undefined;
  return last ? flowCursors.of(last.id) : null;
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
  const respondWith = (flow: DescribedFlow) => ({ json: viewFlow(flow), etag: flow.revision });
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
    implement(flowApi.list, async ({ tenant, query: { limit, cursor, app } }) => {
      const listed = await flows.list(tenant, { app, after: cursor, limit });
      const ids = listed.flows.map(({ id }) => id);
      const runs = await store.lastRuns(tenant, ids);
      const lastRun = new Map(runs.map((run) => [run.flow_id, summarizeRun(run)]));
      const items = listed.flows.map((flow) => ({
        ...summarizeFlow(flow),
        last_run: lastRun.get(flow.id) ?? null,
      }));
      return { json: { items, next_cursor: cursorAfter(listed) } };
    }),
    implement(flowApi.listOfApp, async ({ tenant, param, query: { limit, cursor } }) => {
      const app = param("app");
      if (!(await store.getApp(tenant, app)))
        throw new RequestError("not_found", "app", `There is no app ${app}.`);
      const listed = await flows.list(tenant, { app, after: cursor, limit });
      return {
        json: { items: listed.flows.map(summarizeFlow), next_cursor: cursorAfter(listed) },
      };
    }),
    implement(flowApi.create, async ({ tenant, param, body }) =>
      respondWith(await flows.create(tenant, param("app"), body)),
    ),
    implement(flowApi.import, async ({ tenant, param, body }) => {
      const { flow, notes } = await flows.import(tenant, param("app"), body);
      return { ...respondWith(flow), json: { ...viewFlow(flow), notes } };
    }),
    implement(flowApi.get, async ({ tenant, param }) =>
      respondWith(await flows.get(tenant, param("flow"))),
    ),
    implement(flowApi.replace, async (request) =>
      respondWith(
        await flows.change(flowRef(request), {
          description: "",
          nodes: [],
          edges: [],
          ...request.body,
        }),
      ),
    ),
    implement(flowApi.change, async (request) =>
      respondWith(await flows.change(flowRef(request), request.body)),
    ),
    implement(flowApi.remove, async (request) => {
      await flows.remove(flowRef(request));
    }),
    implement(flowApi.export, async ({ tenant, param }) => {
      const { name, description, graph } = await flows.get(tenant, param("flow"));
      return {
        json: { name, description, ...graph },
        headers: { "content-disposition": 'attachment; filename="flow.json"' },
      };
    }),
    implement(flowApi.publish, async (request) =>
      respondWith(
        await flows.publish(flowRef(request), {
          note: request.body.note,
          by: request.access.name,
        }),
      ),
    ),
    implement(flowApi.listTriggers, async ({ tenant, param }) => {
      await assertFlowExists(tenant, param("flow"));
      const triggers = await store.listTriggerStates(tenant, param("flow"));
      const items = triggers.map(({ next_at, last_fired_at, ...trigger }) => ({
        ...trigger,
        last_fired_at: isoOrNull(last_fired_at),
        next_fire_at: isoOrNull(next_at),
      }));
      return { json: { items } };
    }),
    implement(flowApi.listVersions, async ({ tenant, param }) => {
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
    }),
    implement(flowApi.getVersion, async ({ tenant, param }) => {
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
    }),
    implement(flowApi.rollBack, async (request) =>
      respondWith(
        await flows.rollBack(flowRef(request), request.body.version, request.access.name),
      ),
    ),
    implement(flowApi.addNode, async (request) =>
      respondWith(await flows.addNode(flowRef(request), request.body)),
    ),
    implement(flowApi.changeNode, async (request) =>
      respondWith(await flows.changeNode(flowRef(request), request.param("node"), request.body)),
    ),
    implement(flowApi.replaceNode, async (request) =>
      respondWith(await flows.replaceNode(flowRef(request), request.param("node"), request.body)),
    ),
    implement(flowApi.removeNode, async (request) =>
      respondWith(await flows.removeNode(flowRef(request), request.param("node"))),
    ),
    implement(flowApi.addEdge, async (request) =>
      respondWith(await flows.addEdge(flowRef(request), request.body)),
    ),
    implement(flowApi.removeEdge, async (request) =>
      respondWith(await flows.removeEdge(flowRef(request), request.param("edge"))),
    ),
  ];
}
