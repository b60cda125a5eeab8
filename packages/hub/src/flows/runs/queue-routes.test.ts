import { queueView } from "@signalbox/contract/queue.ts";
import { Hono } from "hono";
import { expect, test } from "vitest";
import { mountRoutes } from "../../kernel/http/route.ts";
import { statsRoutes } from "../../operations/stats-routes.ts";
import type { QueueReport } from "./model.ts";
import { queueRoutes } from "./queue-routes.ts";

const access = { token: "t", name: "t", scopes: ["admin" as const], tenants: ["acme"] };
const flow = { app: "desk", flow_id: "f", flow_name: "F" };

async function getJson(routes: Parameters<typeof mountRoutes>[1], path: string) {
  const app = new Hono();
  mountRoutes(app, routes, async () => access);
  return (await app.request(path)).json();
}

test("the queue says that there are more runs than it counts, and hides the load of a shared hub", async () => {
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

test("the queue of an unshared hub returns the slots of the process, with declared fields only", async () => {
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

test("the statistics name the statuses with more runs than they count", async () => {
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
