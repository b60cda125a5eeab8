/** `POST /api/trigger-callback` on a real hub: the requests that it accepts, and the events and runs that follow. */
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { edge, node } from "../../../../../test/support/flow-samples.ts";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { sha256Hex } from "../../kernel/lib/hmac.ts";
import { randomSecret } from "../../kernel/lib/random-secret.ts";
import { readSettings } from "../../settings.ts";
import { createLog } from "./log.ts";
import { type StartOptions, startHub } from "./start-hub.ts";

const ADMIN = "sbx_of_the_tests";
const TARGET = { url: "http://192.0.2.1/mcp" };
const CONNECTION = "weather-7kq2xv";
const TENANT = "local";

async function start(env: Record<string, string> = {}, options: Partial<StartOptions> = {}) {
  const hub = await startHub({
    settings: readSettings({
      flags: {},
      env: { PORT: "0", SIGNALBOX_DATA: tempFolder(), SIGNALBOX_TOKEN: ADMIN, ...env },
      file: {},
    }),
    log: await createLog({ level: "silent", format: "json" }),
    version: "0.0.0",
    ...options,
  });
  onTestFinished(() => hub.stop());
  const { url, store } = hub;

  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  const api = async (method: string, path: string, body?: unknown): Promise<any> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  };

  await store.createConnection(
    {
      id: CONNECTION,
      tenant: TENANT,
      name: "Weather",
      target: TARGET,
      sealed: null,
      credentials: {},
    },
    Date.now(),
  );
  await api("POST", "/api/apps", { name: "Desk" });
  const flow = await api("POST", "/api/apps/desk/flows", flowOf({}));
  await api("POST", `/api/flows/${flow.id}/publish`, {});

  /** Stores a token of the trigger, as the keeper does before it configures the server. */
  const stageToken = async (secret = randomSecret("sbcb_")): Promise<string> => {
    const [subscription] = await store.listTriggerSubscriptions(TENANT, CONNECTION);
    if (!subscription) throw new Error("no subscription");
    await store.stageCallbackToken({
      hash: await sha256Hex(secret),
      tenant: TENANT,
      connection: CONNECTION,
      subscription: subscription.id,
      generation: 0,
      scope: "subscription",
      target: TARGET,
      types: ["x"],
      at: Date.now(),
    });
    return secret;
  };
  const token = await stageToken();

  const send = (body: unknown, headers: Record<string, string> = {}, secret = token) =>
    fetch(`${url}/api/trigger-callback`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${secret}`,
        "content-type": "application/json",
        ...headers,
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  return { url, store, api, send, stageToken, token, flow: flow.id as string };
}

/** A flow that reports the weather of one city. */
const flowOf = (config: Record<string, unknown>) => ({
  name: "Report",
  nodes: [
    node("sun", "Event", {
      source: CONNECTION,
      type: "weather.sun",
      params: { city: "Rome" },
      ...config,
    }),
    node("end", "Return", { value: "{{ trigger.data }}" }),
  ],
  edges: [edge("sun", "end")],
});

const runsOf = async ({ api }: Pick<Awaited<ReturnType<typeof start>>, "api">) =>
  (await api("GET", "/api/runs?values=1")).items as {
    id: string;
    status: string;
    cause: string;
    event_id: string;
    output: unknown;
  }[];

describe("an accepted callback", () => {
  it("is in the inbox before the response, starts runs, and can be explained and replayed", async () => {
    const hub = await start();
    const { api, send } = hub;
    const data = { city: "Rome", title: "Sunny", url: "https://weather.test/1", big: 1 };
    const body = { type: "weather.sun", data, id: "evt-1", timestamp: "2026-01-05T09:30:00Z" };
    const response = await send(body);
    expect(response.status).toBe(202);
    const answer = (await response.json()) as { id: string };
    expect(answer).toEqual({
      ok: true,
      type: "weather.sun",
      id: expect.any(String),
      outcome: "stored",
    });

    expect(await api("GET", "/pending-events")).toMatchObject([
      { id: answer.id, type: "weather.sun", source: CONNECTION, title: "Sunny" },
    ]);
    expect(await api("GET", `/event?id=${answer.id}`)).toMatchObject({ payload: data });
    const event = await hub.store.getEvent(TENANT, answer.id);
    expect(event).toMatchObject({ source_id: CONNECTION, external_id: "evt-1" });
    expect((await hub.store.getPayload(TENANT, event?.seq ?? 0))?.headers).toMatchObject({
      "signalbox-timestamp": "2026-01-05T09:30:00Z",
    });

    await expect
      .poll(() => runsOf(hub))
      .toMatchObject([{ status: "succeeded", cause: "event", event_id: answer.id }]);
    const [run] = await runsOf(hub);
    expect((await api("GET", `/api/runs/${run?.id}`)).output).toEqual(data);

    expect(JSON.stringify(await api("GET", `/api/events/${answer.id}/explain`))).toContain(
      '"matched":true',
    );
    await api("POST", `/api/events/${answer.id}/replay`, {});
    await expect
      .poll(async () => (await runsOf(hub)).map(({ cause, status }) => `${cause} ${status}`).sort())
      .toEqual(["event succeeded", "replay succeeded"]);
  });

  it.each([
    ["the field id", { id: "7" }, {}],
    ["Idempotency-Key", {}, { "idempotency-key": "7" }],
    ["webhook-id", {}, { "webhook-id": "7" }],
  ])("is stored once for %s, with the data of the first callback", async (_, fields, headers) => {
    const { send, api } = await start();
    const first = await send({ type: "weather.sun", data: { n: 1 }, ...fields }, headers);
    const second = await send({ type: "weather.rain", data: { n: 2 }, ...fields }, headers);
    const { id } = (await first.json()) as { id: string };
    expect([second.status, await second.json()]).toEqual([
      202,
      { ok: true, type: "weather.rain", id, outcome: "duplicate" },
    ]);
    expect(await api("GET", `/event?id=${id}`)).toMatchObject({ payload: { n: 1 } });
  });

  it("of a type without a trigger is stored, and starts no run", async () => {
    const hub = await start();
    const response = await hub.send({ type: "weather.snow" });
    expect([response.status, await response.json()]).toEqual([
      202,
      { ok: true, type: "weather.snow", id: expect.any(String), outcome: "stored" },
    ]);
    expect(await runsOf(hub)).toEqual([]);
  });

  it("needs neither a content type nor an id", async () => {
    const { url, api, token } = await start();
    const body = new TextEncoder().encode('{"type":"weather.sun","data":{"n":1}}');
    const headers = { authorization: `Bearer ${token}` };
    for (let at = 0; at < 2; at += 1) {
      const request = { method: "POST", headers, body };
      expect((await fetch(`${url}/api/trigger-callback`, request)).status).toBe(202);
    }
    expect(await api("GET", "/pending-events")).toHaveLength(2);
  });
});

describe("the endpoint rejects", () => {
  const problem = async (response: Response) => ({
    status: response.status,
    ...((await response.json()) as { code: string; detail: string }),
  });

  it.each([
    ["a request without a token", undefined],
    ["a short token", `sbcb_${"a".repeat(42)}`],
    ["an unknown token", `sbcb_${"a".repeat(43)}`],
    ["an access token", ADMIN],
  ])("%s", async (_, secret) => {
    const { url } = await start();
    const response = await fetch(`${url}/api/trigger-callback`, {
      method: "POST",
      headers: secret === undefined ? {} : { authorization: `Bearer ${secret}` },
      body: JSON.stringify({ type: "weather.sun" }),
    });
    expect(response.headers.get("www-authenticate")).toMatch(/^Bearer/);
    const code = secret === undefined ? "token_missing" : "token_unknown";
    expect(await problem(response)).toMatchObject({ status: 401, code });
  });

  it("the former token after a rotation and its grace period", async () => {
    const { send, store, stageToken, token } = await start();
    expect((await send({ type: "x" })).status).toBe(202);
    const next = await stageToken();
    const aDayAgo = Date.now() - 24 * 3_600_000;
    const hash = await sha256Hex(next);
    await store.confirmCallbackToken({ hash, type: "x", wanted: [], at: aDayAgo });
    // The hub caches tokens for a few seconds, unless a notice invalidates them.
    await expect
      .poll(async () => (await send({ type: "x" }, {}, token)).status, { timeout: 15_000 })
      .toBe(401);
    expect((await send({ type: "x" }, {}, next)).status).toBe(202);
  });

  it.each([
    [{}, "type"],
    [{ type: "" }, "type"],
    [{ type: "x", data: [] }, "data"],
    [{ type: "x", id: 7 }, "id"],
    [{ type: "x", timestamp: 7 }, "timestamp"],
    ["{", "JSON"],
  ])("the body %j, and names %s", async (body, name) => {
    const { send } = await start();
    const { status, detail } = await problem(await send(body));
    expect([status, detail]).toEqual([400, expect.stringContaining(name)]);
  });

  it("methods other than POST", async () => {
    const { url } = await start();
    for (const method of ["GET", "PUT", "DELETE", "OPTIONS"]) {
      const response = await fetch(`${url}/api/trigger-callback`, { method });
      expect([method, response.status, response.headers.get("allow")]).toEqual([
        method,
        405,
        "POST",
      ]);
    }
  });

  it("an oversize body with 413, even without a token and while it arrives", async () => {
    const { url, send } = await start();
    const data = { text: "x".repeat(1024 * 1024) };
    expect((await send({ type: "weather.sun", data })).status).toBe(413);
    const chunk = new Uint8Array(256 * 1024).fill(0x20);
    const response = await fetch(`${url}/api/trigger-callback`, {
      method: "POST",
      body: new ReadableStream({ pull: (stream) => stream.enqueue(chunk) }),
      duplex: "half",
    } as RequestInit);
    expect(response.status).toBe(413);
  });

  it("a slow body with 408", async () => {
    const { url, token } = await start({}, { requestTimeoutMs: 500 });
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname).setEncoding("utf8");
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    socket.write(
      `POST /api/trigger-callback HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Length: 100\r\n\r\n{`,
    );
    const [answer] = await once(socket, "data");
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  it("callbacks of a paused trigger with 410, until it is resumed", async () => {
    const { send, api, flow } = await start();
    const setActive = async (isActive: boolean) => {
      await api("PATCH", `/api/flows/${flow}/nodes/sun`, { parameters: { isActive } });
      await api("POST", `/api/flows/${flow}/publish`, {});
    };
    expect((await send({ type: "weather.sun" })).status).toBe(202);
    await setActive(false);
    expect(await problem(await send({ type: "weather.sun" }))).toMatchObject({
      status: 410,
      code: "token_gone",
    });
    await setActive(true);
    expect((await send({ type: "weather.sun" })).status).toBe(202);
    await api("DELETE", `/api/flows/${flow}`);
    expect((await send({ type: "weather.sun" })).status).toBe(410);
  });

  it("callbacks above the quota", async () => {
    const { send } = await start({ SIGNALBOX_QUOTA: "1" });
    expect((await send({ type: "weather.sun" })).status).toBe(202);
    const response = await send({ type: "weather.sun" });
    expect(response.headers.get("retry-after")).toBe("60");
    expect(await problem(response)).toMatchObject({ status: 429, code: "quota_exceeded" });
  });

  it("guessed tokens above the failure limit, but never a valid one", async () => {
    const { send } = await start({ SIGNALBOX_RATE_LIMIT: "1" });
    const guesses = await Promise.all(
      Array.from({ length: 20 }, () => send({ type: "x" }, {}, randomSecret("sbcb_"))),
    );
    const statuses = new Set(guesses.map(({ status }) => status));
    expect(statuses).toEqual(new Set([401, 429]));
    expect(guesses.at(-1)?.headers.get("retry-after")).toBe("1");
    expect((await send({ type: "x" })).status).toBe(202);
  });
});

it("counts callbacks in the metrics, without names of connections", async () => {
  const { url, send } = await start();
  await send({ type: "weather.sun" });
  await send({ type: "" });
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain(
    'signalbox_webhooks_total{source="callback",outcome="stored",reason=""} 1',
  );
  expect(metrics).toContain(
    'signalbox_webhooks_total{source="callback",outcome="refused",reason="invalid_field"} 1',
  );
  expect(metrics).not.toContain(CONNECTION);
});

it("starts a run for each of 25 concurrent callbacks", async () => {
  const hub = await start();
  const sent = await Promise.all(
    Array.from({ length: 25 }, (_, at) =>
      hub.send({ type: "weather.sun", data: { city: "Rome", at }, id: String(at) }),
    ),
  );
  expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([202]));
  expect((await hub.store.pendingStatus(TENANT)).pending_count).toBe(25);
  await expect
    .poll(async () => (await hub.api("GET", "/api/stats")).runs.succeeded, { timeout: 60_000 })
    .toBe(25);
});
