/** Tenants of a GitHub App, from their first webhook to their deletion, on both hosts. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ADMIN, startApi } from "../support/api-client.ts";
import { deliver } from "../support/deliver.ts";
import { connectSdk2 } from "../support/events-client.ts";
import { startFakeGithub } from "../support/fake-github.ts";
import { runCli } from "../support/hub-process.ts";
import { openSocket } from "../support/open-socket.ts";
import { openSse, type SseReader } from "../support/sse.ts";
import { tempFolder } from "../support/temp-folder.ts";

it.for(["SQLite", "workerd"] as const)(
  "an account becomes a tenant, is exported, and is deleted, on %s",
  async (backend) => {
    const github = await startFakeGithub();
    onTestFinished(github.close);
    github.addOrganization("acme", { id: 100 });
    const { id } = github.install("acme");
    const api = await startApi(backend, { SIGNALBOX_TENANCY: "github", ...github.env });
    const env = { ...api.env, SIGNALBOX_TENANCY: "github" };
    const runTenantCommand = (...args: string[]) => runCli(["tenant", ...args], { env });
    const send = async (body: object, type = "issues") => {
      const secret = github.env.GITHUB_WEBHOOK_SECRET as string;
      const sent = await deliver(api.hub.url, { type, secret, body: JSON.stringify(body) });
      return [sent.status, ((await sent.json()) as { code?: string }).code];
    };
    const opened = { action: "opened", installation: { id } };

    // The payloads do not name the owner, so the hub asks GitHub, but only once.
    expect(await Promise.all([send(opened), send(opened), send(opened)])).toEqual(
      Array.from({ length: 3 }, () => [202, undefined]),
    );
    const lookUps = () =>
      github.requests.filter((request) => request.startsWith("GET /app/installations"));
    expect(lookUps()).toEqual([`GET /app/installations/${id}`]);
    expect(await send({ action: "opened", installation: { id: 9 } })).toEqual([
      404,
      "unknown_tenant",
    ]);
    const installation = { id, account: { id: 100, login: "acme" } };
    const suspendedAt = "2026-11-17T10:00:00Z";
    await send(
      {
        action: "suspend",
        installation: { ...installation, updated_at: suspendedAt, suspended_at: suspendedAt },
      },
      "installation",
    );
    github.suspendInstallation(id);
    // The hub caches an installation for a minute, so it may still accept the webhook.
    expect([202, 403]).toContain((await send(opened))[0]);
    await send(
      {
        action: "unsuspend",
        installation: { ...installation, updated_at: "2026-11-17T10:01:00Z", suspended_at: null },
      },
      "installation",
    );
    github.suspendInstallation(id, false);
    const { json: tenant } = await api.expect(200, "PATCH", "/api/tenants/100", { quota: 50 });
    expect(tenant).toMatchObject({ name: "acme", in_force: { quota: 50 } });

    const file = join(tempFolder(), "acme.ndjson");
    expect((await runTenantCommand("export", "100", "--output", file)).stderr).toBe("");
    const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
    const exported = lines.map((line) => JSON.parse(line) as { kind: string; body?: string });
    expect(exported.filter(({ kind }) => kind === "event").length).toBe(tenant.events);
    expect(exported.find(({ kind }) => kind === "event")?.body).toBe(JSON.stringify(opened));
    expect(exported.at(-1)?.kind).toBe("end");
    expect((await stat(file)).mode & 0o777).toBe(0o600);

    const token = await api.token("--tenant", "100");
    const stream = await fetch(`${api.hub.url}/events`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const streamEnd = stream.text();
    expect(await runTenantCommand("delete", "100")).toMatchObject({ code: 2 });
    expect(
      JSON.parse((await runTenantCommand("delete", "100", "--yes", "--json")).stdout),
    ).toMatchObject({
      id: "100",
      deleted: true,
    });
    await streamEnd;
    await api.expect(401, "GET", "/pending-status", undefined, { token });
    expect(await send(opened)).toEqual([404, "unknown_tenant"]);
    expect(JSON.parse((await runTenantCommand("list", "--json")).stdout)).toEqual([]);

    // A second deletion deletes what was stored after the first one.
    const lateToken = await api.token("--tenant", "100");
    await api.expect(200, "GET", "/pending-status", undefined, { token: lateToken });
    expect(await runTenantCommand("delete", "100", "--yes")).toMatchObject({ code: 0 });
    await expect
      .poll(
        async () =>
          (await api.call("GET", "/pending-status", undefined, { token: lateToken })).status,
      )
      .toBe(401);
    expect(await runTenantCommand("delete", "100", "--yes")).toMatchObject({ code: 1 });

    // After a new installation, the account is a tenant again, without its former data.
    const reinstalled = github.install("acme");
    expect(await send({ action: "opened", installation: { id: reinstalled.id } })).toEqual([
      202,
      undefined,
    ]);
    const { json: events } = await api.expect(200, "GET", "/api/events?tenant=100");
    expect(events.items).toHaveLength(1);
    expect(events.items[0].seq).toBe(tenant.events + 1);
  },
);

/** Opens the stream of an MCP session. */
async function openMcpStream(url: string, token: string): Promise<SseReader> {
  const headers = {
    authorization: `Bearer ${token}`,
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
  };
  const protocolVersion = "2025-06-18";
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: "c", version: "1" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  const opened = await fetch(`${url}/mcp`, { method: "POST", headers, body });
  const session = opened.headers.get("mcp-session-id") as string;
  await opened.text();
  const stream = await openSse(`${url}/mcp`, { ...headers, "mcp-session-id": session });
  expect(stream.response.status).toBe(200);
  return stream;
}

it.for(["SQLite", "workerd"] as const)(
  "the deletion of a tenant ends its live streams, and no others, on %s",
  async (backend) => {
    const api = await startApi(backend, { SIGNALBOX_TENANCY: "github" });
    const send = (account: number) => {
      const owner = { id: account, login: `a${account}` };
      const body = JSON.stringify({ installation: { id: account }, repository: { owner } });
      return deliver(api.hub.url, { body, id: `${account} ${crypto.randomUUID()}` });
    };
    await Promise.all([send(1), send(2)]);
    const open = async (token: string, path = "/events") => {
      const headers = { authorization: `Bearer ${token}` };
      const socket = openSocket(api.hub, path, headers);
      await expect.poll(() => socket.messages[0]).toMatchObject({ status: "connected" });
      const sse = await openSse(`${api.hub.url}${path}`, headers);
      await expect.poll(() => sse.messages.length).toBe(1);
      return { socket, sse };
    };
    const token = await api.token("--tenant", "1");
    const ofTenant = [
      await open(token),
      await open(await api.token("--tenant", "1,2")),
      await open(ADMIN, "/events?tenant=1"),
    ];
    const mcp = await openMcpStream(api.hub.url, token);
    const { request } = await connectSdk2(api.hub, token);
    const wait = request("tools/call", { name: "wait_for_event", arguments: {} });
    const others = [
      await open(await api.token("--tenant", "2")),
      await open(ADMIN, "/events?tenant=2"),
    ];
    await api.expect(202, "DELETE", "/api/tenants/1");
    for (const { socket, sse } of ofTenant) {
      expect(await socket.closed).toBe(4401);
      await sse.ended;
      expect(sse.messages.at(-1)).toMatchObject({ event: "closed", data: { code: 4401 } });
    }
    await mcp.ended;
    expect(await wait).toMatchObject({ isError: true });
    await send(2);
    for (const { socket, sse } of others) {
      await expect.poll(socket.seqs).toEqual([2]);
      await expect.poll(sse.seqs).toEqual([2]);
      sse.close();
    }
  },
);

it("`signalbox tenant` reports an invalid action, an unknown id, and a file that it cannot write", async () => {
  const { env } = await startApi("SQLite");
  const runTenantCommand = (...args: string[]) => runCli(["tenant", ...args], { env });
  const actions = "list, show ID, export ID, or delete ID";
  const folder = tempFolder();
  const missing = join(folder, "none", "all.ndjson");
  const cases: [string[], number, string][] = [
    [[], 2, `Missing action: ${actions}.`],
    [["frob"], 2, `Unknown action "frob". Known actions: ${actions}.`],
    [["constructor"], 2, 'Unknown action "constructor"'],
    [
      ["show", "acme"],
      1,
      'No tenant has the id "acme". `npx signalbox tenant list` shows the ids.',
    ],
    [["export", "acme"], 1, 'No tenant has the id "acme".'],
    [
      ["export", "local", "--output", missing],
      2,
      `Cannot write ${missing}: its folder does not exist.`,
    ],
    [["export", "local", "--output", folder], 2, `Cannot write ${folder}: it is a folder.`],
  ];
  for (const [args, code, message] of cases) {
    const result = await runTenantCommand(...args);
    expect([args, result.code, result.stderr]).toEqual([
      args,
      code,
      expect.stringContaining(message),
    ]);
    expect(result.stderr.trim().split("\n")).toHaveLength(1);
  }
});
