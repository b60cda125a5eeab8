import { route } from "@signalbox/contract/route.ts";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { sourceRoutes } from "../../events/endpoints/source-routes.ts";
import { createAuthorizeRequest } from "../access/authorize-request.ts";
import { createAuthorizer } from "../access/authorizer.ts";
import type { Problem } from "../lib/problem.ts";
import { RequestError } from "../lib/request-error.ts";
import { implement, mountRoutes, type Route } from "./route.ts";

const access = { token: "t", name: "Ada", scopes: ["admin" as const], tenants: ["acme"] };
const createApp = (routes: Route[], tenants = access.tenants) => {
  const app = new Hono();
  mountRoutes(app, routes, async () => ({ ...access, tenants }));
  return app;
};
/** The fields of a route that the tests do not concern. */
const base = {
  method: "put",
  path: "/api/things/:thing",
  summary: "",
  tag: "meta",
  scope: "admin",
  response: { status: 204 },
} as const;

describe("a route", () => {
  const echo = implement(
    route({
      ...base,
      ifMatch: true,
      query: z.strictObject({ deep: z.string().optional() }),
      body: z.strictObject({ name: z.string(), list: z.array(z.int()).optional() }),
      response: { status: 200, schema: z.unknown(), etag: true },
    }),
    async ({ tenant, param, query, body, ifMatch }) => ({
      json: { tenant, thing: param("thing"), query, body, ifMatch },
      etag: 7,
    }),
  );
  const put = (body: string, headers: Record<string, string> = {}, query = "") =>
    createApp([echo]).request(`/api/things/a%20b${query}`, { method: "PUT", body, headers });

  it("receives the parsed request and its tenant", async () => {
    const answer = await put('{"name":"x"}', { "if-match": 'W/"3"' }, "?deep=1&tenant=acme");
    expect(answer.headers.get("etag")).toBe('"7"');
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(await answer.json()).toEqual({
      tenant: "acme",
      thing: "a b",
      query: { deep: "1" },
      body: { name: "x" },
      ifMatch: 3,
    });
    expect(await (await put('{"name":"x"}', { "if-match": "*" })).json()).not.toHaveProperty(
      "ifMatch",
    );
  });

  it("rejects a list that is too long before it validates the items", async () => {
    const answer = await put(`{"name":"x","list":${JSON.stringify(Array(1_001).fill("x"))}}`);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      errors: [{ path: "list", message: "must have at most 1000 items, but has 1001" }],
    });
  });

  it("lists 20 problems and counts the others", async () => {
    const answer = await put(`{"name":"x","list":${JSON.stringify(Array(1_000).fill("x"))}}`);
    const { errors, detail } = (await answer.json()) as Problem;
    expect(errors).toHaveLength(20);
    expect(detail).toMatch(/^list\.0: .*; and 980 more$/);
  });

  it("accepts a larger body if the body contains flows", async () => {
    const body = `{"name":"${"x".repeat(2 * 1024 * 1024)}"}`;
    const send = (hasFlows: boolean) =>
      createApp([{ ...echo, hasFlows }]).request("/api/things/a", { method: "PUT", body });
    expect((await send(false)).status).toBe(413);
    expect((await send(true)).status).toBe(200);
  });

  it("accepts more values in the body if the body contains flows", async () => {
    const send = (hasFlows: boolean, values: number) =>
      createApp([{ ...echo, hasFlows }]).request("/api/things/a", {
        method: "PUT",
        body: `{"name":"x","more":[${"{},".repeat(values)}{}]}`,
      });
    const detailOf = async (answer: Response) => ((await answer.json()) as Problem).detail;
    expect(await detailOf(await send(false, 60_000))).toContain("more than 50000 values");
    expect(await detailOf(await send(true, 60_000))).not.toContain("values");
    expect(await detailOf(await send(true, 110_000))).toContain("more than 100000 values");
  });

  it("rejects ?tenant=* unless `everyTenant` is set", async () => {
    const request = (everyTenant: boolean) =>
      createApp([{ ...echo, everyTenant }], ["*"]).request("/api/things/a?tenant=*", {
        method: "PUT",
        body: '{"name":"x"}',
      });
    expect((await request(true)).status).toBe(200);
    const rejected = await request(false);
    expect(rejected.status).toBe(400);
    expect(await rejected.json()).toMatchObject({ errors: [{ path: "tenant" }] });
  });

  it.each([
    ['{"name":5}', ["name"]],
    ['{"name":5,"list":["a"],"more":1,"others":2}', ["name", "list.0", "more", "others"]],
    ["[]", ["body"]],
    ["{", ["body"]],
  ])("rejects %s with an error for each invalid field", async (body, paths) => {
    const answer = await put(body);
    expect(answer.status).toBe(400);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    const { errors, code, detail } = (await answer.json()) as {
      errors: { path: string }[];
      code: string;
      detail: string;
    };
    expect(code).toBe("invalid");
    expect(errors.map(({ path }) => path)).toEqual(paths);
    for (const path of paths) expect(detail).toContain(path);
  });

  it("ignores If-Match unless `ifMatch` is set", async () => {
    const app = createApp([implement(base, async () => {})]);
    const init = { method: "PUT", headers: { "if-match": '"an ETag of another server"' } };
    expect((await app.request("/api/things/x", init)).status).toBe(204);
    const rejected = await put('{"name":"x"}', init.headers);
    expect(await rejected.json()).toMatchObject({ status: 400, errors: [{ path: "If-Match" }] });
  });

  it("rejects a token for several tenants without ?tenant=", async () => {
    const app = createApp([echo], ["acme", "umbrella"]);
    const answer = await app.request("/api/things/x", { method: "PUT", body: "{}" });
    expect(await answer.json()).toMatchObject({ status: 400, errors: [{ path: "tenant" }] });
  });

  it("with `isShared` needs no ?tenant=", async () => {
    const routes = [implement({ ...base, isShared: true }, async () => {})];
    for (const [tenants, query, status] of [
      [["acme", "umbrella"], "", 204],
      [["*"], "", 204],
      // The token does not include the tenant.
      [["acme"], "?tenant=strangers", 403],
    ] as const) {
      const app = new Hono();
      const token = {
        id: "t",
        kind: "token" as const,
        parent: null,
        last_used_at: null,
        person: null,
        resource: null,
        name: "Ada",
        hash: "",
        scopes: ["admin" as const],
        tenants: [...tenants],
        created_at: 0,
        expires_at: null,
        revoked_at: null,
      };
      const authorizer = createAuthorizer({
        store: { findToken: async () => token, getToken: async () => token },
        now: () => 0,
        everyTenant: undefined,
      });
      mountRoutes(app, routes, createAuthorizeRequest({ authorizer, checkHost: () => undefined }));
      const answer = await app.request(`/api/things/x${query}`, {
        method: "PUT",
        headers: { authorization: "Bearer t" },
      });
      expect(answer.status).toBe(status);
    }
  });

  it("does not compile if the result of its handler does not match the contract", () => {
    const lamp = route({
      ...base,
      response: { status: 200, schema: z.object({ id: z.string() }) },
    });
    implement(lamp, async () => ({ json: { id: "a" } }));
    // @ts-expect-error The property `id` is missing.
    implement(lamp, async () => ({ json: {} }));
    // @ts-expect-error The contract describes no body.
    implement(base, async () => ({ json: { id: "a" } }));
    // @ts-expect-error The path has no parameter `lamp`.
    implement(lamp, async ({ param }) => ({ json: { id: param("lamp") } }));
  });

  it("maps a RequestError to a status, and rethrows other errors", async () => {
    const requestThatThrows = async (error: Error) => {
      const app = createApp([implement(base, () => Promise.reject(error))]);
      app.onError(({ message }) => new Response(message, { status: 500 }));
      return app.request("/api/things/x", { method: "PUT" });
    };
    const statuses = { not_found: 404, conflict: 409, changed: 409, forbidden: 403, busy: 429 };
    for (const [code, status] of Object.entries(statuses))
      expect(
        (await requestThatThrows(new RequestError(code as "busy", "x", "message"))).status,
      ).toBe(status);
    const other = await requestThatThrows(new Error("disk"));
    expect([other.status, await other.text()]).toEqual([500, "disk"]);
  });
});

it("returns the URL of an endpoint with the public URL if it is set", async () => {
  const source = {
    id: "s",
    tenant: "acme",
    kind: "github",
    name: "Repo",
    key: "k",
    config: {},
    secrets: [],
    created_at: 0,
  };
  const urlWith = async (publicUrl: string | undefined) => {
    const store = { listSources: async () => [source] } as never;
    const app = createApp(sourceRoutes({ store, publicUrl } as never));
    const { items } = (await (await app.request("http://here:1/api/sources")).json()) as {
      items: { url: string }[];
    };
    return items[0]?.url;
  };
  expect(await urlWith(undefined)).toBe("http://here:1/webhooks/github/k");
  expect(await urlWith("https://hub.example/")).toBe("https://hub.example/webhooks/github/k");
});
