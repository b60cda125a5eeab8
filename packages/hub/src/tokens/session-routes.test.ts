import { Hono } from "hono";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { createAuthorizeRequest } from "../kernel/access/authorize-request.ts";
import { createAuthorizer } from "../kernel/access/authorizer.ts";
import type { Scope } from "../kernel/access/scopes.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import { createHostCheck } from "../kernel/http/host-check.ts";
import { mountRoutes } from "../kernel/http/route.ts";
import { createIds } from "../kernel/lib/ids.ts";
import { storeDefinition } from "../store.ts";
import { addSignInRoute, sessionRoutes } from "./session-routes.ts";
import { createToken } from "./tokens.ts";
import { createWebSessions, OPERATOR } from "./web-sessions.ts";

const ORIGIN = "http://127.0.0.1:4747";
const MINUTE = 60_000;

function setup(publicUrl?: string) {
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  onTestFinished(() => store.close());
  let time = Date.UTC(2026, 10, 16);
  const now = () => time;
  const sessions = createWebSessions({ store, tokens: store, newId: createIds(), now });
  const authorizer = createAuthorizer({ store, now, everyTenant: ["local"] });
  const checkHost = createHostCheck({ host: "127.0.0.1", port: 4747, publicUrl });
  const app = new Hono();
  addSignInRoute(app, { sessions, checkHost, publicUrl });
  const hubInfo = (url: string) => ({
    version: "1",
    url,
    webhook_url: `${url}/webhooks`,
    mcp_url: `${url}/mcp`,
    storage: "sqlite" as const,
    tenancy: "single" as const,
    is_public: false,
    accepts_unsigned: true,
    allows_commands: false,
    install_url: null,
    started_at: new Date(time).toISOString(),
  });
  mountRoutes(
    app,
    sessionRoutes({ sessions, store, tokens: store, hubInfo, publicUrl, now }),
    createAuthorizeRequest({ authorizer, checkHost, publicUrl }),
  );
  const request = async (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: unknown,
  ) =>
    app.request(`${ORIGIN}${path}`, {
      method,
      headers: { host: "127.0.0.1:4747", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const signIn = (code: string, headers: Record<string, string> = { origin: ORIGIN }) =>
    request("POST", "/api/session", headers, { code });
  const cookieOf = (response: Response) =>
    (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  return {
    store,
    sessions,
    request,
    signIn,
    cookieOf,
    openSession: async () => cookieOf(await signIn(await sessions.createCode(OPERATOR))),
    advance: (ms: number) => (time += ms),
    now,
  };
}

const codeOf = async (response: Response) => ((await response.json()) as { code: string }).code;

describe("signing in", () => {
  it("exchanges a code once for a session, whose secret is only in an HttpOnly cookie", async () => {
    const { sessions, signIn, request, cookieOf, store } = setup();
    const code = await sessions.createCode(OPERATOR);
    const answers = await Promise.all([signIn(code), signIn(code), signIn(code)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 401, 401]);
    const response = answers.find(({ status }) => status === 204) as Response;
    expect(response.headers.get("set-cookie")).toMatch(
      /^signalbox_session_4747=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const cookie = cookieOf(response);
    const session = await request("GET", "/api/session", { cookie: `other=1; ${cookie}` });
    expect(await session.json()).toMatchObject({
      scopes: ["admin"],
      tenants: ["local"],
      hub: { url: ORIGIN, tenancy: "single" },
    });
    const stored = JSON.stringify([
      await store.listTokens({ kind: "session", limit: 100 }),
      await store.listTokens({ kind: "sign_in", limit: 100 }),
    ]);
    expect(stored).not.toContain(cookie.split("=")[1]);
    expect(stored).not.toContain(code);
  });

  it("rejects a code that has expired, is unknown, or is another kind of secret", async () => {
    const { sessions, signIn, advance, openSession, store, now } = setup();
    const code = await sessions.createCode(OPERATOR);
    const session = (await openSession()).split("=")[1] as string;
    const token = await createToken(store, {
      id: "t",
      name: "t",
      scopes: ["admin"],
      tenants: ["*"],
      expiresAt: null,
      now: now(),
    });
    advance(10 * MINUTE);
    for (const wrongCode of [code, "unknown", session, token]) {
      const response = await signIn(wrongCode);
      expect(response.status).toBe(401);
      expect(await codeOf(response)).toBe("code_unknown");
    }
  });

  it("uses only the cookie of its own port, since several hubs can share a host", async () => {
    const { openSession, request } = setup();
    const cookie = `signalbox_session_4748=other; signalbox_session=old; ${await openSession()}`;
    expect((await request("GET", "/api/session", { cookie })).status).toBe(200);
    const withoutPort = { cookie, host: "127.0.0.1" };
    expect((await request("GET", "/api/session", withoutPort)).status).toBe(401);
  });

  it("requires the Origin of the hub's own page", async () => {
    const { sessions, signIn } = setup();
    const code = await sessions.createCode(OPERATOR);
    expect((await signIn(code, {})).status).toBe(403);
    expect((await signIn(code, { origin: "https://evil.example" })).status).toBe(403);
    expect((await signIn(code, { origin: "null" })).status).toBe(403);
    const secure = await signIn(code, { origin: "https://127.0.0.1:4747" });
    expect(secure.headers.get("set-cookie")).toContain("; Secure");
  });

  it("sets a Secure cookie with the prefix __Host- if the public URL is https", async () => {
    const { sessions, request, signIn, cookieOf } = setup("https://hub.example");
    const host = "hub.example";
    const code = await sessions.createCode(OPERATOR);
    expect((await signIn(code, { host, origin: "http://hub.example" })).status).toBe(403);
    const response = await signIn(code, { host, origin: "https://hub.example" });
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Host-signalbox_session=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
      ),
    ]);
    const cookie = cookieOf(response);
    expect((await request("GET", "/api/session", { host, cookie })).status).toBe(200);
    const former = cookie.replace("__Host-", "");
    expect((await request("GET", "/api/session", { host, cookie: former })).status).toBe(401);
  });

  it("removes other cookies of the same name, with which the session would be ambiguous", async () => {
    const { sessions, request, signIn } = setup("http://hub.dev.example");
    const host = "hub.dev.example";
    const code = await sessions.createCode(OPERATOR);
    const cookie = "signalbox_session=of-a-sibling; signalbox_session=own";
    const denied = await request("GET", "/api/session", { host, cookie });
    expect([denied.status, await codeOf(denied)]).toEqual([401, "session_ambiguous"]);
    const response = await signIn(code, { host, cookie, origin: "http://hub.dev.example" });
    const set = response.headers.getSetCookie();
    expect(set.at(-1)).toMatch(/^signalbox_session=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly/);
    const scopes = set.slice(0, -1).map((value) => {
      const [, scope] = /^signalbox_session=; Max-Age=0; (Path=.+)$/.exec(value) ?? [];
      return scope;
    });
    expect(scopes).toEqual(
      ["/", "/api", "/api/", "/api/session"].flatMap((path) =>
        ["", "; Domain=hub.dev.example", "; Domain=dev.example"].map(
          (domain) => `Path=${path}${domain}`,
        ),
      ),
    );
  });

  it.each([{}, { code: 1 }, { code: "" }, { code: "x", more: 1 }, { code: "x".repeat(2000) }])(
    "rejects the body %j",
    async (body) => {
      const { request } = setup();
      const response = await request("POST", "/api/session", { origin: ORIGIN }, body);
      expect(response.status).toBe(400);
    },
  );
});

describe("a session", () => {
  it("is not accepted as a bearer token, and a code is not accepted as a session", async () => {
    const { sessions, request, openSession } = setup();
    const secret = (await openSession()).split("=")[1];
    const code = await sessions.createCode(OPERATOR);
    for (const authorization of [`Bearer ${secret}`, `Bearer ${code}`])
      expect((await request("GET", "/api/session", { authorization })).status).toBe(401);
    const cookie = `signalbox_session_4747=${code}`;
    expect((await request("GET", "/api/session", { cookie })).status).toBe(401);
  });

  it("is used beside the credentials of a proxy, but not beside a bearer token", async () => {
    const { request, openSession } = setup();
    const cookie = await openSession();
    const get = (authorization: string) =>
      request("GET", "/api/session", { cookie, authorization });
    expect((await get("Basic YWRhOnNlY3JldA==")).status).toBe(200);
    expect((await get("Bearer sbx_none")).status).toBe(401);
    const basic = { cookie, authorization: "Basic YWRhOnNlY3JldA==" };
    expect((await request("DELETE", "/api/session", basic)).status).toBe(403);
  });

  it("requires the hub's Origin to change something", async () => {
    const { request, openSession } = setup();
    const cookie = await openSession();
    const link = (headers: Record<string, string>) =>
      request("POST", "/api/session/links", { cookie, ...headers });
    expect((await link({})).status).toBe(403);
    expect((await link({ origin: "http://127.0.0.1:9999" })).status).toBe(403);
    expect((await link({ origin: ORIGIN })).status).toBe(201);
  });

  it("ends when the user signs out", async () => {
    const { request, openSession, advance } = setup();
    const cookie = await openSession();
    const out = await request("DELETE", "/api/session", { cookie, origin: ORIGIN });
    expect(out.status).toBe(204);
    expect(out.headers.get("set-cookie")).toMatch(/^signalbox_session_4747=; Max-Age=0; /);
    advance(2_000);
    const after = await request("GET", "/api/session", { cookie });
    expect([after.status, await codeOf(after)]).toEqual([401, "session_ended"]);
  });

  it("ends when the same browser signs in again", async () => {
    const { sessions, request, openSession, signIn, advance } = setup();
    const [former, other] = [await openSession(), await openSession()];
    const code = await sessions.createCode(OPERATOR);
    expect((await signIn(code, { origin: ORIGIN, cookie: former })).status).toBe(204);
    advance(2_000);
    expect((await request("GET", "/api/session", { cookie: former })).status).toBe(401);
    expect((await request("GET", "/api/session", { cookie: other })).status).toBe(200);
  });

  it("ends after 30 days", async () => {
    const { request, openSession, advance } = setup();
    const cookie = await openSession();
    advance(30 * 24 * 60 * MINUTE - 1);
    expect((await request("GET", "/api/session", { cookie })).status).toBe(200);
    advance(1);
    expect((await request("GET", "/api/session", { cookie })).status).toBe(401);
  });
});

describe("a sign-in link of a token", () => {
  it("opens a session with the token's scopes, which ends with the token", async () => {
    const { store, request, signIn, cookieOf, advance, now } = setup();
    const expiresAt = now() + 60 * MINUTE;
    const token = await createToken(store, {
      id: "t",
      name: "t",
      scopes: ["inbox:read"],
      tenants: ["local"],
      expiresAt,
      now: now(),
    });
    const authorization = `Bearer ${token}`;
    const link = await request("POST", "/api/session/links", { authorization });
    const { url } = (await link.json()) as { url: string };
    const code = /^http:\/\/127\.0\.0\.1:4747\/sign-in#code=([\w-]+)$/.exec(url)?.[1] ?? "";
    const cookie = cookieOf(await signIn(code));
    const session = (await (await request("GET", "/api/session", { cookie })).json()) as object;
    expect(session).toMatchObject({
      scopes: ["inbox:read"],
      expires_at: new Date(expiresAt).toISOString(),
    });
    await store.revokeToken("t", now());
    advance(2_000);
    expect((await request("GET", "/api/session", { cookie })).status).toBe(401);
  });

  it("cannot be created with a token that was just revoked, and opens no session after the revocation", async () => {
    const { store, sessions, request, signIn, now } = setup();
    const scopes: Scope[] = ["inbox:read"];
    const tenants = ["local"];
    const token = await createToken(store, {
      id: "t",
      name: "t",
      scopes,
      tenants,
      expiresAt: null,
      now: now(),
    });
    const authorization = `Bearer ${token}`;
    const link = () => request("POST", "/api/session/links", { authorization });
    expect((await link()).status).toBe(201);
    await store.revokeToken("t", now());
    // The authorizer still has the token in its cache.
    expect((await request("GET", "/api/session", { authorization })).status).toBe(200);
    expect((await link()).status).toBe(403);
    const late = await sessions.createCode({ scopes, tenants, parent: "t", person: null });
    expect((await signIn(late)).status).toBe(401);
    expect(
      (await store.listTokens({ kind: "session", limit: 100 })).every(
        ({ revoked_at }) => revoked_at !== null,
      ),
    ).toBe(true);
  });

  it("is rejected if the token already has 1,000 links and sessions", async () => {
    const { store, now } = setup();
    const full = { ...store, countChildren: async () => 1_000 };
    const sessions = createWebSessions({ store: full, tokens: full, newId: createIds(), now });
    await expect(sessions.createCode({ ...OPERATOR, parent: "t", person: null })).rejects.toThrow(
      "limit",
    );
    await sessions.createCode(OPERATOR);
  });
});

it("rejects a sign-out with a token, and does not revoke the token", async () => {
  const { store, request, now } = setup();
  const token = await createToken(store, {
    id: "t",
    name: "t",
    scopes: ["flows:call"],
    tenants: ["local"],
    expiresAt: null,
    now: now(),
  });
  const authorization = `Bearer ${token}`;
  const out = await request("DELETE", "/api/session", { authorization });
  expect(out.status).toBe(400);
  expect((await store.getToken("t"))?.revoked_at).toBeNull();
});
