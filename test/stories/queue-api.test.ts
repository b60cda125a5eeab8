/** Which runs wait, and for what, over the API of a real hub. */
import { createServer } from "node:http";
import { expect, it, onTestFinished, vi } from "vitest";
import { type Backend, startApi } from "../support/api-client.ts";
import { edge, intent, node } from "../support/flow-samples.ts";
import { WAIT } from "../support/timeouts.ts";

/** Starts a server that never answers. */
async function startSilentServer(): Promise<string> {
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return `http://127.0.0.1:${address.port}`;
}

it.each<Backend>(["SQLite", "PostgreSQL", "workerd"])(
  "runs that wait for a server are shown, with what they wait for, on %s",
  async (backend) => {
    const origin = await startSilentServer();
    const api = await startApi(backend, {
      SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1",
      SIGNALBOX_ORIGIN_REQUESTS: "2",
    });
    await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
    const publish = async (name: string, nodes: object[], edges: object[]) => {
      const flow = { name, nodes, edges };
      const { id } = (await api.expect(201, "POST", "/api/apps/desk/flows", flow)).json;
      await api.expect(200, "POST", `/api/flows/${id}/publish`);
      return id as string;
    };
    const start = intent("Start");
    const fetchPrices = await publish(
      "Fetch prices",
      [start, node("fetch", "HttpRequest", { url: `${origin}/prices` }), node("end", "Return", {})],
      [edge("intent Start", "fetch"), edge("fetch", "end")],
    );
    const run = async (flow: string) =>
      (await api.expect(202, "POST", `/api/flows/${flow}/runs`, { trigger: "start" })).json.id;
    const runs = [await run(fetchPrices), await run(fetchPrices), await run(fetchPrices)];
    const flow = { app: "desk", flow_id: fetchPrices, flow_name: "Fetch prices" };
    const queue = await vi.waitFor(async () => {
      const { json } = await api.expect(200, "GET", "/api/queue");
      const waits = json.waits.map(({ kind }: { kind: string }) => kind).toSorted();
      expect(waits).toEqual(["limit", "response"]);
      return json;
    }, WAIT);
    const counts = queue.waits.map(({ runs }: { runs: number }) => runs);
    expect(counts.reduce((sum: number, count: number) => sum + count, 0)).toBe(3);
    for (const wait of queue.waits)
      expect(wait).toMatchObject({ ...flow, target: origin, since: expect.stringMatching(/Z$/) });
    const ids = queue.waits.flatMap(({ run_ids }: { run_ids: string[] }) => run_ids);
    expect(ids.toSorted()).toEqual(runs.toSorted());
    expect(queue).toMatchObject({ queued: 0, queued_more: false, oldest_queued_since: null });
    for (const id of runs) await api.expect(202, "POST", `/api/runs/${id}/cancel`);
    await vi.waitFor(async () => {
      expect((await api.expect(200, "GET", "/api/queue")).json.waits).toEqual([]);
    }, WAIT);
  },
);
