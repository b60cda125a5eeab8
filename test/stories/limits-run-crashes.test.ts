/**
 * A run that crashes the hub again and again fails; other runs succeed. SQLite and workerd are enough here,
 * because the contract suite of the store checks on every database how claims are counted.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { ADMIN, type Api, type Backend, startApi } from "../support/api-client.ts";
import { fixedPort } from "../support/fixed-port.ts";
import { edge, intent, node } from "../support/flow-samples.ts";
import { type HubProcess, startHubProcess } from "../support/hub-process.ts";
import { WAIT } from "../support/timeouts.ts";
import { startWorkerProcess } from "../support/worker-process.ts";

/** Starts a server that responds only after `release`. */
async function startHangingServer() {
  const openResponses = new Set<ServerResponse>();
  let isReleased = false;
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    if (isReleased) response.end("{}");
    else openResponses.add(response);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    requests: () => requests,
    release() {
      isReleased = true;
      for (const response of openResponses) response.end("{}");
    },
  };
}

const TRIGGER = "intent Go";
const callNode = (url: string) => node("call", "HttpRequest", { url, method: "POST" });

const LARGE_IDS = Array.from({ length: 150 }, (_, index) => `large${index}`);
/** The last node reads 135 MB, which crashes a process with a heap of 64 MB. */
const crashingFlow = (url: string) => ({
  name: "Crashing",
  nodes: [
    intent("Go"),
    ...LARGE_IDS.map((id) => node(id, "Code", { code: 'return "x".repeat(900_000)' })),
    callNode(url),
    node("all", "Merge"),
  ],
  edges: [...LARGE_IDS, "call"].flatMap((id, index, ids) => [
    edge(ids[index - 1] ?? TRIGGER, id),
    edge(id, "all"),
  ]),
});
const harmlessFlow = (url: string) => ({
  name: "Harmless",
  nodes: [intent("Go"), callNode(url), node("end", "Return", { value: "done" })],
  edges: [edge(TRIGGER, "call"), edge("call", "end")],
});

/** Publishes a flow and starts a run of it. Returns the id of the run. */
async function startRun(api: Api, flow: object): Promise<string> {
  const { id } = (await api.expect(201, "POST", "/api/apps/desk/flows", flow)).json;
  await api.expect(200, "POST", `/api/flows/${id}/publish`);
  return (await api.expect(202, "POST", `/api/flows/${id}/runs`, { trigger: TRIGGER })).json.id;
}

const hosts: Backend[] = ["SQLite", "workerd"];
it.each(hosts)("a run whose process is killed three times fails, on %s", async (backend) => {
  const server = await startHangingServer();
  const api = await startApi(backend, {
    PORT: await fixedPort(),
    SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1",
    SIGNALBOX_RUN_LEASE: "1",
  });
  await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
  const id = await startRun(api, harmlessFlow(server.url));
  const start = backend === "workerd" ? startWorkerProcess : startHubProcess;
  let { hub } = api;
  for (let kills = 0; kills < 3; kills += 1) {
    await expect.poll(server.requests).toBe(kills + 1);
    await hub.stop("SIGKILL");
    hub = await start({ data: api.env.SIGNALBOX_DATA ?? "", env: api.env });
    onTestFinished(async () => void (await hub.stop("SIGKILL")));
  }
  const getRun = async () => (await api.expect(200, "GET", `/api/runs/${id}`)).json;
  await expect.poll(async () => (await getRun()).status).toBe("failed");
  expect(await getRun()).toMatchObject({
    error: {
      code: "gave_up",
      message: expect.stringContaining("claimed 3 times in a row"),
      node_id: "call",
    },
  });
  expect(server.requests()).toBe(3);
  // The retry of a user begins to count again.
  server.release();
  await api.expect(202, "POST", `/api/runs/${id}/retry`);
  await expect.poll(async () => (await getRun()).status).toBe("succeeded");
});

it("a run whose next step does not fit in memory fails, and other runs succeed", async () => {
  const server = await startHangingServer();
  const settings = {
    SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1",
    SIGNALBOX_RUN_LEASE: "1",
    SIGNALBOX_RUN_BYTES: "200000000",
  };
  const api = await startApi("SQLite", settings);
  await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
  const waitForRequests = (count: number) =>
    vi.waitFor(() => expect(server.requests()).toBe(count), { ...WAIT, timeout: 180_000 });
  const crashingRun = await startRun(api, crashingFlow(server.url));
  await waitForRequests(1);
  const harmlessRuns = [
    await startRun(api, harmlessFlow(server.url)),
    await startRun(api, harmlessFlow(server.url)),
  ];
  await waitForRequests(3);
  await api.hub.stop("SIGKILL");
  server.release();

  const env = { ...api.env, NODE_OPTIONS: "--max-old-space-size=64" };
  const getRun = async (hub: HubProcess, id: string) => {
    const headers = { authorization: `Bearer ${ADMIN}` };
    const response = await fetch(`${hub.url}/api/runs/${id}`, { headers });
    return (await response.json()) as { status: string; error: { code: string } | null };
  };
  const waitForEnd = async (hub: HubProcess) =>
    vi.waitFor(async () => {
      const runs = [];
      for (const id of [crashingRun, ...harmlessRuns]) runs.push(await getRun(hub, id));
      expect(runs.map(({ status }) => status)).not.toContain("running");
      return runs;
    }, WAIT);
  let crashes = 0;
  for (;;) {
    // The hub may crash before it listens.
    const hub = await startHubProcess({ data: api.env.SIGNALBOX_DATA ?? "", env }).catch(
      (error: Error) => {
        expect(error.message).toContain("JavaScript heap out of memory");
      },
    );
    onTestFinished(async () => void (await hub?.stop("SIGKILL")));
    const runs = hub && (await Promise.race([waitForEnd(hub), hub.exited.then(() => undefined)]));
    if (!runs) {
      crashes += 1;
      // The first crash may not count, because the run made progress before it: it completed the call. While
      // the other runs are suspects too, the hub tries again which of them crashes it.
      expect(crashes).toBeLessThanOrEqual(11);
      continue;
    }
    console.info(`the run failed after ${crashes} crashes`);
    expect(runs).toMatchObject([
      { status: "failed", error: { code: "gave_up" } },
      { status: "succeeded", error: null },
      { status: "succeeded", error: null },
    ]);
    break;
  }
  expect(crashes).toBeGreaterThanOrEqual(2);
}, 600_000);
