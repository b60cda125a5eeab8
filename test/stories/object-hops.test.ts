/**
 * On Cloudflare, a webhook takes one hop: the Worker calls the Durable Object of the tenant, which calls
 * no other object.
 */
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { ADMIN } from "../support/api-client.ts";
import { deliver, SECRET } from "../support/deliver.ts";
import { fixedPort } from "../support/fixed-port.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { startWorkerProcess, WORKER_MODULES } from "../support/worker-process.ts";

const MODULES = [
  ...["recording-worker.mjs", "manual-clock.mjs"].map((name) =>
    fileURLToPath(new URL(`../support/${name}`, import.meta.url)),
  ),
  ...WORKER_MODULES,
];

/** The time for which the Worker and the store cache an installation or the tenant of a key. */
const ROUTES_CACHE_MS = 60_000;
/** The time for which the store caches the secrets of an endpoint. */
const SECRETS_CACHE_MS = 5_000;

/** Starts a Worker that records its calls to Durable Objects, and their calls to each other. */
async function startRecordingWorker() {
  const data = tempFolder();
  const env = {
    PORT: await fixedPort(),
    GITHUB_WEBHOOK_SECRET: SECRET,
    SIGNALBOX_TOKEN: ADMIN,
    SIGNALBOX_TENANCY: "github",
  };
  const start = async () => {
    const worker = await startWorkerProcess({ data, env, modules: MODULES });
    onTestFinished(async () => void (await worker.stop("SIGKILL")));
    return worker;
  };
  let worker = await start();
  const send = (path: string, init: RequestInit = {}) =>
    fetch(`${worker.url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${ADMIN}`, ...init.headers },
    });
  const takeCalls = async () => (await (await send("/test/calls")).json()) as string[];
  return {
    /** Delivers a webhook, and returns the calls that it has caused. */
    async deliverAndReadCalls(path: string, secret = SECRET): Promise<string[]> {
      await takeCalls();
      const body = JSON.stringify({
        action: "opened",
        installation: { id: 7 },
        repository: { full_name: "acme/x", owner: { id: 100, login: "acme" } },
      });
      const sent = await deliver(worker.url, { path, body, secret, id: randomUUID() });
      expect(sent.status, await sent.text()).toBe(202);
      return takeCalls();
    },
    async createSource(): Promise<{ path: string; secret: string }> {
      const body = JSON.stringify({ kind: "github" });
      const headers = { "content-type": "application/json" };
      const created = await send("/api/sources?tenant=100", { method: "POST", body, headers });
      expect(created.status).toBe(201);
      const { url, secret } = (await created.json()) as { url: string; secret: string };
      return { path: new URL(url).pathname, secret };
    },
    advance: (ms: number) => send(`/test/clock?advance=${ms}`, { method: "POST" }),
    async restart() {
      await worker.stop("SIGKILL");
      worker = await start();
    },
  };
}

const ONE_HOP = ["worker > store.fetch"];

it("a webhook of a known installation takes one hop", async () => {
  const { deliverAndReadCalls, advance, restart } = await startRecordingWorker();
  const path = "/webhooks/github";
  // The first webhook of an installation registers it.
  expect(await deliverAndReadCalls(path)).toContain("worker > registry.fetch");
  const uncachedCalls = [
    "worker > registry.tenantOfInstallation",
    ...ONE_HOP,
    "store > registry.findInstallation",
  ];
  expect(await deliverAndReadCalls(path)).toEqual(uncachedCalls);
  for (let count = 0; count < 3; count += 1)
    expect(await deliverAndReadCalls(path)).toEqual(ONE_HOP);

  await advance(ROUTES_CACHE_MS + 1);
  expect(await deliverAndReadCalls(path)).toEqual(uncachedCalls);
  expect(await deliverAndReadCalls(path)).toEqual(ONE_HOP);

  await restart();
  expect(await deliverAndReadCalls(path)).toEqual(uncachedCalls);
  expect(await deliverAndReadCalls(path)).toEqual(ONE_HOP);
});

it("a webhook to an endpoint with its own secret takes one hop", async () => {
  const { deliverAndReadCalls, createSource, advance, restart } = await startRecordingWorker();
  await deliverAndReadCalls("/webhooks/github"); // registers the tenant
  const { path, secret } = await createSource();
  const lookUp = "store > registry.findSource";
  const uncachedCalls = ["worker > registry.tenantOfKey", ...ONE_HOP, lookUp];
  expect(await deliverAndReadCalls(path, secret)).toEqual(uncachedCalls);
  for (let count = 0; count < 3; count += 1)
    expect(await deliverAndReadCalls(path, secret)).toEqual(ONE_HOP);

  await advance(SECRETS_CACHE_MS + 1);
  expect(await deliverAndReadCalls(path, secret)).toEqual([...ONE_HOP, lookUp]);
  expect(await deliverAndReadCalls(path, secret)).toEqual(ONE_HOP);

  await restart();
  expect(await deliverAndReadCalls(path, secret)).toEqual(uncachedCalls);
  expect(await deliverAndReadCalls(path, secret)).toEqual(ONE_HOP);
});
