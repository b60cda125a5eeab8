import { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { createSeal } from "../../lib/seal.ts";
import { openSqlite } from "../../store/backends/sqlite.ts";
import { createGroupCommit } from "../../store/group-commit.ts";
import { createFlowSide } from "./flows.ts";
import { loadSettings } from "./load-settings.ts";
import { createLog } from "./log.ts";

test("what is mounted under /api is in the document, and the other way round", async () => {
  const data = tempFolder();
  const store = openSqlite(`${data}/hub.db`);
  const side = createFlowSide({
    store,
    commit: createGroupCommit({ store, quota: null, soon: setImmediate }),
    settings: loadSettings({ data }),
    seal: createSeal(new Uint8Array(32)),
    version: "1.2.3",
    log: await createLog({ level: "silent", format: "json" }),
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
  const mounted = app.routes.map(({ method, path }) => `${method} ${path}`);
  const document = (await (await app.request("/api/openapi.json")).json()) as {
    info: { version: string };
    paths: Record<string, object>;
  };
  const told = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(
      (method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`,
    ),
  );
  expect(told.toSorted()).toEqual(mounted.toSorted());
  expect(document.info.version).toBe("1.2.3");
  expect(told.length).toBeGreaterThan(40);
});
