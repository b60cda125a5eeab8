/** Behaviour on Cloudflare: several Durable Objects serve one client, and idle objects are evicted. */
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { startApi } from "../support/api-client.ts";
import { deliver, SECRET } from "../support/deliver.ts";
import { clients } from "../support/events-client.ts";
import { fixedPort } from "../support/fixed-port.ts";
import { edge, node } from "../support/flow-samples.ts";
import type { HubProcess } from "../support/hub-process.ts";
import { openSocket as openSocketWith } from "../support/open-socket.ts";
import { openSse } from "../support/sse.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { MAX_WAIT_MS, WAIT } from "../support/timeouts.ts";
import { startWorkerProcess } from "../support/worker-process.ts";

/** Delivers a webhook of the account's installation. */
async function deliverForAccount(hub: HubProcess, account: number, id: string): Promise<void> {
  const body = JSON.stringify({
    installation: { id: account },
    repository: { full_name: `account-${account}/x`, owner: { id: account, login: `a${account}` } },
  });
  expect((await deliver(hub.url, { body, id })).status).toBe(202);
}

async function openSocket(hub: HubProcess, token: string) {
  const client = openSocketWith(hub, "/events", { authorization: `Bearer ${token}` });
  const { messages } = client;
  await expect.poll(() => messages[0]).toMatchObject({ status: "connected" });
  const repos = () =>
    messages.flatMap(({ summary }) => (summary ? [(summary as { repo: string }).repo] : []));
  return { ...client, repos };
}

it("the inbox, streams and waits of a token include all its tenants", async () => {
  const { hub, token, call } = await startApi("workerd", { SIGNALBOX_TENANCY: "github" });
  await deliverForAccount(hub, 1, "first");
  await deliverForAccount(hub, 2, "second");
  const bothToken = await token("--scope", "inbox:read,inbox:write", "--tenant", "1,2");
  const readStatus = async () =>
    (await call("GET", "/pending-status", undefined, { token: bothToken })).json;
  expect(await readStatus()).toMatchObject({ pending_count: 2 });
  // The object of tenant 1 has already stored this delivery.
  await deliver(hub.url, { id: "first", body: JSON.stringify({ installation: { id: 1 } }) });
  expect(await readStatus()).toMatchObject({ pending_count: 2 });

  const sse = await openSse(`${hub.url}/events`, { authorization: `Bearer ${bothToken}` });
  const { repos } = await openSocket(hub, bothToken);
  await deliverForAccount(hub, 1, "third");
  await deliverForAccount(hub, 2, "fourth");
  await expect.poll(repos).toEqual(["account-1/x", "account-2/x"]);
  await expect.poll(() => sse.seqs()).toEqual([2, 2]);

  let openWaits = 0;
  for (const [, connect] of clients) {
    const { request } = await connect(hub, bothToken);
    openWaits += 1;
    const call = { name: "wait_for_event", arguments: { repo: "account-2/x" } };
    void request("tools/call", call).then((result) => {
      if (JSON.stringify(result).includes("account-2/x")) openWaits -= 1;
    });
  }
  await vi.waitFor(async () => {
    await deliverForAccount(hub, 2, crypto.randomUUID());
    expect(openWaits).toBe(0);
  }, WAIT);
});

it("an idle object is evicted, but its sockets stay open and get the next event", async () => {
  const { hub, token, call } = await startApi("workerd");
  const reader = await token("--scope", "inbox:read");
  const { messages, repos, socket, closed } = await openSocket(hub, reader);
  await deliverForAccount(hub, 1, "first");
  await expect.poll(repos).toEqual(["account-1/x"]);
  const readStartTime = async () => (await call("GET", "/api/hub")).json.started_at as string;
  const firstStart = await readStartTime();
  // workerd evicts an object that was idle for ten seconds. Each check ends the idle time.
  await vi.waitFor(async () => expect(await readStartTime()).not.toBe(firstStart), {
    timeout: 2 * MAX_WAIT_MS,
    interval: 14_000,
  });
  await deliverForAccount(hub, 2, "second");
  await expect.poll(repos).toEqual(["account-1/x", "account-2/x"]);
  socket.send("ping");
  await expect.poll(() => messages.at(-1)).toHaveProperty("pong");
  expect(messages.filter(({ status }) => status === "connected")).toHaveLength(1);

  // After its token is revoked, an idle socket is closed when the next event arrives.
  const tokens = (await call("GET", "/api/tokens")).json.items as {
    id: string;
    scopes: string[];
  }[];
  const { id = "" } = tokens.find(({ scopes }) => scopes.join() === "inbox:read") ?? {};
  await call("DELETE", `/api/tokens/${id}`);
  await expect
    .poll(async () => (await call("GET", "/metrics")).text)
    .toContain("signalbox_connected_streams 0");
  await deliverForAccount(hub, 3, "third");
  expect(await closed).toBe(4401);
  expect(repos()).toEqual(["account-1/x", "account-2/x"]);
});

it("a WebSocket is closed if its client exceeds a limit", async () => {
  const { hub, token } = await startApi("workerd");
  const reader = await token("--scope", "inbox:read");
  const closeCode = async (messages: (string | Buffer)[]) => {
    const { socket, closed } = await openSocket(hub, reader);
    for (const message of messages) socket.send(message);
    return closed;
  };
  expect(await closeCode(["x".repeat(4_097)])).toBe(1009);
  expect(await closeCode([Buffer.alloc(4_097)])).toBe(1009);
  expect(await closeCode(Array(20).fill("x".repeat(4_096)))).toBe(1008);
  expect(await closeCode(Array(120).fill("ping"))).toBe(1008);
});

it("an alarm continues a suspended run after a kill, without a request", async () => {
  const calledPaths: string[] = [];
  const calledServer = createServer((request, response) => {
    calledPaths.push(request.url ?? "");
    response.end("{}");
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void calledServer.close());
  await once(calledServer, "listening");
  const { port } = calledServer.address() as AddressInfo;
  const {
    hub,
    env,
    expect: call,
  } = await startApi("workerd", {
    PORT: await fixedPort(),
    SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1",
    SIGNALBOX_RUN_LEASE: "1",
  });
  await call(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
  const flow = await call(201, "POST", "/api/apps/desk/flows", {
    name: "Later",
    nodes: [
      node("event", "Event", { source: "github", type: "issues" }),
      node("wait", "Wait", { seconds: 3 }),
      node("call", "HttpRequest", { url: `http://127.0.0.1:${port}/later` }),
    ],
    edges: [edge("event", "wait"), edge("wait", "call")],
  });
  await call(200, "POST", `/api/flows/${flow.json.id}/publish`);
  await deliverForAccount(hub, 1, "first");
  await hub.stop("SIGKILL");
  expect(calledPaths).toEqual([]);
  const data = env.SIGNALBOX_DATA ?? "";
  const restarted = await startWorkerProcess({ data, env });
  onTestFinished(async () => void (await restarted.stop("SIGKILL")));
  await expect.poll(() => calledPaths).toEqual(["/later"]);
});

const REQUIRED_ENV = {
  SIGNALBOX_TOKEN: "the-token-of-the-operator",
  GITHUB_WEBHOOK_SECRET: SECRET,
};

it.each([
  {
    missing: "the binding WEBHOOK_STORE",
    options: { env: REQUIRED_ENV, classes: { TENANT_REGISTRY: "TenantRegistry" } },
  },
  {
    missing: "GITHUB_WEBHOOK_SECRET",
    options: { env: { SIGNALBOX_TOKEN: REQUIRED_ENV.SIGNALBOX_TOKEN } },
  },
])(
  "the Worker responds with a problem document if $missing is missing",
  async ({ missing, options }) => {
    const worker = await startWorkerProcess({ data: tempFolder(), ...options });
    onTestFinished(async () => void (await worker.stop()));
    const response = await fetch(`${worker.url}/healthz`);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      code: "misconfigured",
      detail: expect.stringContaining(missing),
    });
  },
);

it.each(["single", "github"])(
  "the Worker keeps the connection open after rejected requests with bodies, with the tenancy %s",
  async (SIGNALBOX_TENANCY) => {
    const env = { ...REQUIRED_ENV, SIGNALBOX_TENANCY };
    const worker = await startWorkerProcess({ data: tempFolder(), env });
    onTestFinished(async () => void (await worker.stop()));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const post = (path: string, bytes: number) =>
      new Promise<string>((resolve) => {
        const headers = { "content-type": "application/json", "content-length": bytes };
        const clientRequest = request(`${worker.url}${path}`, { method: "POST", agent, headers });
        clientRequest.on("response", (response) => {
          response.resume();
          response.on("end", () => resolve(String(response.statusCode)));
          response.on("error", (error) => resolve(error.message));
        });
        clientRequest.on("error", (error) => resolve(error.message));
        clientRequest.end(Buffer.alloc(bytes, "x"));
      });
    for (const bytes of [10, 200_000])
      for (const path of ["/mcp", "/api/tokens", "/mcp", "/webhooks/github", "/mcp"])
        expect([path, bytes, await post(path, bytes)]).toEqual([
          path,
          bytes,
          path === "/webhooks/github" ? "403" : "401",
        ]);
    expect(worker.output()).not.toContain("request stream");
  },
);

it("a connection cannot be a command, and the error asks for no setting that would allow it", async () => {
  const { call } = await startApi("workerd", { SIGNALBOX_ALLOW_COMMANDS: "on" });
  const { status, json } = await call("POST", "/api/connections", { name: "x", command: "node" });
  expect([status, json.detail]).toEqual([
    403,
    "command: This hub runs on Cloudflare Workers, where commands cannot run: set url instead.",
  ]);
  expect((await call("GET", "/api/hub")).json).toMatchObject({ allows_commands: false });
});

it.each(["single", "github"])(
  "accepts webhooks of GitHub only from GitHub's addresses, as Cloudflare reports them, with the tenancy %s",
  async (tenancy) => {
    const { hub } = await startApi("workerd", {
      SIGNALBOX_TENANCY: tenancy,
      GITHUB_IP_ALLOWLIST: "auto",
      // Cannot be reached, so the list that the Worker contains is used.
      GITHUB_API_URL: "http://127.0.0.1:1",
    });
    const body = JSON.stringify({ installation: { id: 1 }, repository: { owner: { id: 1 } } });
    const sendFrom = async (address: string) => {
      const headers = { "cf-connecting-ip": address };
      const response = await deliver(hub.url, { body, headers });
      return [response.status, ((await response.json()) as { code?: string }).code];
    };
    expect(await sendFrom("140.82.115.1")).toEqual([202, undefined]);
    expect(await sendFrom("2a0a:a440::1")).toEqual([202, undefined]);
    for (const address of ["192.0.2.1", "2001:db8::1"])
      expect(await sendFrom(address)).toEqual([403, "address_not_allowed"]);
  },
);
