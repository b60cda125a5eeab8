/** The whole hub, on a host without sockets. */
import { expect, onTestFinished, test, vi } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { undocumentedRoutes } from "../../../test/support/tenant-walk/request-inputs.ts";
import { TRIGGER_CALLBACK } from "./events/admit/receive-request.ts";
import { appendRequest, sampleEvent } from "./events/store/contract/sample.ts";
import { createMetrics } from "./hosts/node/metrics.ts";
import { systemTimers } from "./hosts/node/ports.ts";
import { createHub } from "./hub.ts";
import { hubSettings } from "./hub-settings.ts";
import { openSqlite } from "./kernel/backends/sqlite.ts";
import { sha256Hex, webHmacKey } from "./kernel/lib/hmac.ts";
import type { HubOptions } from "./part.ts";
import { readSettings } from "./settings.ts";
import { type Store, storeDefinition } from "./store.ts";
import { ensureAdminToken } from "./tokens/tokens.ts";

interface ResponseBody {
  id: string;
  items: object[];
  next_cursor: string | null;
  errors?: { path: string }[];
}

const TOKEN = "sbx_test_token";

const unexpected = () => {
  throw new Error("must not be called");
};

interface OpenOptions {
  env?: Record<string, string>;
  store?: Store;
}

async function openHub(
  ports: Partial<HubOptions["ports"]> = {},
  {
    env: extraEnv = {},
    store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`),
  }: OpenOptions = {},
) {
  const env = { SIGNALBOX_TOKEN: TOKEN, ...extraEnv };
  const hub = await createHub({
    store,
    ports: {
      fetch: unexpected,
      guardedFetch: unexpected,
      guardedWebFetch: unexpected,
      runJob: unexpected,
      runsJobsInBackground: false,
      makeHmacKey: webHmacKey,
      sha256Hex,
      timers: systemTimers,
      log: { info() {}, warn() {}, error: unexpected },
      metrics: createMetrics(),
      ...ports,
    },
    settings: {
      ...hubSettings(readSettings({ flags: {}, env, file: {} }), 0),
      version: "1.2.3",
      sealKey: new Uint8Array(32),
      bodyBudgetBytes: 1_000,
      sweepEveryMs: undefined,
    },
  });
  onTestFinished(() => hub.stop(1_000));
  await hub.start("http://127.0.0.1:4747");
  await ensureAdminToken(store, env.SIGNALBOX_TOKEN, Date.now());
  return hub;
}

async function openApi(...options: Parameters<typeof openHub>) {
  const { app, stop } = await openHub(...options);
  const send = async (path: string, body?: object) => {
    const response = await app.request(`http://127.0.0.1${path}`, {
      headers: { authorization: `Bearer ${TOKEN}`, host: "127.0.0.1" },
      ...(body && { method: "POST", body: JSON.stringify(body) }),
    });
    return { status: response.status, json: (await response.json()) as ResponseBody };
  };
  const document = (await send("/api/openapi.json")).json as unknown as {
    info: { version: string };
    paths: Record<string, Record<string, { responses: object }>>;
    components: { schemas: Record<string, object> };
  };
  return { app, send, document, stop };
}

test("describes exactly the routes under /api in the OpenAPI document", async () => {
  const { app, document } = await openApi();
  const mounted = app.routes
    // The routes with the method `ALL` reject methods that the path does not support.
    .filter(({ method, path }) => path.startsWith("/api/") && method !== "ALL")
    .map(({ method, path }) => `${method} ${path}`)
    // Hosts do not pass these two requests to `app`, but to `Hub.receive` and `Hub.live`.
    .concat(`POST ${TRIGGER_CALLBACK}`, "GET /api/live");
  const described = Object.entries(document.paths)
    .filter(([path]) => path.startsWith("/api/"))
    .flatMap(([path, methods]) =>
      Object.keys(methods).map(
        (method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`,
      ),
    );
  expect(described.toSorted()).toEqual(mounted.toSorted());
  expect(document.info.version).toBe("1.2.3");
  expect(described.length).toBeGreaterThan(40);
});

test("has exactly the undocumented routes that the test of tenant isolation lists", async () => {
  const { app, document } = await openApi();
  const described = new Set(
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map(
        (method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`,
      ),
    ),
  );
  const mounted = app.routes
    // The routes with the method `ALL` reject methods, except those of the MCP servers.
    .filter(({ method, path }) => method !== "ALL" || path.startsWith("/mcp"))
    .map(({ method, path }) => `${method} ${path}`);
  const undocumented = new Set(mounted.filter((route) => !described.has(route)));
  expect([...undocumented].toSorted()).toEqual(Object.keys(undocumentedRoutes).toSorted());
});

test("accepts in each list only the cursors of that list", async () => {
  const { send, document } = await openApi();
  for (const slug of ["desk", "shop"]) await send("/api/apps", { slug, name: slug });
  const flow = (await send("/api/apps/desk/flows", { name: "One" })).json.id;
  await send("/api/apps/desk/flows", { name: "Two" });
  const lists = Object.entries(document.paths)
    .filter(([, { get }]) =>
      JSON.stringify(get?.responses ?? "").includes('"items":{"type":"array"'),
    )
    .map(([path]) => path.replace("{app}", "desk").replace("{flow}", flow))
    // An explanation needs an event; test/stories/events-api.test.ts sends its cursors.
    .filter((path) => !path.includes("{event}"));
  const listNames = ["apps", "flows", "versions", "runs", "events", "tokens", "sources", "secrets"];
  for (const name of listNames) expect(lists.join()).toContain(`/${name}`);
  for (const path of lists)
    for (const cursor of ["zz", "", "flow:", "app:a%27b", "run:%00", "other:desk", "-1"]) {
      const { status, json } = await send(`${path}?cursor=${cursor}`);
      expect([status, json.errors?.[0]?.path], `${path}?cursor=${cursor}`).toEqual([400, "cursor"]);
    }
  for (const path of ["/api/apps", "/api/apps/desk/flows"]) {
    const { items, next_cursor } = (await send(`${path}?limit=1`)).json;
    const next = (await send(`${path}?limit=1&cursor=${next_cursor}`)).json;
    expect([items.length, next.items.length]).toEqual([1, 1]);
    expect(next.items).not.toEqual(items);
    const { status } = await send(`/api/runs?cursor=${next_cursor}`);
    expect(status).toBe(400);
  }
});

test("reports the due time of its timers to a host that evicts idle hubs", async () => {
  const times: number[] = [];
  const { app } = await openHub({ wakeAt: (time) => times.push(time) });
  expect((await app.request("http://127.0.0.1/readyz")).status).toBe(200);
  const now = Date.now();
  expect(times.length).toBeGreaterThan(0);
  for (const time of times) expect(Math.abs(time - now)).toBeLessThan(120_000);
});

test("shows the newest events on the start page only to this machine, and never on a public hub", async () => {
  const startPage = async (env: Record<string, string>, headers: Record<string, string> = {}) => {
    const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
    const { app } = await openHub({}, { env, store });
    const tenant = env.SIGNALBOX_TENANCY === "github" ? "42" : "local";
    await store.appendEvents([appendRequest([sampleEvent({ title: "A red lamp" })], tenant)], null);
    const url = "http://127.0.0.1:4747/";
    return (await app.request(url, { headers: { host: "127.0.0.1:4747", ...headers } })).text();
  };
  expect(await startPage({})).toContain("A red lamp");
  expect(await startPage({}, { "sec-fetch-site": "none" })).toContain("A red lamp");
  const secret = { GITHUB_WEBHOOK_SECRET: "long enough!" };
  for (const [env, headers] of [
    [{ ...secret, HOST: "0.0.0.0" }, {}],
    [{ ...secret, SIGNALBOX_PUBLIC_URL: "https://hub.example" }, {}],
    [{ SIGNALBOX_TENANCY: "github" }, {}],
    [{}, { host: "rebind.example" }],
    [{}, { "x-forwarded-for": "203.0.113.7" }],
    [{}, { "sec-fetch-site": "cross-site" }],
  ] as [Record<string, string>, Record<string, string>][])
    expect(await startPage(env, headers), JSON.stringify([env, headers])).not.toContain("red lamp");
});

/** A port whose clock starts at this time. */
const clockFrom = (time: string) => {
  const shift = Date.parse(time) - Date.now();
  return { timers: { ...systemTimers, now: () => Date.now() + shift } };
};

type Api = Awaited<ReturnType<typeof openApi>>;

async function publishSchedule({ send }: Api, cron: string) {
  await send("/api/apps", { slug: "desk", name: "Desk" });
  const flow = await send("/api/apps/desk/flows", {
    name: "Regularly",
    nodes: [
      { id: "tick", type: "Schedule", name: "Tick", parameters: { cron } },
      { id: "end", type: "Return", name: "End", parameters: { value: "{{ trigger.missed }}" } },
    ],
    edges: [{ source: "tick", target: "end" }],
  });
  return (await send(`/api/flows/${flow.json.id}/publish`, {})).json;
}

test("starts a run of a schedule at its next tick", async () => {
  const api = await openApi(clockFrom("2026-11-16T09:59:58Z"));
  const { schedules } = (await publishSchedule(api, "* * * * *")) as unknown as {
    schedules: { next_fire_at: string }[];
  };
  const scheduled_at = schedules[0]?.next_fire_at;
  expect(schedules).toEqual([
    {
      node_id: "tick",
      cron: "* * * * *",
      time_zone: "UTC",
      nodeId: "tick",
      timeZone: "UTC",
      next_fire_at: scheduled_at,
    },
  ]);
  const input = { scheduled_at, missed: 0, time_zone: "UTC" };
  const run = { cause: "schedule", status: "succeeded", input, output: 0 };
  await vi.waitFor(
    async () => expect((await api.send("/api/runs?values=1")).json.items.at(-1)).toMatchObject(run),
    100_000,
  );
});

test("starts one run of a schedule for all ticks that were missed while no hub was running", async () => {
  const file = `${tempFolder()}/hub.db`;
  const before = await openApi(clockFrom("2026-11-16T09:30:00Z"), {
    store: openSqlite(storeDefinition, file),
  });
  await publishSchedule(before, "0 * * * *");
  await before.stop(10_000);

  const after = await openApi(clockFrom("2026-11-16T12:10:00Z"), {
    store: openSqlite(storeDefinition, file),
  });
  const input = { scheduled_at: "2026-11-16T12:00:00.000Z", missed: 3, time_zone: "UTC" };
  const run = { cause: "schedule", status: "succeeded", input, output: 3 };
  await vi.waitFor(
    async () => expect((await after.send("/api/runs?values=1")).json.items).toMatchObject([run]),
    60_000,
  );
});

test("closes the database even if a client does not disconnect in time", async () => {
  const sqlite = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  let isClosed = false;
  const close = async () => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    await sqlite.close();
    isClosed = true;
  };
  const hub = await openHub({}, { store: { ...sqlite, close } });
  const stopped = hub.stop(3_000, () => new Promise(() => {}));
  await expect(stopped).rejects.toThrow("Some requests did not finish in time.");
  expect(isClosed).toBe(true);
});
