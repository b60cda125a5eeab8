import { expect, it } from "vitest";
import { flowRoutes } from "./flow-routes.ts";

it("validates the body of an import without reading the values of the flow, which would block the hub", () => {
  const route = flowRoutes({} as never).find(({ path }) => path.endsWith("/flows/import"));
  const node = new Proxy({}, { ownKeys: () => expect.unreachable("the node was read") });
  expect(route?.body?.safeParse({ graph: { nodes: [node] } }).success).toBe(true);
  for (const body of [[], "text", null]) expect(route?.body?.safeParse(body).success).toBe(false);
});
