import { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { createSeal } from "../../lib/seal.ts";
import { openSqlite } from "../../store/backends/sqlite.ts";
import { createGroupCommit } from "../../store/group-commit.ts";
import { createFlowSide } from "./flows.ts";
import { loadSettings } from "./load-settings.ts";

interface Answer {
  id: string;
  items: object[];
  next_cursor: string | null;
  errors?: { path: string }[];
}

async function openApi() {
  const data = tempFolder();
  const store = openSqlite(`${data}/hub.db`);
  const side = createFlowSide({
    store,
    commit: createGroupCommit({ store, quota: null, defer: setImmediate }),
    settings: loadSettings({ data }),
    seal: createSeal(new Uint8Array(32)),
    version: "1.2.3",
    onTripped: () => {},
    onError: (error) => {
      throw error;
    },
  });
  onTestFinished(async () => {
    await side.close();
    await store.close();
  });
  const app = new Hono();
  const access = { token: "t", name: "t", scopes: ["admin" as const], tenants: ["local"] };
  side.addRoutes(app, async () => access);
  const document = (await (await app.request("/api/openapi.json")).json()) as {
    info: { version: string };
    paths: Record<string, Record<string, { responses: object }>>;
    components: { schemas: Record<string, object> };
  };
  const ask = async (path: string, body?: object) => {
    const sent = body && { method: "POST", body: JSON.stringify(body) };
    const answer = await app.request(path, sent);
    return { status: answer.status, json: (await answer.json()) as Answer };
  };
  return { app, ask, document };
}

test("what is mounted under /api is in the document, and the other way round", async () => {
  const { app, document } = await openApi();
  const mounted = app.routes.map(({ method, path }) => `${method} ${path}`);
  const told = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(
      (method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`,
    ),
  );
  expect(told.toSorted()).toEqual(mounted.toSorted());
  expect(document.info.version).toBe("1.2.3");
  expect(told.length).toBeGreaterThan(40);
});

test("every list refuses a cursor that it did not give out, and goes on at its own", async () => {
  const { ask, document } = await openApi();
  for (const slug of ["desk", "shop"]) await ask("/api/apps", { slug, name: slug });
  const flow = (await ask("/api/apps/desk/flows", { name: "One" })).json.id;
  await ask("/api/apps/desk/flows", { name: "Two" });
  const lists = Object.entries(document.paths)
    .filter(([, { get }]) =>
      JSON.stringify(get?.responses ?? "").includes('"items":{"type":"array"'),
    )
    .map(([path]) => path.replace("{app}", "desk").replace("{flow}", flow));
  const named = ["apps", "flows", "versions", "runs", "events", "tokens", "sources", "secrets"];
  for (const name of named) expect(lists.join()).toContain(`/${name}`);
  for (const path of lists)
    for (const cursor of ["zz", "", "flow:", "app:a%27b", "run:%00", "other:desk", "-1"]) {
      const { status, json } = await ask(`${path}?cursor=${cursor}`);
      expect([status, json.errors?.[0]?.path], `${path}?cursor=${cursor}`).toEqual([400, "cursor"]);
    }
  for (const path of ["/api/apps", "/api/apps/desk/flows"]) {
    const { items, next_cursor } = (await ask(`${path}?limit=1`)).json;
    const next = (await ask(`${path}?limit=1&cursor=${next_cursor}`)).json;
    expect([items.length, next.items.length]).toEqual([1, 1]);
    expect(next.items).not.toEqual(items);
    const { status } = await ask(`/api/runs?cursor=${next_cursor}`);
    expect(status).toBe(400);
  }
});
