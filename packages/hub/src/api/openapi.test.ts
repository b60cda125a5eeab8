import { Hono } from "hono";
import { expect, it } from "vitest";
import { Denied } from "../tenants/authorizer.ts";
import { flowRoutes } from "./flow-routes.ts";
import { addOpenApiRoute, openApi } from "./openapi.ts";
import type { Route } from "./route.ts";
import { runRoutes } from "./run-routes.ts";
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
const flow = { revision: 7, graph, schedules: [], ...findings, created_at: 0, updated_at: 0 };
/** Every method returns `flow`, except these. */
const results = {
  list: { flows: [], hasMore: false },
  import: { flow, notes: [] },
  listVersions: [],
  lastRuns: [],
  listTriggerStates: [],
};
const services = new Proxy(results, {
  get: (given, name) => async () => Reflect.get(given, name) ?? flow,
}) as never;
const routesOfFlows = flowRoutes({ flows: services, store: services });
const routesOfRuns = runRoutes({} as never);
const routesOfStats = statsRoutes({} as never, Date.now, null);
const { paths } = openApi({
  routes: [...routesOfFlows, ...routesOfRuns, ...routesOfStats],
  version: "1",
});
const documented = ({ method, path }: Route): Operation =>
  paths[path.replace(/:([a-z]+)/g, "{$1}")]?.[method] as unknown as Operation;

it.each(routesOfFlows.map((route) => [`${route.method} ${route.path}`, route] as const))(
  "documents whether %s supports If-Match and returns an ETag",
  async (_, route) => {
    let readsIfMatch = false;
    const answer = await route.handle({
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
    const { parameters, responses } = documented(route);
    const headers = parameters.filter((one) => one.in === "header").map(({ name }) => name);
    expect(headers).toEqual(readsIfMatch ? ["If-Match"] : []);
    const isTagged = "etag" in answer && answer.etag === 7;
    expect(Object.keys(responses[route.response.status]?.headers ?? {})).toEqual(
      isTagged ? ["ETag"] : [],
    );
  },
);

it("documents both responses of starting a run", () => {
  const [start] = routesOfRuns;
  if (!start) throw new Error("no route");
  const fieldsOf = (response: Response | undefined) =>
    Object.keys(response?.content?.["application/json"]?.schema.properties ?? {});
  const { responses } = documented(start);
  expect(Object.keys(responses)).toEqual(["200", "202", "4XX", "5XX"]);
  expect(fieldsOf(responses["200"])).toEqual([
    ...fieldsOf(responses["202"]),
    "steps",
    "next_cursor",
  ]);
});

it("declares every property that the statistics require", () => {
  const [stats] = routesOfStats;
  if (!stats) throw new Error("no route");
  const schema = documented(stats).responses["200"]?.content?.["application/json"]?.schema;
  const { runs } = (schema?.properties ?? {}) as {
    runs: { required: string[]; properties: object };
  };
  expect(runs.required).toContain("succeeded");
  expect(Object.keys(runs.properties)).toEqual(runs.required);
});

it("is served without a token to requests for this hub, with the hub's URL as its server", async () => {
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
