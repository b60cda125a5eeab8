import { expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { type ApiRequest, createClient } from "./client.ts";
import { limitQuery, pageOf } from "./paging.ts";
import { route } from "./route.ts";

const lampView = z.object({ id: z.string(), aspect: z.enum(["green", "red"]) });
const lamps = {
  list: route({
    method: "get",
    path: "/lamps",
    summary: "List lamps",
    tag: "meta",
    scope: "admin",
    query: z.strictObject({
      limit: limitQuery,
      cursor: z.string().optional(),
      sort: z.enum(["name", "id"]).optional(),
    }),
    response: { status: 200, schema: pageOf(lampView) },
  }),
  change: route({
    method: "patch",
    path: "/lines/:line/lamps/:lamp",
    summary: "Change a lamp",
    tag: "meta",
    scope: "admin",
    ifMatch: true,
    body: z.strictObject({ aspect: lampView.shape.aspect }),
    response: { status: 200, schema: lampView },
  }),
  remove: route({
    method: "delete",
    path: "/lamps/:lamp",
    summary: "Remove a lamp",
    tag: "meta",
    scope: "admin",
    response: { status: 204 },
  }),
};
type Lamps = (typeof lamps)[keyof typeof lamps];
type Lamp = z.output<typeof lampView>;

const setup = (...responses: unknown[]) => {
  const requests: ApiRequest[] = [];
  const client = createClient<Lamps>(async (request) => {
    requests.push(request);
    return responses.shift();
  });
  return { client, requests };
};

it("sends a request with the parameters in the path, encoded", async () => {
  const { client, requests } = setup({ id: "a/b", aspect: "red" });
  const lamp = await client.patch("/lines/:line/lamps/:lamp", {
    params: { line: "north", lamp: "a/b" },
    body: { aspect: "red" },
    ifMatch: 3,
  });
  expectTypeOf(lamp).toEqualTypeOf<Lamp>();
  expect(lamp).toEqual({ id: "a/b", aspect: "red" });
  expect(requests).toEqual([
    { method: "PATCH", path: "/lines/north/lamps/a%2Fb", body: { aspect: "red" }, ifMatch: 3 },
  ]);
});

it("reads all pages of a list", async () => {
  const [a, b] = [
    { id: "a", aspect: "red" },
    { id: "b", aspect: "green" },
  ];
  const { client, requests } = setup(
    { items: [a], next_cursor: "1" },
    { items: [b], next_cursor: null },
  );
  const all = await client.all("/lamps");
  expectTypeOf(all).toEqualTypeOf<Lamp[]>();
  expect(all).toEqual([a, b]);
  expect(requests.map(({ query }) => query)).toEqual([{ limit: 100 }, { limit: 100, cursor: "1" }]);
});

it("accepts only requests of the routes", () => {
  const { client } = setup();
  expectTypeOf(client.delete<"/lamps/:lamp">).returns.resolves.toEqualTypeOf<undefined>();
  // @ts-expect-error No route has this path.
  void (() => client.get("/lights"));
  // @ts-expect-error The parameter is missing.
  void (() => client.delete("/lamps/:lamp"));
  // @ts-expect-error The route has no parameter of this name.
  void (() => client.delete("/lamps/:lamp", { params: { light: "a" } }));
  const params = { line: "north", lamp: "a" };
  // @ts-expect-error The body does not match its schema.
  void (() => client.patch("/lines/:line/lamps/:lamp", { params, body: {} }));
  // @ts-expect-error The query has no field of this name.
  void (() => client.get("/lamps", { query: { colour: "red" } }));
  // @ts-expect-error The route does not support `If-Match`.
  void (() => client.delete("/lamps/:lamp", { params: { lamp: "a" }, ifMatch: 1 }));
});
