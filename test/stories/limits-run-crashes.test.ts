/**
 * A run that exhausts the memory of its worker is given up, and no other run with it. On one database
 * only: each counts claims in the same way, by the contract of the store.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { ADMIN, type Api, startApi } from "../support/api-client.ts";
import { edge, intent, node } from "../support/flow-samples.ts";
import { type HubProcess, startHubProcess } from "../support/hub-process.ts";
import { WAIT } from "../support/timeouts.ts";

/** A server that responds only after `release`. */
async function startHanging() {
  const open = new Set<ServerResponse>();
  let isReleased = false;
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    if (isReleased) response.end("{}");
    else open.add(response);
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
      for (const response of open) response.end("{}");
    },
  };
}

const TRIGGER = "intent Go";
const call = (url: string) => node("call", "HttpRequest", { url, method: "POST" });

const LARGE = Array.from({ length: 150 }, (_, at) => `large${at}`);
/** Its last node reads 135 MB. */
const killer = (url: string) => ({
  name: "Killer",
  nodes: [
    intent("Go"),
    ...LARGE.map((id) => node(id, "Code", { code: 'return "x".repeat(900_000)' })),
    call(url),
    node("all", "Merge"),
  ],
  edges: [...LARGE, "call"].flatMap((id, at, ids) => [
    edge(ids[at - 1] ?? TRIGGER, id),
    edge(id, "all"),
  ]),
});
const harmless = (url: string) => ({
  name: "Harmless",
  nodes: [intent("Go"), call(url), node("end", "Return", { value: "done" })],
  edges: [edge(TRIGGER, "call"), edge("call", "end")],
});

async function start(api: Api, flow: object): Promise<string> {
  const { id } = (await api.expect(201, "POST", "/api/apps/desk/flows", flow)).json;
  await api.expect(200, "POST", `/api/flows/${id}/publish`);
  return (await api.expect(202, "POST", `/api/flows/${id}/runs`, { trigger: TRIGGER })).json.id;
}

it("a run whose next step does not fit in memory is given up after ten claims, alone", async () => {
  const hanging = await startHanging();
  const settings = {
    SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1",
    SIGNALBOX_RUN_LEASE: "1",
    SIGNALBOX_RUN_BYTES: "200000000",
  };
  const api = await startApi("SQLite", settings);
  await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
  const called = (count: number) =>
    vi.waitFor(() => expect(hanging.requests()).toBe(count), { ...WAIT, timeout: 180_000 });
  const killing = await start(api, killer(hanging.url));
  await called(1);
  const others = [await start(api, harmless(hanging.url)), await start(api, harmless(hanging.url))];
  await called(3);
  await api.hub.stop("SIGKILL");
  hanging.release();

  const env = { ...api.env, NODE_OPTIONS: "--max-old-space-size=64" };
  const get = async (hub: HubProcess, id: string) => {
    const headers = { authorization: `Bearer ${ADMIN}` };
    const response = await fetch(`${hub.url}/api/runs/${id}`, { headers });
    return (await response.json()) as { status: string; error: { code: string } | null };
  };
  const ended = async (hub: HubProcess) =>
    vi.waitFor(async () => {
      const runs = [];
      for (const id of [killing, ...others]) runs.push(await get(hub, id));
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
    const runs = hub && (await Promise.race([ended(hub), hub.exited.then(() => undefined)]));
    if (!runs) {
      crashes += 1;
      expect(crashes).toBeLessThanOrEqual(11); // the first is after the progress of the call
      continue;
    }
    console.info(`given up after ${crashes} crashes`);
    expect(runs).toMatchObject([
      { status: "failed", error: { code: "gave_up" } },
      { status: "succeeded", error: null },
      { status: "succeeded", error: null },
    ]);
    break;
  }
  expect(crashes).toBeGreaterThanOrEqual(8);
}, 600_000);
