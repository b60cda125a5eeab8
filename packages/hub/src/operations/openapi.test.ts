import { openApi } from "@signalbox/contract/openapi.ts";
import { Hono } from "hono";
import { expect, it } from "vitest";
import { flowRoutes } from "../flows/editing/flow-routes.ts";
import { runRoutes } from "../flows/runs/run-routes.ts";
import { Denied } from "../kernel/access/authorizer.ts";
import type { Route } from "../kernel/http/route.ts";
import { addOpenApiRoute } from "./openapi.ts";
import { statsRoutes } from "./stats-routes.ts";

interface Operation {
  parameters: { name: string; in: string }[];
  responses: Record<string, Response>;
}
interface Response {
  headers?: Record<string, object>;
  content?: Record<string, { schema: { properties: object } }>;
}

const graph = { nodes: [], edges: [] };
const findings = { errors: [], warnings: [] };
const lists = { schedules: [], exposedTools: [], listensTo: [] };
const flow = { revision: 7, graph, ...lists, ...findings, created_at: 0, updated_at: 0 };
/** The results of methods that do not return `flow`. */
const results = {
  list: { flows: [], hasMore: false },
  import: { flow, notes: [] },
  listVersions: [],
  lastRuns: [],
  listTriggerStates: [],
};
const services = new Proxy(results, {
  get: (target, name) => async () => Reflect.get(target, name) ?? flow,
}) as never;
const allFlowRoutes = flowRoutes({ flows: services, store: services });
const allRunRoutes = runRoutes({} as never);
const allStatsRoutes = statsRoutes({} as never, Date.now, null);
const { paths } = openApi({
  routes: [...allFlowRoutes, ...allRunRoutes, ...allStatsRoutes],
  version: "1",
});
const operationOf = ({ method, path }: Route): Operation =>
  paths[path.replace(/:([a-z]+)/g, "{$1}")]?.[method] as unknown as Operation;

it.each(allFlowRoutes.map((route) => [`${route.method} ${route.path}`, route] as const))(
  "documents whether %s supports If-Match and returns an ETag",
  async (_, route) => {
    let readsIfMatch = false;
    const result = await route.handle({
      tenant: "acme",
      access: { name: "Ada" },
      param: () => "1",
      query: { limit: 20 },
      body: { version: 1, note: "" },
      get ifMatch() {
        readsIfMatch = true;
        return 7;
      },
    } as never);
    const { parameters, responses } = operationOf(route);
    const headers = parameters
      .filter((parameter) => parameter.in === "header")
      .map(({ name }) => name);
    expect(headers).toEqual(readsIfMatch ? ["If-Match"] : []);
    const isTagged = result && "etag" in result && result.etag === 7;
    expect(Object.keys(responses[route.response.status]?.headers ?? {})).toEqual(
      isTagged ? ["ETag"] : [],
    );
  },
);

it("documents both responses of the route that starts a run", () => {
  const [start] = allRunRoutes;
  if (!start) throw new Error("no route");
  const fieldsOf = (response: Response | undefined) =>
    Object.keys(response?.content?.["application/json"]?.schema.properties ?? {});
  const { responses } = operationOf(start);
  expect(Object.keys(responses)).toEqual(["200", "202", "4XX", "5XX"]);
  expect(fieldsOf(responses["200"])).toEqual([
    ...fieldsOf(responses["202"]),
    "steps",
    "next_cursor",
  ]);
});

it("declares every property that the statistics require", () => {
  const [stats] = allStatsRoutes;
  if (!stats) throw new Error("no route");
  const schema = operationOf(stats).responses["200"]?.content?.["application/json"]?.schema;
  const { runs } = (schema?.properties ?? {}) as {
    runs: { required: string[]; properties: object };
  };
  expect(runs.required).toContain("succeeded");
  expect(Object.keys(runs.properties)).toEqual(runs.required);
});

it("serves the document without a token to requests for this hub, with the hub's URL as its server", async () => {
  const serve = (publicUrl: string | undefined, denied?: Denied) => {
    const app = new Hono();
    addOpenApiRoute(app, { routes: [], version: "1", checkHost: () => denied, publicUrl });
    return app.request("http://here:1/api/openapi.json");
  };
  expect(await (await serve(undefined)).json()).toMatchObject({
    servers: [{ url: "http://here:1" }],
  });
  expect(await (await serve("https://hub.example/")).json()).toMatchObject({
    servers: [{ url: "https://hub.example" }],
  });
  expect((await serve(undefined, new Denied(421, "wrong_host", "…"))).status).toBe(421);
});
