/** Authorization of the API, its responses to invalid requests, and its OpenAPI document. */
import { describe, expect, it } from "vitest";
import { type Api, type Backend, startApi } from "../support/api-client.ts";
import { deliver } from "../support/deliver.ts";
import { greeting, intent } from "../support/flow-samples.ts";

/** A connection to an address that the hub refuses, so that its check fails immediately. */
const UNREACHABLE = { name: "New", url: "https://127.0.0.1/mcp" };

/** Larger than the body limit of every route under /api. */
const HUGE = 9 * 1024 * 1024;

/** Routes whose response never ends. */
const STREAMS = ["/events", "/api/live"];

/** Lists the operations of the OpenAPI document, with `ids` in their paths, without `STREAMS`. */
async function listOperations(api: Api, ids: Record<string, string> = {}) {
  const { paths } = (await api.expect(200, "GET", "/api/openapi.json")).json;
  return Object.entries<Record<string, Operation>>(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(() => !STREAMS.includes(path))
      .map(([method, { security }]) => ({
        method: method.toUpperCase(),
        route: path,
        path: path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(ids[name] ?? "none")),
        scope: security[0]?.token?.[0],
        /** Whether a token of any scope may call the route. */
        isForAnyScope: security[0]?.token?.length === 0,
      })),
  );
}

/** Lists the operations that require a token with a certain scope. */
const listScopedOperations = async (api: Api, ids: Record<string, string>) =>
  (await listOperations(api, ids)).filter(({ scope }) => scope !== undefined);

/** Creates one object of every kind except events, and returns their ids by path parameter. */
async function createObjects(api: Api, tenant = ""): Promise<Record<string, string>> {
  await api.expect(201, "POST", `/api/apps${tenant}`, { slug: "desk", name: "Desk" });
  const flow = (await api.expect(201, "POST", `/api/apps/desk/flows${tenant}`, greeting)).json;
  await api.expect(200, "POST", `/api/flows/${flow.id}/publish${tenant}`);
  // `wait=1` waits for the end of the run. Later reads then return the same run.
  const runs = `/api/flows/${flow.id}/runs?wait=1${tenant.replace("?", "&")}`;
  const run = await api.expect(200, "POST", runs, {
    trigger: "say_hello",
    input: { who: "you" },
  });
  await api.expect(204, "PUT", `/api/secrets/KEY${tenant}`, { value: "hidden value" });
  const source = await api.expect(201, "POST", `/api/sources${tenant}`, { kind: "stripe" });
  const token = await api.expect(201, "POST", `/api/tokens${tenant}`, { name: "existing" });
  const connection = await api.expect(201, "POST", `/api/connections${tenant}`, UNREACHABLE);
  return {
    tenant: "local",
    app: "desk",
    flow: flow.id,
    node: "end",
    edge: flow.edges[0].id,
    version: "1",
    run: run.json.id,
    name: "KEY",
    source: source.json.id,
    token: token.json.id,
    connection: connection.json.id,
  };
}

/** Valid bodies, for routes that require one. */
const bodies: Record<string, unknown> = {
  "POST /api/samples": { source: "github" },
  "POST /api/apps": { slug: "new", name: "New" },
  "POST /api/apps/{app}/flows": { name: "New" },
  "POST /api/apps/{app}/flows/import": { name: "New" },
  "POST /api/apps/{app}/import": { flows: [] },
  "PUT /api/flows/{flow}": { name: "New" },
  "PUT /api/flows/{flow}/nodes/{node}": { parameters: {} },
  "POST /api/flows/{flow}/rollback": { version: 1 },
  "POST /api/flows/{flow}/nodes": intent("New"),
  "POST /api/flows/{flow}/edges": { source: "end", target: "end" },
  "POST /api/flows/{flow}/runs": { trigger: "say_hello", input: { who: "me" } },
  "PUT /api/secrets/{name}": { value: "mine, and hidden" },
  "POST /api/sources": { kind: "github" },
  "POST /api/tokens": { name: "New" },
  "POST /api/connections": UNREACHABLE,
  "PUT /api/connections/{connection}/authorization": { state: "unknown" },
};

describe.each<Backend>(["SQLite", "workerd"])("the OpenAPI document, on %s", (backend) => {
  it("has the structure of OpenAPI 3.1", async () => {
    const api = await startApi(backend);
    const document = (await api.expect(200, "GET", "/api/openapi.json")).json;
    expect(document.openapi).toBe("3.1.0");
    expect(document.info).toMatchObject({ title: "Signalbox", version: expect.any(String) });
    const operationIds: string[] = [];
    for (const [path, methods] of Object.entries<Record<string, Operation>>(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        expect(["get", "post", "put", "patch", "delete"]).toContain(method);
        operationIds.push(operation.operationId);
        expect(operation.summary).not.toBe("");
        const namesInPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
        const pathParameters = operation.parameters.filter((parameter) => parameter.in === "path");
        expect(pathParameters.map(({ name }) => name)).toEqual(namesInPath);
        for (const parameter of operation.parameters) {
          expect(parameter).toMatchObject({ name: expect.any(String), schema: expect.anything() });
          if (parameter.in === "path") expect(parameter.required).toBe(true);
        }
        expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(["4XX", "5XX"]));
      }
    }
    expect(new Set(operationIds).size).toBe(operationIds.length);
    // Every reference can be resolved within the document.
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref);
    expect(refs.length).toBeGreaterThan(10);
    for (const ref of new Set(refs)) {
      const target = (ref ?? "")
        .slice(2)
        .split("/")
        .reduce((value, key) => value?.[key], document);
      expect(target, ref).toBeDefined();
    }
    expect(JSON.stringify(document)).not.toContain("$schema");
  });

  it("contains only routes that exist", async () => {
    const api = await startApi(backend);
    for (const { method, path, route } of await listOperations(api)) {
      const body = method === "GET" ? undefined : (bodies[`${method} ${route}`] ?? {});
      const response = await api.call(method, path, body);
      // These messages appear only if the hub does not serve the route.
      expect(response.json?.detail ?? "", `${method} ${path}`).not.toMatch(
        /^There is no route| does not support /,
      );
    }
    const unknown = await api.expect(404, "GET", "/api/nonsense");
    expect(unknown.json.detail).toMatch(/^There is no route/);
  });

  it("lists every inbox route, and can be read without a token", async () => {
    const api = await startApi(backend);
    const response = await fetch(`${api.hub.url}/api/openapi.json`);
    expect(response.status).toBe(200);
    const { paths, servers } = (await response.json()) as {
      paths: Record<string, Record<string, Operation>>;
      servers: object[];
    };
    expect(servers).toEqual([{ url: api.hub.url }]);
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining([
        "/pending-status",
        "/pending-events",
        "/webhook-events",
        "/event",
        "/mark-processed",
        "/events",
        "/webhooks/{source}",
        "/webhooks/{source}/{key}",
      ]),
    );
    expect(paths["/api/stats"]?.get?.security).toEqual([
      { token: ["inbox:read"] },
      { session: [] },
    ]);
    expect(paths["/webhooks/{source}"]?.post?.security).toEqual([]);
    for (const [path, methods] of Object.entries(paths))
      for (const { parameters } of Object.values(methods))
        for (const { name, schema } of parameters)
          if (name === "limit")
            expect(schema).toEqual({
              type: "integer",
              minimum: 1,
              maximum: 100,
              default: path.endsWith("/explain") ? 50 : 20,
            });
  });
});

it.each<Backend>(["SQLite", "workerd"])(
  "a request with an unsupported method gets 405 and the supported methods, on %s",
  async (backend) => {
    const api = await startApi(backend);
    const supported = new Map<string, string[]>(STREAMS.map((path) => [path, ["GET"]]));
    const all = await listOperations(api, { source: "github", key: "" });
    // One path can match two routes: `/api/runs/bulk` also matches `/api/runs/{run}`.
    const matchesRoute = (path: string, route: string) =>
      new RegExp(`^${route.replace(/\{\w+\}/g, "[^/]+")}$`).test(path);
    for (const { path } of all) {
      const methods = all
        .filter(({ route }) => matchesRoute(path, route))
        .map(({ method }) => method);
      supported.set(path, [...new Set(methods)]);
    }
    supported.delete("/webhooks/github/");
    for (const path of ["/", "/.well-known/oauth-protected-resource"]) supported.set(path, ["GET"]);
    for (const [path, methods] of supported)
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
        if (methods.includes(method)) continue;
        const response = await api.call(method, path, undefined, { token: "none" });
        const description = `${method} ${path}: ${response.text}`;
        expect([response.status, response.json?.code], description).toEqual([
          405,
          "method_not_allowed",
        ]);
        const allowed = response.headers.get("allow")?.split(", ") ?? [];
        expect(allowed.filter((name) => name !== "HEAD").toSorted(), description).toEqual(
          methods.toSorted(),
        );
      }
    for (const method of ["GET", "POST", "DELETE"]) await api.expect(404, method, "/api/nonsense");
  },
);

interface Operation {
  security: { token?: string[] }[];
  operationId: string;
  summary: string;
  parameters: { in: string; name: string; required: boolean; schema: object }[];
  responses: Record<string, object>;
}

describe.each<Backend>(["SQLite", "workerd"])("a token, on %s", (backend) => {
  it("grants access only to the routes of its scopes", async () => {
    const api = await startApi(backend);
    const ids = await createObjects(api);
    const all = await listScopedOperations(api, ids);
    const tokens = {
      "inbox:read": await api.token("--scope", "inbox:read"),
      "inbox:write": await api.token("--scope", "inbox:write"),
      "flows:call": await api.token("--scope", "flows:call"),
      "runs:read": await api.token("--scope", "runs:read"),
      "metrics:read": await api.token("--scope", "metrics:read"),
    };
    for (const { method, path, route, scope } of all) {
      const body =
        method === "GET" || method === "DELETE" ? undefined : bodies[`${method} ${route}`];
      for (const token of ["", "sbx_guess"])
        expect((await api.call(method, path, body, { token })).status, path).toBe(401);
      for (const [tokenScope, token] of Object.entries(tokens)) {
        if (tokenScope === scope) continue;
        const rejected = await api.call(method, path, body, { token });
        expect([rejected.status, rejected.json.code], `${tokenScope} ${method} ${path}`).toEqual([
          403,
          "insufficient_scope",
        ]);
        expect(rejected.json.detail).toContain(scope);
      }
    }
    const forAnyScope = (await listOperations(api)).filter(({ isForAnyScope }) => isForAnyScope);
    expect(forAnyScope.map(({ route }) => route)).toContain("/api/session/links");
    for (const { method, path } of forAnyScope)
      for (const token of ["", "sbx_guess"])
        expect((await api.call(method, path, undefined, { token })).status, path).toBe(401);
    // The rejected requests changed nothing.
    expect((await api.expect(200, "GET", `/api/flows/${ids.flow}`)).json.revision).toBe(2);
    const caller = { token: tokens["flows:call"] };
    const run = { trigger: "say_hello", input: { who: "me" } };
    await api.expect(202, "POST", `/api/flows/${ids.flow}/runs`, run, caller);
    // A token that may not read runs gets the result without the steps.
    const waitingPath = `/api/flows/${ids.flow}/runs?wait=1`;
    const waited = (await api.expect(200, "POST", waitingPath, run, caller)).json;
    expect(waited).toMatchObject({ status: "succeeded", output: { text: "Hello me!" } });
    expect(waited).not.toHaveProperty("steps");
    expect((await api.expect(200, "POST", waitingPath, run)).json.steps).toHaveLength(2);
    await api.expect(200, "GET", "/api/node-types", undefined, caller);
    const reader = { token: tokens["runs:read"] };
    const [listed] = (await api.expect(200, "GET", "/api/runs", undefined, reader)).json.items;
    await api.expect(200, "GET", `/api/runs/${listed.id}/steps`, undefined, reader);
    const flowWrites = all.filter(
      ({ method, path }) => method !== "GET" && path.includes("/flows/"),
    );
    const allowed = flowWrites.filter(({ scope }) => scope !== "admin").map(({ route }) => route);
    expect(allowed).toEqual(["/api/flows/{flow}/runs"]);
  });

  it("starts a disabled trigger only with the scope admin", async () => {
    const api = await startApi(backend);
    await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
    const [trigger, ...otherNodes] = greeting.nodes;
    const disabled = { ...trigger, parameters: { ...trigger?.parameters, isActive: false } };
    const flow = { ...greeting, nodes: [disabled, ...otherNodes] };
    const { id } = (await api.expect(201, "POST", "/api/apps/desk/flows", flow)).json;
    await api.expect(200, "POST", `/api/flows/${id}/publish`);
    const run = { trigger: "say_hello", input: { who: "me" } };
    const token = await api.token("--scope", "flows:call");
    const rejected = await api.expect(409, "POST", `/api/flows/${id}/runs`, run, { token });
    expect(rejected.json.detail).toBe("The trigger Say hello is not active.");
    await api.expect(202, "POST", `/api/flows/${id}/runs`, run);
  });
});

// One backend is enough here: `tenant-walk.test.ts` calls every route and tool on all backends.
describe.each<Backend>(["SQLite"])("a token of one tenant, on %s", (backend) => {
  it("neither reads nor changes data of another tenant on any route", async () => {
    const api = await startApi(backend, { SIGNALBOX_TENANCY: "github" });
    const token = await api.token("--scope", "admin", "--tenant", "2");
    const ids = await createObjects(api, "?tenant=1");
    await deliver(api.hub.url, {
      body: JSON.stringify({
        installation: { id: 7 },
        repository: { owner: { id: 1, login: "a" } },
      }),
    });
    const events = (await api.expect(200, "GET", "/api/events?tenant=1")).json.items;
    expect(events).toHaveLength(1);
    ids.event = events[0].id;
    ids.tenant = "1";
    const before = await readFirstTenant(api, ids);
    const all = await listScopedOperations(api, ids);
    for (const { method, path, route } of all) {
      const body =
        method === "GET" || method === "DELETE" ? undefined : (bodies[`${method} ${route}`] ?? {});
      const response = await api.call(method, path, body, { token });
      const description = `${method} ${path}: ${response.status} ${response.text}`;
      // A path with an id of the other tenant returns 404. Lists omit objects of the other tenant.
      if (route.startsWith("/api/github/redeliveries/"))
        expect(response.status, description).toBe(403); // requires a token of all tenants
      else if (route.includes("{") && !/secrets|apps\/\{app\}\/import/.test(route))
        expect(response.status, description).toBe(404);
      else expect(response.status, description).toBeLessThan(500);
      for (const id of Object.values(ids))
        if (id.length > 20 && !path.includes(id))
          expect(response.text, description).not.toContain(id);
      const otherTenant = await api.call(method, `${path}?tenant=1`, body, { token });
      expect([otherTenant.status, otherTenant.json.code], description).toEqual(
        // A tenant in the path is an id, so that the other tenant is not found.
        route.includes("{tenant}") ? [404, "not_found"] : [403, "no_tenant"],
      );
    }
    expect(await readFirstTenant(api, ids)).toEqual(before);
    for (const tenants of [["1"], ["2", "1"], ["*"]]) {
      const body = { name: "x", tenants };
      const rejected = await api.expect(403, "POST", "/api/tokens", body, { token });
      expect(rejected.json.errors[0].path).toBe("tenants");
    }
    const listed = (await api.expect(200, "GET", "/api/tokens", undefined, { token })).json.items;
    expect(listed.every(({ tenants }: { tenants: string[] }) => tenants.join() === "2")).toBe(true);
    const missing = await api.expect(403, "GET", "/api/apps");
    expect(missing.json.detail).toMatch(/valid for all tenants: name one with/);
    const both = await api.token("--scope", "admin", "--tenant", "1,2");
    const unclear = await api.expect(400, "GET", "/api/apps", undefined, { token: both });
    expect(unclear.json.errors[0].path).toBe("tenant");
    await api.expect(200, "GET", "/api/apps?tenant=1", undefined, { token: both });
    const tenants = async (token?: string) =>
      (await api.expect(200, "GET", "/api/tenants", undefined, token ? { token } : {})).json.items;
    const idsOf = (items: { id: string }[]) => items.map(({ id }) => id);
    expect(idsOf(await tenants(both))).toContain("1");
    // The list contains tenant 9, although nothing of it is stored yet.
    const withUnknown = await api.token("--scope", "inbox:read", "--tenant", "1,9");
    expect(idsOf(await tenants(withUnknown))).toEqual(["1", "9"]);
    expect(idsOf(await tenants(token))).not.toContain("1");
    expect(idsOf(await tenants())).toContain("1");
    // This route returns no tenant data, so that the request need not name a tenant.
    await api.expect(200, "GET", "/api/node-types", undefined, { token: both });
    await api.expect(200, "GET", "/api/node-types");
  });
});

/** Reads the data of tenant 1. */
async function readFirstTenant(api: Api, ids: Record<string, string>): Promise<unknown> {
  const paths = [
    "/api/apps",
    `/api/flows/${ids.flow}`,
    `/api/flows/${ids.flow}/versions`,
    `/api/runs/${ids.run}`,
    "/api/runs",
    "/api/secrets",
    "/api/sources",
    "/api/tokens",
    `/api/events/${ids.event}`,
  ];
  const read = async (path: string) => (await api.expect(200, "GET", `${path}?tenant=1`)).json;
  const connection = await read(`/api/connections/${ids.connection}`);
  // The hub checks connections repeatedly, which changes these two fields.
  const { checked_at: _, next_check_at: __, ...unchecked } = connection;
  return [unchecked, ...(await Promise.all(paths.map(read)))];
}

describe.each<Backend>(["SQLite", "PostgreSQL", "workerd"])(
  "invalid requests, on %s",
  (backend) => {
    it("get an error that names the field, and never an error 500", async () => {
      const api = await startApi(backend);
      const ids = await createObjects(api);
      const flow = `/api/flows/${ids.flow}`;
      const deeplyNested = `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`;
      const rawBodies: [string | Uint8Array<ArrayBuffer>, number][] = [
        ["{", 400],
        ["nonsense", 400],
        ["[]", 400],
        ["[[]]", 400],
        ["null", 400],
        ["5", 400],
        ['"text"', 400],
        [deeplyNested, 400],
        [`[${deeplyNested}]`, 400],
        [new Uint8Array([0xff, 0xfe, 0x00]), 400],
        ['{"name":"\\u0000"}', 400],
        ['{"\\u0000":1}', 400],
        ['{"__proto__":{"name":"x"},"constructor":1}', 400],
        [`{"name":"${"x".repeat(HUGE)}"}`, 413],
      ];
      const targets = (await listScopedOperations(api, ids)).filter(
        ({ method, path }) =>
          /POST|PUT|PATCH/.test(method) &&
          path.startsWith("/api/") &&
          !/cancel|retry|check|rotate|waiting/.test(path) &&
          !(method === "POST" && path.endsWith("/authorization")), // takes no body
      );
      expect(targets.length).toBeGreaterThan(15);
      for (const { method, path } of targets)
        for (const [raw, status] of rawBodies) {
          const response = await api.call(method, path, undefined, { raw });
          const description = `${method} ${path} ${String(raw).slice(0, 40)}: ${response.text.slice(0, 300)}`;
          expect(response.status, description).toBe(status);
          expect(response.headers.get("content-type"), description).toBe(
            "application/problem+json",
          );
          if (status === 400)
            expect(response.json.errors[0].path, description).toEqual(expect.any(String));
        }

      const invalid: [string, string, object, string][] = [
        ["POST", "/api/apps", { slug: "x" }, "name"],
        ["POST", "/api/apps", { slug: "Not Good", name: "x" }, "slug"],
        ["POST", "/api/apps", { slug: "x", name: " " }, "name"],
        ["POST", "/api/apps", { slug: "x", name: "x", more: 1 }, "more"],
        ["PATCH", "/api/apps/desk", { slug: "y" }, "slug"],
        ["PATCH", "/api/apps/desk", { name: null }, "name"],
        ["POST", "/api/apps/desk/flows", { name: 5 }, "name"],
        ["POST", "/api/apps/desk/flows", { name: "x", nodes: {} }, "nodes"],
        ["POST", "/api/apps/desk/flows", { name: "x", nodes: [5] }, "nodes.0"],
        [
          "POST",
          "/api/apps/desk/flows",
          { name: "x", nodes: [{ type: "Return" }] },
          "nodes.0.name",
        ],
        ["POST", "/api/apps/desk/flows", { name: "x", edges: [{ source: "a" }] }, "edges.0.target"],
        ["PATCH", flow, { version: 5 }, "version"],
        ["PATCH", flow, { nodes: null }, "nodes"],
        ["POST", `${flow}/nodes`, { ...intent("x"), slug: "trigger" }, "slug"],
        ["POST", `${flow}/nodes`, { ...intent("x"), position: { x: "1", y: 2 } }, "position.x"],
        ["POST", `${flow}/nodes`, { ...intent("x"), parameters: [] }, "parameters"],
        ["PATCH", `${flow}/nodes/end`, { id: "other" }, "id"],
        ["PATCH", `${flow}/nodes/end`, { type: "Code" }, "type"],
        ["POST", `${flow}/publish`, { note: 5 }, "note"],
        ["POST", `${flow}/rollback`, { version: "1" }, "version"],
        ["POST", `${flow}/rollback`, { version: 1.5 }, "version"],
        ["POST", `${flow}/rollback`, { version: 1e300 }, "version"],
        ["POST", `${flow}/runs`, { input: {} }, "trigger"],
        ["POST", `${flow}/runs`, { trigger: "say_hello", input: [] }, "input"],
        ["POST", `${flow}/runs?wait=maybe`, { trigger: "say_hello" }, "wait"],
        ["PUT", "/api/secrets/KEY", { value: 5 }, "value"],
        ["PUT", "/api/secrets/KEY", { value: "" }, "value"],
        ["PUT", "/api/secrets/KEY", { value: "seven77" }, "value"],
        ["PUT", "/api/secrets/KEY", { value: "long enough\n" }, "value"],
        ["PUT", "/api/secrets/KEY", { value: " long enough" }, "value"],
        ["POST", "/api/sources", { kind: "nonsense" }, "kind"],
        ["POST", "/api/sources", { kind: "stripe", config: { x: 1 } }, "config"],
        ["POST", "/api/sources", { kind: "generic", config: { x: 1 } }, "config"],
        [
          "PATCH",
          `/api/sources/${ids.source}`,
          { rotate: { grace_hours: -1 } },
          "rotate.grace_hours",
        ],
        ["POST", "/api/tokens", { name: "x", scopes: ["everything"] }, "scopes.0"],
        ["POST", "/api/tokens", { name: "x", days: 0 }, "days"],
        ["POST", "/api/tokens", { name: "x", tenants: ["nope"] }, "tenants"],
      ];
      for (const [method, path, body, field] of invalid) {
        const response = await api.call(method, path, body);
        const description = `${method} ${path} ${JSON.stringify(body)}: ${response.text}`;
        expect(response.status, description).toBe(400);
        expect(
          response.json.errors
            .map((error: { path: string; message: string }) => `${error.path} ${error.message}`)
            .join("; "),
          description,
        ).toContain(field);
      }

      for (const query of [
        "limit=0",
        "limit=101",
        "limit=1.5",
        "limit=x",
        "more=1",
        "cursor=%00",
      ]) {
        for (const path of ["/api/apps", "/api/apps/desk/flows", "/api/runs", "/api/events"]) {
          const response = await api.call("GET", `${path}?${query}`);
          expect([response.status, response.json.errors?.length], `${path}?${query}`).toEqual([
            400, 1,
          ]);
        }
      }
      for (const path of ["/api/apps/%00", "/api/flows/%00", `${flow}/nodes/%00`, "/api/runs/%00"])
        for (const method of ["GET", "PATCH", "DELETE"]) {
          const { status } = await api.call(method, path, method === "GET" ? undefined : {});
          expect([400, 404, 405], `${method} ${path}`).toContain(status);
        }
      await api.expect(400, "GET", "/api/runs?status=nonsense");
      await api.expect(400, "GET", "/api/events/nonsense");
      for (const id of ["%zz", "%F0%9F%98%80", "'; DROP TABLE flows; --", "x".repeat(5_000)])
        await api.expect(404, "GET", `/api/flows/${id}`);
      const foreign = { headers: { origin: "https://evil.example" } };
      expect((await api.expect(403, "GET", "/api/apps", undefined, foreign)).json.code).toBe(
        "foreign_origin",
      );
      expect((await api.expect(200, "GET", flow)).json.revision).toBe(2);
      await api.hub.stop();
      expect(api.hub.output()).not.toMatch(/(request|operation) failed/);
    }, 300_000);
  },
);
