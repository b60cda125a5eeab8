import { expect, it } from "vitest";
import { flowRoutes } from "./flow-routes.ts";
import { openApiRoute } from "./openapi.ts";
import type { Route } from "./route.ts";
import { runRoutes } from "./run-routes.ts";

interface Operation {
  parameters: { name: string; in: string }[];
  responses: Record<string, Response>;
}
interface Response {
  headers?: Record<string, object>;
  content?: Record<string, { schema: { properties: object } }>;
}

const flow = { revision: 7, graph: { nodes: [], edges: [] }, created_at: 0, updated_at: 0 };
/** Every method returns `flow`, except these. */
const results = { list: [], import: { flow, notes: [] }, listVersions: [] };
const services = new Proxy(results, {
  get: (given, name) => async () => Reflect.get(given, name) ?? flow,
}) as never;
const routesOfFlows = flowRoutes({ flows: services, store: services });
const routesOfRuns = runRoutes({} as never);
const answer = await openApiRoute([...routesOfFlows, ...routesOfRuns], "1").handle({} as never);
const { paths } = (answer as { json: { paths: Record<string, Record<string, Operation>> } }).json;
const documented = ({ method, path }: Route): Operation =>
  paths[path.replace(/:([a-z]+)/g, "{$1}")]?.[method] as Operation;

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
  expect(Object.keys(responses)).toEqual(["200", "202", "default"]);
  expect(fieldsOf(responses["200"])).toEqual([...fieldsOf(responses["202"]), "steps"]);
});
