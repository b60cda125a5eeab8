/** How the hub receives webhooks: sources, signatures, limits and tenants. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Webhook } from "svix";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { makeSigningKey } from "../../packages/hub/src/events/admit/signatures.ts";
import { sources } from "../../packages/hub/src/events/sources/index.ts";
import { signSample } from "../../packages/hub/src/events/sources/signed-sample.ts";
import { nodeHmacKey } from "../../packages/hub/src/hosts/node/ports.ts";
import { LOCAL_TENANT } from "../../packages/hub/src/kernel/access/scopes.ts";
import { deliver, issueOpened, rawExchange, SECRET } from "../support/deliver.ts";
import { commandSettings, type Host, hosts, startOn } from "../support/hosts.ts";
import { type HubProcess, type HubProcessOptions, runCli } from "../support/hub-process.ts";
import { createMigratedDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";

const TOKEN = "sbx_reception_story";

async function startHub(
  env: Record<string, string> = {},
  options: Partial<HubProcessOptions> = {},
  host: Host = "Node",
): Promise<HubProcess> {
  const hub = await startOn(host, {
    data: options.data ?? tempFolder(),
    env: { GITHUB_WEBHOOK_SECRET: SECRET, SIGNALBOX_TOKEN: TOKEN, ...env },
    ...options,
  });
  onTestFinished(async () => void (await hub.stop()));
  return hub;
}

const readMetric = async (hub: HubProcess, pattern: RegExp) => {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const metrics = await (await fetch(`${hub.url}/metrics`, { headers })).text();
  return Number(pattern.exec(metrics)?.[1] ?? 0);
};

const codeOf = async (response: Response) => ((await response.json()) as { code?: string }).code;

interface StoredEvent {
  kind: string;
  source: string;
  external_id: string;
  type: string;
  received_at: string;
  headers: Record<string, string>;
  body: string;
}

/** Returns the latest event of a source, with the body and the headers that the hub has stored. */
async function readLatestEvent(hub: HubProcess, source: string): Promise<StoredEvent> {
  const response = await fetch(`${hub.url}/api/tenants/${LOCAL_TENANT}/export`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  const lines = (await response.text()).trimEnd().split("\n");
  const rows = lines.map((line) => JSON.parse(line) as StoredEvent);
  const event = rows.findLast((row) => row.kind === "event" && row.source === source);
  if (!event) throw new Error(`no event of ${source} is stored`);
  return event;
}

describe.each(["SQLite", "PostgreSQL", "workerd"] as const)("endpoints on %s", (backend) => {
  let hub: HubProcess;
  let hubWithoutSecret: HubProcess;
  const secretOf = (id: string) =>
    id === "standard-webhooks"
      ? `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`
      : `secret of ${id}`;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "signalbox-reception-"));
    const env: Record<string, string> = { SIGNALBOX_TOKEN: TOKEN };
    if (backend === "PostgreSQL")
      env.DATABASE_URL = await createMigratedDatabase(inject("postgresUrl"));
    for (const { id } of sources)
      env[`${id.toUpperCase().replaceAll("-", "_")}_WEBHOOK_SECRET`] =
        `the old secret, ${secretOf(id)}`;
    const host = backend === "workerd" ? "workerd" : "Node";
    hub = await startOn(host, { data: join(folder, "hub"), env });
    // A hub with PostgreSQL does not accept unsigned webhooks by default. A Worker requires one secret.
    hubWithoutSecret = await startOn(host, {
      data: join(folder, "without-secret"),
      env:
        backend === "workerd"
          ? { SIGNALBOX_TOKEN: TOKEN, GITHUB_WEBHOOK_SECRET: SECRET }
          : { DATABASE_URL: await createMigratedDatabase(inject("postgresUrl")) },
    });
  });
  afterAll(async () => {
    await hub?.stop();
    await hubWithoutSecret?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const post = (to: HubProcess, id: string, headers: Record<string, string>, body: Uint8Array) =>
    fetch(`${to.url}/webhooks/${id}`, { method: "POST", headers, body: new Uint8Array(body) });

  it.each(sources.map((source) => [source.id, source] as const))(
    "store a signed webhook of %s once, reject a forged webhook, and reject every webhook if no secret is set",
    async (id, source) => {
      const deliveryId = randomUUID();
      const sample = source.sample(deliveryId);
      if (!sample) throw new Error("no sample");
      const signed = await signSample(source, sample, secretOf(id), {
        now: Date.now(),
        id: deliveryId,
        makeHmacKey: nodeHmacKey,
      });

      const accepted = await post(hub, id, signed.headers, signed.body);
      // Some senders treat any response but an empty 200 as a failure, or show it to their users.
      const statusAndBody = async (response: Response) =>
        source.emptyResponse
          ? [response.status, await response.text()]
          : [response.status, await response.json()];
      const expectedResponse = (status: number, outcome: string) =>
        source.emptyResponse ? [200, ""] : [status, { outcome, id: expect.any(String) }];
      expect(await statusAndBody(accepted)).toEqual(expectedResponse(202, "stored"));

      const event = await readLatestEvent(hub, id);
      const storedBody = Buffer.from(event.body);
      expect(storedBody).toEqual(Buffer.from(signed.body));
      const scheme = source.signature(source.config?.parse({}) ?? {});
      const now = Date.parse(event.received_at);
      const verification = await scheme.verify(
        { header: (name) => event.headers[name], body: storedBody, now },
        makeSigningKey(scheme, secretOf(id), nodeHmacKey),
      );
      // A token in a header is the secret itself, and is never stored.
      expect(verification).toBe(scheme.covers === "body" ? "valid" : "missing");
      expect(JSON.stringify(event.headers)).not.toContain(secretOf(id));

      const duplicate = await post(hub, id, signed.headers, signed.body);
      expect(await statusAndBody(duplicate)).toEqual(expectedResponse(200, "duplicate"));
      expect(
        await readMetric(
          hub,
          new RegExp(
            `signalbox_webhooks_total\\{source="${id}",outcome="stored",reason=""\\} (\\d+)`,
          ),
        ),
      ).toBe(1);

      const forged = { headers: { ...signed.headers }, body: new Uint8Array(signed.body) };
      if (source.signature({}).covers === "body") forged.body[10] = (forged.body[10] as number) ^ 1;
      else forged.headers.authorization = `${forged.headers.authorization}x`;
      const forgedResponse = await post(hub, id, forged.headers, forged.body);
      expect([forgedResponse.status, await codeOf(forgedResponse)]).toEqual([
        403,
        "signature_mismatch",
      ]);

      if (backend === "workerd" && id === "github") return;
      const unverified = await post(hubWithoutSecret, id, signed.headers, signed.body);
      expect([unverified.status, await codeOf(unverified)]).toEqual([403, "no_secret"]);
    },
  );

  it("respond to Slack's URL verification only if it is signed", async () => {
    const source = sources.find(({ id }) => id === "slack");
    if (!source) throw new Error("no slack");
    const body = { type: "url_verification", challenge: "3eZbrw1a", token: "x" };
    const signed = await signSample(
      source,
      { body, headers: { "content-type": "application/json" } },
      secretOf("slack"),
      { now: Date.now(), id: "x", makeHmacKey: nodeHmacKey },
    );
    const response = await post(hub, "slack", signed.headers, signed.body);
    expect([response.status, await response.json()]).toEqual([200, { challenge: "3eZbrw1a" }]);
    const unsigned = await post(hub, "slack", { "content-type": "application/json" }, signed.body);
    expect(unsigned.status).toBe(403);
  });

  it("accept or reject a batch of CloudEvents as a whole", async () => {
    const event = (id: string) => ({
      specversion: "1.0",
      id,
      source: "/test",
      type: "com.example.tick",
    });
    const headers = {
      "content-type": "application/cloudevents-batch+json",
      authorization: `Bearer ${secretOf("cloudevents")}`,
    };
    const send = (events: unknown[]) =>
      fetch(`${hub.url}/webhooks/cloudevents`, {
        method: "POST",
        headers,
        body: JSON.stringify(events),
      });
    const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()];
    const accepted = await send([event(first), event(second)]);
    expect(accepted.status).toBe(202);
    expect(await accepted.json()).toMatchObject({
      outcome: "stored",
      events: [{ outcome: "stored" }, { outcome: "stored" }],
    });
    const withDuplicate = await send([event(second), event(third)]);
    expect(await withDuplicate.json()).toMatchObject({
      outcome: "stored",
      events: [{ outcome: "duplicate" }, { outcome: "stored" }],
    });
    const fourth = randomUUID();
    const withInvalidEvent = await send([event(fourth), { specversion: "1.0", id: "x" }]);
    expect(withInvalidEvent.status).toBe(400);
    const repeated = await send([event(fourth)]);
    expect(await repeated.json()).toMatchObject({ outcome: "stored" });
    const rejections = await readMetric(
      hub,
      /signalbox_webhooks_total\{source="cloudevents",outcome="refused",reason="[a-z_]+"\} (\d+)/,
    );
    expect(rejections).toBeGreaterThan(0);
  });

  it("respond to the CloudEvents handshake", async () => {
    const response = await fetch(`${hub.url}/webhooks/cloudevents`, {
      method: "OPTIONS",
      headers: {
        "webhook-request-origin": "eventemitter.example.com",
        "webhook-request-rate": "120",
      },
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("webhook-allowed-origin")).toBe("eventemitter.example.com");
    expect((await fetch(`${hub.url}/webhooks/github`, { method: "OPTIONS" })).status).toBe(405);
  });

  it("store a webhook with the headers of Svix, in any letter case", async () => {
    const body = '{"type":"email.bounced"}';
    const sentAt = new Date();
    const signature = new Webhook(secretOf("standard-webhooks")).sign("msg_svix", sentAt, body);
    const response = await rawExchange(
      hub.url,
      "POST /webhooks/standard-webhooks HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n` +
        `Svix-Id: msg_svix\r\nSVIX-TIMESTAMP: ${Math.floor(sentAt.getTime() / 1000)}\r\n` +
        `svix-Signature: ${signature}\r\n\r\n${body}`,
    );
    expect(response).toMatch(/^HTTP\/1.1 202 /);
    expect(await readLatestEvent(hub, "standard-webhooks")).toMatchObject({
      external_id: "msg_svix",
      type: "email.bounced",
    });
  });
});

describe("unsigned webhooks", () => {
  const sendStripe = (hub: HubProcess, headers: Record<string, string> = {}) =>
    fetch(`${hub.url}/webhooks/stripe`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ id: randomUUID(), type: "invoice.paid" }),
    });

  it("of every source are accepted from this machine if no secret is configured", async () => {
    const hub = await startHub({ GITHUB_WEBHOOK_SECRET: "" });
    expect(hub.output()).toContain("Unsigned");
    for (const { id } of sources) {
      const sent = await runCli(["send", id, "--url", `${hub.url}/webhooks/${id}`]);
      expect([sent.code, sent.stdout], id).toEqual([0, expect.stringContaining("✓")]);
    }
  });

  it("are rejected from a browser or a tunnel", async () => {
    const hub = await startHub({ GITHUB_WEBHOOK_SECRET: "" });
    expect((await sendStripe(hub)).status).toBe(202);
    for (const headers of [
      { origin: "https://evil.example" },
      { "x-forwarded-for": "203.0.113.7" },
    ] as Record<string, string>[]) {
      const rejected = await sendStripe(hub, headers);
      expect([rejected.status, await codeOf(rejected)]).toEqual([403, "browser_origin"]);
    }
    const withForeignHost = await rawExchange(
      hub.url,
      "POST /webhooks/stripe HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 26\r\n\r\n" +
        '{"id":"1","type":"a.paid"}',
    );
    expect(withForeignHost).toContain('"code":"browser_origin"');
  });

  it.each([
    [{ GITHUB_WEBHOOK_SECRET: SECRET }, []],
    [{ GITHUB_WEBHOOK_SECRET: "", GENERIC_WEBHOOK_SECRET: "s" }, []],
    [{ GITHUB_WEBHOOK_SECRET: "" }, ["source", "add", "github"]],
  ] as [Record<string, string>, string[]][])(
    "are rejected if a secret is configured, with the environment %j and the command %j",
    async (env, command) => {
      const data = tempFolder();
      if (command.length > 0) await runCli([...command, "--data", data]);
      const hub = await startHub(env, { data });
      const rejected = await sendStripe(hub);
      expect([rejected.status, await codeOf(rejected)]).toEqual([403, "no_secret"]);
      expect(hub.output()).not.toContain("Unsigned");
      expect(await (await fetch(hub.url)).text()).not.toContain("Unsigned");
    },
  );

  it("are accepted in addition to signed webhooks with --allow-unsigned, and the hub prints a warning", async () => {
    const hub = await startHub({}, { args: ["--allow-unsigned"] });
    expect((await sendStripe(hub)).status).toBe(202);
    expect((await deliver(hub.url, { secret: "wrong" })).status).toBe(403);
    expect(hub.output()).toContain("Unsigned");
  });
});

describe.each(hosts)("a hub on %s", (host) => {
  const start = (env: Record<string, string> = {}, data = tempFolder()) =>
    startHub(env, { data }, host);

  it("accepts each of two secrets", async () => {
    const hub = await start({ GITHUB_WEBHOOK_SECRET: "the new secret, the old secret" });
    for (const secret of ["the new secret", "the old secret"])
      expect((await deliver(hub.url, { secret })).status).toBe(202);
    expect((await deliver(hub.url, { secret: "an older secret" })).status).toBe(403);
  });

  it("rejects events above the quota with 429, except duplicates and installation events, which do not count", async () => {
    const hub = await start({ SIGNALBOX_QUOTA: "5" });
    const body = JSON.stringify({ installation: { id: 1, account: { id: 100, login: "octo" } } });
    const sendInstallation = (type: string) => deliver(hub.url, { type, body });
    const exempt = await Promise.all(
      Array.from({ length: 8 }, () => sendInstallation("installation")),
    );
    expect(exempt.map(({ status }) => status)).toEqual(Array(8).fill(202));
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => deliver(hub.url, { id: `q-${index}` })),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([
      ...Array(5).fill(202),
      ...Array(15).fill(429),
    ]);
    const rejected = responses.find(({ status }) => status === 429) as Response;
    expect(rejected.headers.get("retry-after")).toBe("60");
    expect(await rejected.json()).toMatchObject({
      code: "quota_exceeded",
      detail: expect.stringContaining("5 events are pending, and the quota is 5"),
    });
    const storedIndex = responses.findIndex(({ status }) => status === 202);
    expect((await deliver(hub.url, { id: `q-${storedIndex}` })).status).toBe(200);
    expect((await sendInstallation("installation")).status).toBe(202);
    expect((await sendInstallation("installation_repositories")).status).toBe(202);
    expect((await deliver(hub.url)).status).toBe(429);
    // The header with the type is not signed. This body is not that of an installation event.
    expect((await deliver(hub.url, { type: "installation" })).status).toBe(429);
  });

  it("accepts 150 concurrent deliveries with the default rate limit", async () => {
    const hub = await start({ SIGNALBOX_RATE_LIMIT: "" });
    const responses = await Promise.all(Array.from({ length: 150 }, () => deliver(hub.url)));
    expect(responses.map(({ status }) => status)).toEqual(Array(150).fill(202));
  });

  it("limits the rate of invalid requests before it reads their bodies, but not that of signed webhooks", async () => {
    const hub = await start({ SIGNALBOX_RATE_LIMIT: "3" });
    const sendInvalid = () => fetch(`${hub.url}/webhooks/github`);
    const limited = (await Promise.all(Array.from({ length: 30 }, sendInvalid))).filter(
      ({ status }) => status === 429,
    );
    expect(limited.length).toBeGreaterThan(20);
    expect(limited[0]?.headers.get("retry-after")).toBe("1");
    expect(await codeOf(limited[0] as Response)).toBe("rate_limited");
    expect((await deliver(hub.url)).status).toBe(202);

    // A client that has reached the limit still gets its signatures verified: 403 or 202, not 429.
    const mixed = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        deliver(hub.url, index % 5 === 0 ? {} : { secret: "wrong" }),
      ),
    );
    expect(mixed.map(({ status }) => status)).toEqual(
      mixed.map((_, index) => (index % 5 === 0 ? 202 : 403)),
    );

    const strictHub = await start({ SIGNALBOX_RATE_LIMIT: "1" });
    // The body of this request is never sent.
    const headWithoutBody =
      "POST /webhooks/github HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n";
    await expect
      .poll(async () => {
        await deliver(strictHub.url, { secret: "wrong" });
        return rawExchange(strictHub.url, headWithoutBody);
      })
      .toMatch(/^HTTP\/1.1 429 /);
    const toUnknownKey = await Promise.all(
      Array.from({ length: 5 }, () =>
        deliver(strictHub.url, { path: `/webhooks/github/${"x".repeat(22)}` }),
      ),
    );
    expect(toUnknownKey.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(3);
  });

  it("accepts only webhooks from GitHub's addresses with the allowlist, and reads the address from the proxy's header", async ({
    skip,
  }) => {
    skip(host === "workerd", "a Worker gets the address from Cloudflare");
    const githubApi = createServer((request, response) => {
      response.setHeader("content-type", "application/json");
      response.end(
        request.url === "/meta"
          ? JSON.stringify({ hooks: ["192.0.2.0/24", "2001:db8::/32"] })
          : "{}",
      );
    }).listen(0, "127.0.0.1");
    await once(githubApi, "listening");
    onTestFinished(() => void githubApi.close());
    const hub = await start({
      GITHUB_IP_ALLOWLIST: "on",
      GITHUB_API_URL: `http://127.0.0.1:${(githubApi.address() as AddressInfo).port}`,
      SIGNALBOX_PROXY_HEADER: "X-Forwarded-For",
      STANDARD_WEBHOOKS_WEBHOOK_SECRET: "x",
    });
    const deliverFrom = (address: string) =>
      deliver(hub.url, { headers: { "x-forwarded-for": address } });
    // Until GitHub's list has been fetched, the hub uses a built-in list.
    await expect.poll(async () => (await deliverFrom("192.0.2.7")).status).toBe(202);
    expect((await deliverFrom("2001:db8::7")).status).toBe(202);
    expect((await deliverFrom("::ffff:192.0.2.7")).status).toBe(202);
    const rejected = await deliverFrom("198.51.100.1");
    expect([rejected.status, await codeOf(rejected)]).toEqual([403, "address_not_allowed"]);
    expect((await deliverFrom("2001:db9::7")).status).toBe(403);
    expect((await deliverFrom("192.0.2.7, 198.51.100.1")).status).toBe(403);
    expect((await deliver(hub.url)).status).toBe(403);
    expect(await codeOf(await deliver(hub.url, { path: "/webhooks/standard-webhooks" }))).toBe(
      "signature_missing",
    );
  });

  it("resolves the tenant from the installation, and has a quota for each tenant", async () => {
    const hub = await start({ SIGNALBOX_TENANCY: "github", SIGNALBOX_QUOTA: "2" });
    const payload = (installation: number | undefined, account?: number) =>
      JSON.stringify({
        ...issueOpened,
        repository: {
          ...issueOpened.repository,
          ...(account ? { owner: { id: account, login: "a" } } : { owner: undefined }),
        },
        ...(installation ? { installation: { id: installation } } : {}),
      });
    const sendInstallation = (action: string, updatedAt: number) =>
      deliver(hub.url, {
        type: "installation",
        body: JSON.stringify({
          action,
          installation: { id: 1, account: { id: 100, login: "octo" }, updated_at: updatedAt },
        }),
      });
    expect((await sendInstallation("created", 1_767_571_200)).status).toBe(202);
    expect((await deliver(hub.url, { body: payload(1) })).status).toBe(202);
    expect((await deliver(hub.url, { body: payload(1) })).status).toBe(202);
    expect((await deliver(hub.url, { body: payload(1) })).status).toBe(429);
    expect((await deliver(hub.url, { body: payload(2, 200) })).status).toBe(202);
    for (const body of [payload(3), payload(undefined, 100)]) {
      const unknown = await deliver(hub.url, { body });
      expect([unknown.status, await codeOf(unknown)]).toEqual([404, "unknown_tenant"]);
    }
    const withoutKey = await deliver(hub.url, { path: "/webhooks/stripe" });
    expect(withoutKey.status).toBe(404);
    expect(await withoutKey.json()).toMatchObject({
      detail: expect.stringContaining("signalbox source add stripe"),
    });

    // A deleted installation has no tenant. An old `created` webhook does not restore it.
    expect((await sendInstallation("deleted", 1_767_571_200)).status).toBe(202);
    expect((await sendInstallation("created", 1_767_571_200)).status).toBe(404);
    expect((await deliver(hub.url, { body: payload(1, 100) })).status).toBe(404);
    expect((await deliver(hub.url, { body: payload(2) })).status).toBe(202);
  });

  it("uses the secrets of an endpoint with a key, and accepts the old and the new secret during a rotation", async () => {
    const data = tempFolder();
    const hub = await start({}, data);
    const env = commandSettings(host, hub, { data, token: TOKEN });
    const runSourceCommand = async (...args: string[]) =>
      JSON.parse((await runCli(["source", ...args, "--json"], { env })).stdout);
    const { id, url, secret } = await runSourceCommand("add", "github", "a repository");
    const path = new URL(url).pathname;
    expect((await deliver(hub.url, { path, secret })).status).toBe(202);
    expect((await deliver(hub.url, { path, secret: SECRET })).status).toBe(403);
    const rotated = await runSourceCommand("rotate", id, "--grace", "1");
    await expect
      .poll(async () => (await deliver(hub.url, { path, secret: rotated.secret })).status, {
        interval: 250,
      })
      .toBe(202);
    expect((await deliver(hub.url, { path, secret })).status).toBe(202);
    const rotatedAgain = await runSourceCommand("rotate", id, "--grace", "0");
    await expect
      .poll(async () => (await deliver(hub.url, { path, secret: rotated.secret })).status, {
        interval: 250,
      })
      .toBe(403);
    expect((await deliver(hub.url, { path, secret: rotatedAgain.secret })).status).toBe(202);
    await runSourceCommand("remove", id);
    await expect
      .poll(async () => (await deliver(hub.url, { path, secret })).status, { interval: 250 })
      .toBe(404);
  });

  it("accepts a form whose field `payload` contains the JSON", async () => {
    const hub = await start();
    const body = new URLSearchParams({ payload: JSON.stringify(issueOpened) }).toString();
    const response = await deliver(hub.url, {
      body,
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    expect(response.status).toBe(202);
  });
});
