import { expect, it } from "vitest";
import { flowRoutes } from "./flow-routes.ts";

it("does not visit each value of an imported flow, which would block the hub", () => {
  const route = flowRoutes({} as never).find(({ path }) => path.endsWith("/flows/import"));
  const unread = new Proxy({}, { ownKeys: () => expect.unreachable("it was read") });
  expect(route?.body?.safeParse({ graph: { nodes: [unread] } }).success).toBe(true);
  for (const body of [[], "text", null]) expect(route?.body?.safeParse(body).success).toBe(false);
});
