import { queueView } from "@signalbox/contract/queue.ts";
import { Hono } from "hono";
import { expect, it } from "vitest";
import { createStreamSlots } from "../../kernel/access/stream-slots.ts";
import { mountRoutes } from "../../kernel/http/route.ts";
import { statsRoutes } from "../../operations/stats-routes.ts";
import type { ToolCalls } from "../editing/tool-calls.ts";
import type { QueueReport, Run, Step } from "./model.ts";
import { mergePages, queueRoutes, runRoutes } from "./run-routes.ts";

const streamSlots = createStreamSlots({ authorizer: { watch: () => () => {} }, max: 9 });

it("returns the steps of a run only with the scope admin", async () => {
  const run = {
    id: "r",
    tenant: "acme",
    status: "succeeded",
    created_at: 0,
    started_at: 0,
    finished_at: 0,
  };
  const step = { node_id: "n", output: "inner", started_at: 0, finished_at: 0 };
  const routes = runRoutes({
    calls: { start: async () => ({ id: "r", ended: Promise.resolve(run) }) } as never,
    drafts: {} as never,
    store: { listSteps: async () => ({ items: [step], next: 7 }) } as never,
    now: () => 0,
    streamSlots,
    closing: new AbortController().signal,
  });
  const start = async (scope: "admin" | "flows:call") => {
    const app = new Hono();
    mountRoutes(app, routes, async () => ({
      token: "t",
      name: "t",
      scopes: [scope],
      tenants: ["acme"],
    }));
    const init = { method: "POST", body: '{"trigger":"x"}' };
    const response = await app.request("/api/flows/f/runs?wait=1", init);
    expect(response.status).toBe(200);
    return response.json();
  };
  expect(await start("admin")).toMatchObject({
    id: "r",
    steps: [{ output: "inner" }],
    next_cursor: "step:7",
  });
  const withoutAdmin = await start("flows:call");
  expect(withoutAdmin).toMatchObject({ id: "r", status: "succeeded" });
  expect(withoutAdmin).not.toHaveProperty("steps");
});

it("returns 202 with the state of the run when the wait times out", async () => {
  const run = { id: "r", status: "waiting", created_at: 0, started_at: 0, finished_at: null };
  const app = new Hono();
  const routes = runRoutes({
    calls: {
      start: async () => ({ id: "r", ended: new Promise<Run>(() => {}) }),
    } as unknown as ToolCalls,
    drafts: {} as never,
    store: { previewRun: async () => run } as never,
    now: () => 0,
    streamSlots,
    closing: new AbortController().signal,
    maxWaitMs: 1,
  });
  const access = { token: "t", name: "t", scopes: ["admin" as const], tenants: ["acme"] };
  mountRoutes(app, routes, async () => access);
  const response = await app.request("/api/flows/f/runs?wait=1", {
    method: "POST",
    body: '{"trigger":"x"}',
  });
  expect(response.status).toBe(202);
  expect(await response.json()).toMatchObject({ id: "r", status: "waiting" });
});

it("streams the whole run first, then its changes, and reads the store only as fast as the client reads", async () => {
  const run = {
    id: "r",
    status: "running",
    input: { a: 1 },
    created_at: 0,
    started_at: 0,
    finished_at: null,
  };
  const step = { nth: 1, started_at: 0, finished_at: null };
  let yielded = 0;
  const aborted = Promise.withResolvers<void>();
  async function* follow(_tenant: string, _run: string, signal: AbortSignal) {
    signal.addEventListener("abort", () => aborted.resolve());
    for (const status of ["running", "waiting", undefined, "done", "skipped"]) {
      yielded += 1;
      const steps = (status ? [{ ...step, status }] : []) as Step[];
      yield { run: run as unknown as Run, steps };
    }
  }
  const app = new Hono();
  const routes = runRoutes({
    calls: { follow } as unknown as ToolCalls,
    drafts: {} as never,
    store: { previewRun: async () => run } as never,
    now: () => 0,
    streamSlots,
    closing: new AbortController().signal,
  });
  const access = { token: "t", name: "t", scopes: ["admin" as const], tenants: ["acme"] };
  mountRoutes(app, routes, async () => access);
  const response = await app.request("/api/runs/r/stream");
  expect(yielded).toBe(0);
  const reader = response.body?.getReader();
  const next = async () => new TextDecoder().decode((await reader?.read())?.value);
  expect(await next()).toMatch(/^event: run\ndata: .*"input":\{"a":1\}.*"status":"running"/);
  expect(yielded).toBe(1);
  const second = await next();
  expect(second).toMatch(/"status":"waiting"/);
  expect(second).not.toContain('input":{');
  expect(yielded).toBe(2);
  // An unchanged state is not sent again.
  expect(await next()).toMatch(/"status":"done"/);
  await reader?.cancel();
  await aborted.promise;
});

it("returns a whole value, or a range of it, and measures the value before it reads it", async () => {
  const key = { tenant: "acme", run: "r", field: "output" };
  /** The keys of all reads, in order. */
  const reads: unknown[] = [];
  const store = {
    measureValue: async (valueKey: object) => {
      reads.push(valueKey);
      return "nth" in valueKey && valueKey.nth === 9 ? undefined : 12;
    },
    readValue: async (valueKey: object) => {
      reads.push(valueKey);
      return '"0123456789"';
    },
  };
  const app = new Hono();
  const routes = runRoutes({ store } as never);
  const access = { token: "t", name: "t", scopes: ["admin" as const], tenants: ["acme"] };
  mountRoutes(app, routes, async () => access);
  const whole = await app.request("/api/runs/r/output");
  expect(await whole.json()).toBe("0123456789");
  const headers = { range: "bytes=1-4" };
  const part = await app.request("/api/runs/r/steps/3/input", { headers });
  expect([part.status, await part.text()]).toEqual([206, "0123"]);
  const step = { ...key, nth: 3, field: "input" };
  expect(reads).toEqual([key, key, step, step]);
  for (const nth of ["9", "x", "-1"]) {
    const missing = await app.request(`/api/runs/r/steps/${nth}/output`);
    expect(missing.status).toBe(404);
  }
});

it("ends a stream when its token is revoked, and stops watching the token", async () => {
  const run = { id: "r", status: "running", created_at: 0, started_at: 0, finished_at: null };
  async function* follow(_tenant: string, _run: string, signal: AbortSignal) {
    yield { run: run as unknown as Run, steps: [] };
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  }
  let revoke = () => {};
  let watching = 0;
  const routes = runRoutes({
    calls: { follow } as unknown as ToolCalls,
    drafts: {} as never,
    store: { previewRun: async () => run } as never,
    now: () => 0,
    streamSlots: createStreamSlots({
      authorizer: {
        watch(_, onRevoked) {
          watching += 1;
          revoke = onRevoked;
          return () => {
            watching -= 1;
          };
        },
      },
      max: 1,
    }),
    closing: new AbortController().signal,
  });
  const app = new Hono();
  const access = { token: "t", name: "t", scopes: ["admin" as const], tenants: ["acme"] };
  mountRoutes(app, routes, async () => access);
  const open = async () => {
    const reader = (await app.request("/api/runs/r/stream")).body?.getReader();
    expect((await reader?.read())?.done).toBe(false);
    return reader;
  };
  const revokedReader = await open();
  revoke();
  expect((await revokedReader?.read())?.done).toBe(true);
  const cancelledReader = await open();
  await cancelledReader?.cancel();
  expect(watching).toBe(0);

  // The stream also ends if the client does not read.
  const unread = (await app.request("/api/runs/r/stream")).body;
  expect(watching).toBe(1);
  const busy = await app.request("/api/runs/r/stream");
  expect(busy.status).toBe(429);
  expect(await busy.json()).toMatchObject({ code: "busy" });
  revoke();
  expect(watching).toBe(0);
  expect((await unread?.getReader().read())?.done).toBe(true);
  // The stream also ends if the client disconnects before it reads.
  const disconnect = new AbortController();
  await app.request("/api/runs/r/stream", { signal: disconnect.signal });
  expect(watching).toBe(1);
  disconnect.abort();
  expect(watching).toBe(0);
});

it.each(["1e30", "Infinity", "-1", "x", "1.5", " "])(
  "rejects the cursor step:%s",
  async (cursor) => {
    const app = new Hono();
    const listSteps = () => expect.unreachable("the steps were listed");
    const store = { previewRun: async () => ({ id: "r" }), listSteps };
    const access = { token: "t", name: "t", scopes: ["admin" as const], tenants: ["acme"] };
    mountRoutes(app, runRoutes({ store } as never), async () => access);
    const response = await app.request(
      `/api/runs/r/steps?cursor=${encodeURIComponent(`step:${cursor}`)}`,
    );
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ detail: expect.stringContaining("cursor") });
  },
);

it("lists all runs that have not ended with status=active", async () => {
  const statuses: unknown[] = [];
  const ids: Record<string, string[]> = { queued: ["c", "a"], waiting: ["b"] };
  const listRunSummaries = async ({ status }: { status: string }) => {
    statuses.push(status);
    const times = { due_at: 0, created_at: 0, started_at: null, finished_at: null };
    return { items: (ids[status] ?? []).map((id) => ({ id, status, ...times })), next: null };
  };
  const app = new Hono();
  const access = { token: "t", name: "t", scopes: ["admin" as const], tenants: ["acme"] };
  const routes = runRoutes({ store: { listRunSummaries } } as never);
  mountRoutes(app, routes, async () => access);
  const response = await app.request("/api/runs?status=active&limit=2");
  expect(await response.json()).toMatchObject({
    items: [{ id: "c" }, { id: "b" }],
    next_cursor: "run:b",
  });
  expect(statuses).toEqual(["queued", "held", "running", "waiting"]);
});

const page = (ids: string, next: string | null = null) => ({
  items: [...ids].map((id) => ({ id })),
  next,
});
const merge = (limit: number, ...pages: ReturnType<typeof page>[]) => {
  const { items, next } = mergePages(pages, limit);
  return [items.map(({ id }) => id).join(""), next];
};

it("orders the items of all lists", () =>
  expect(merge(10, page("ea"), page("dcb"), page(""))).toEqual(["edcba", null]));

it("returns an item that is in two lists only once", () =>
  expect(merge(10, page("cb"), page("ba"))).toEqual(["cba", null]));

it("returns at most `limit` items, and the cursor of the next page", () =>
  expect(merge(2, page("ea"), page("dcb"))).toEqual(["ed", "d"]));

it("omits items that would precede unread items of another list", () => {
  expect(merge(3, page("zyx", "x"), page("wv"))).toEqual(["zyx", "x"]);
  // A page can be short or empty although another page follows.
  expect(merge(3, page("", "m"), page("zca"))).toEqual(["z", "m"]);
});

const access = { token: "t", name: "t", scopes: ["admin" as const], tenants: ["acme"] };
const flow = { app: "desk", flow_id: "f", flow_name: "F" };

async function getJson(routes: Parameters<typeof mountRoutes>[1], path: string) {
  const app = new Hono();
  mountRoutes(app, routes, async () => access);
  return (await app.request(path)).json();
}

it("says that the queue has more runs than it counts, and hides the load of a shared hub", async () => {
  const readQueue = async (_: string, __: number, max: number): Promise<QueueReport> => ({
    flows: [
      { ...flow, queued: max, held: max - 1, since: 2_000 },
      { ...flow, flow_id: "g", queued: 3, held: max, since: 1_000 },
    ],
    more_flows: false,
    more_held_flows: false,
    waits: [],
    more_waits: true,
  });
  const routes = queueRoutes({ store: { readQueue }, now: () => 5_000, readLoad: undefined });
  expect(await getJson(routes, "/api/queue")).toEqual({
    queued: 1_003,
    queued_more: true,
    held: 2_000,
    held_more: true,
    oldest_queued_since: "1970-01-01T00:00:01.000Z",
    flows: [
      {
        ...flow,
        queued: 1_000,
        queued_more: true,
        held: 1_000,
        held_more: false,
        oldest_queued_since: "1970-01-01T00:00:02.000Z",
      },
      {
        ...flow,
        flow_id: "g",
        queued: 3,
        queued_more: false,
        held: 1_000,
        held_more: true,
        oldest_queued_since: "1970-01-01T00:00:01.000Z",
      },
    ],
    waits: [],
    waits_more: true,
    slots: null,
  });
});

it("returns the slots of the process in the queue of an unshared hub, with declared fields only", async () => {
  const slots = { busy: 64, total: 64, waiting: 3 };
  const routes = queueRoutes({
    store: {
      readQueue: async () => ({
        flows: [{ ...flow, queued: 1, held: 1, since: 2_000 }],
        more_flows: false,
        more_held_flows: false,
        waits: [{ ...flow, kind: "run", target: "G", runs: 1, since: 2_000, run_ids: ["r"] }],
        more_waits: false,
      }),
    },
    now: () => 5_000,
    readLoad: () => ({ slots, runs: 5, memory: { used: 1, budget: 2 }, origins: [] }),
  });
  const queue = await getJson(routes, "/api/queue");
  expect(queue).toMatchObject({ slots });
  // Parsing removes the fields that the schema does not declare.
  expect(queueView.parse(queue)).toEqual(queue);
});

it("names the statuses with more runs than the statistics count", async () => {
  const none = { queued: 0, held: 0, running: 0, waiting: 0, failed: 10_000, cancelled: 0 };
  const store = {
    getTenant: async () => undefined,
    pendingStatus: async () => ({ pending_count: 0, types: {}, latest_received_at: null }),
    countRuns: async (_: string, __: string, max: number) => ({ ...none, succeeded: max }),
  };
  expect(
    await getJson(
      statsRoutes(store as never, () => 5_000, null),
      "/api/stats",
    ),
  ).toMatchObject({
    runs: { succeeded: 10_000, failed: 10_000 },
    runs_more: ["succeeded"],
  });
});
