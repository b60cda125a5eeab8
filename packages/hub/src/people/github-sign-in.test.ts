import { Hono } from "hono";
import { beforeAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { type FakeGithub, startFakeGithub } from "../../../../test/support/fake-github.ts";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { systemTimers } from "../hosts/node/ports.ts";
import { createAuthorizeRequest } from "../kernel/access/authorize-request.ts";
import { createAuthorizer } from "../kernel/access/authorizer.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import { createHostCheck } from "../kernel/http/host-check.ts";
import { mountRoutes } from "../kernel/http/route.ts";
import { sha256Hex } from "../kernel/lib/hmac.ts";
import { createIds } from "../kernel/lib/ids.ts";
import { createSeal } from "../kernel/lib/seal.ts";
import { storeDefinition } from "../store.ts";
import { tenantRoutes } from "../tenants/tenant-routes.ts";
import { addSignInRoute, sessionRoutes } from "../tokens/session-routes.ts";
import { tokenRoutes } from "../tokens/token-routes.ts";
import { createWebSessions } from "../tokens/web-sessions.ts";
import { addGithubSignIn } from "./github-sign-in.ts";
import { createGithubUsers } from "./github-users.ts";
import { createPeople } from "./people.ts";
import { withPeople } from "./with-people.ts";

const ORIGIN = "http://127.0.0.1:4747";
const MINUTE = 60_000;

let fake: FakeGithub;
let acme: string;
let umbrella: string;
beforeAll(async () => {
  fake = await startFakeGithub();
  for (const login of ["ada", "bob", "eve"]) fake.addUser(login);
  acme = String(fake.addOrganization("acme").id);
  umbrella = String(fake.addOrganization("umbrella").id);
  fake.setMember("acme", "ada", { role: "admin" });
  fake.setMember("acme", "bob");
  fake.setMember("umbrella", "ada");
  fake.install("acme");
  fake.install("umbrella");
  return () => fake.close();
});
beforeEach(() => fake.setBrowserUser("ada"));

function setup({ publicUrl }: { publicUrl?: string } = {}) {
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  onTestFinished(() => store.close());
  let time = Date.now();
  const now = () => time;
  const seal = createSeal(new Uint8Array(32));
  const client = { id: fake.app.clientId, secret: fake.app.clientSecret };
  const github = createGithubUsers({ url: fake.url, apiUrl: fake.apiUrl, client, fetch, now });
  const log = { info() {}, warn() {} };
  const people = createPeople({
    store,
    github,
    seal,
    now,
    after: systemTimers.after,
    recheckMs: 2 * MINUTE,
    keepMs: 60 * MINUTE,
    log,
    onError: (error) => expect(error).toBeUndefined(),
  });
  const tokens = withPeople(store, people);
  const newId = createIds();
  const sessions = createWebSessions({ store, tokens, newId, now });
  const checkHost = createHostCheck({ host: "127.0.0.1", port: 4747, publicUrl });
  const authorizer = createAuthorizer({ store: tokens, now, everyTenant: undefined });
  const app = new Hono();
  addGithubSignIn(app, { github, people, sessions, seal, checkHost, publicUrl, now, log });
  addSignInRoute(app, { sessions, checkHost, publicUrl });
  const hubInfo = (url: string) => ({ url }) as never;
  mountRoutes(
    app,
    [
      ...sessionRoutes({ sessions, store, tokens, hubInfo, now }),
      ...tokenRoutes({ store, tokens, tenancy: "github", newId, now }),
      ...tenantRoutes({
        store,
        tokens,
        tenancy: "github",
        now,
        defaults: {} as never,
        deletions: {} as never,
      }),
    ],
    createAuthorizeRequest({ authorizer, checkHost, publicUrl }),
  );
  const host = publicUrl === undefined ? "127.0.0.1:4747" : new URL(publicUrl).host;
  const request = async (
    path: string,
    { method = "GET", cookie = "", body = undefined as unknown, headers = {} } = {},
  ) => {
    const response = await app.request(`${ORIGIN}${path}`, {
      method,
      headers: { host, cookie, ...(method === "GET" ? {} : { origin: ORIGIN }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const json = text.startsWith("{") ? JSON.parse(text) : undefined;
    return { response, text, json, cookies: response.headers.getSetCookie() };
  };
  const begin = async (query = "", session = "") => {
    const { response, cookies } = await request(`/auth/github${query}`, { cookie: session });
    const [cookie = ""] = cookies;
    return { location: response.headers.get("location") ?? "", cookie, pair: pairOf(cookie) };
  };
  /** Returns the path to which GitHub redirects the browser. */
  const authorize = async (location: string) => {
    const { headers } = await fetch(location, { redirect: "manual" });
    const { pathname, search } = new URL(headers.get("location") ?? "");
    return pathname + search;
  };
  const signIn = async (login: string, query = "") => {
    fake.setBrowserUser(login);
    const { location, pair } = await begin(query);
    const result = await request(await authorize(location), { cookie: pair });
    return { ...result, session: pairOf(result.cookies.at(-1) ?? "") };
  };
  const call = (session: string, method: string, path: string, body?: unknown) =>
    request(path, { method, cookie: session, body });
  return { store, begin, authorize, request, signIn, call, advance: (ms: number) => (time += ms) };
}

/** Returns the name and the value of a `Set-Cookie` header, as browsers send them. */
const pairOf = (cookie: string) => cookie.split(";")[0] ?? "";

it("creates a session of the person, and opens the page on which the sign-in began", async () => {
  const { begin, authorize, request, call } = setup();
  const { location, cookie, pair } = await begin("?return_to=%2Finbox%3Ftype%3Dissues");
  const { searchParams } = new URL(location);
  expect(searchParams.get("redirect_uri")).toBe(`${ORIGIN}/oauth/callback`);
  expect(searchParams.get("code_challenge_method")).toBe("S256");
  expect(cookie).toMatch(
    /^signalbox_github_4747=v1\.\S+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/,
  );
  expect(decodeURIComponent(cookie)).not.toContain(searchParams.get("state"));
  const { response, text, cookies } = await request(await authorize(location), { cookie: pair });
  expect(response.status).toBe(200);
  expect(text).toContain('content="0; url=/inbox?type=issues"');
  const removed = cookies.slice(0, -1);
  for (const cookie of removed) expect(cookie).toMatch(/^signalbox_github_4747=; Max-Age=0;/);
  expect(removed).toContainEqual(expect.stringContaining("Path=/oauth/callback"));
  expect(cookies.slice(-1)).toEqual([
    expect.stringMatching(/^signalbox_session_4747=[\w-]{43}; .*HttpOnly; SameSite=Strict$/),
  ]);
  expect((await call(pairOf(cookies.at(-1) ?? ""), "GET", "/api/session")).json).toMatchObject({
    name: "web UI of ada",
    tenants: [acme, umbrella],
    person: { login: "ada", roles: { [acme]: "admin", [umbrella]: "member" } },
  });
});

it("sets `Secure` cookies with the prefix __Host- if the public URL is https", async () => {
  const { begin } = setup({ publicUrl: "https://hub.example/" });
  const { location, cookie } = await begin();
  const { searchParams } = new URL(location);
  expect(searchParams.get("redirect_uri")).toBe("https://hub.example/oauth/callback");
  expect(cookie).toMatch(/^__Host-signalbox_github=.*; Path=\/;.*; Secure$/);
});

it("rejects a callback of a sign-in that another browser began", async () => {
  const { begin, authorize, request } = setup();
  const attacker = await begin();
  const link = await authorize(attacker.location);
  const victim = await begin();
  for (const cookie of [
    "",
    victim.pair,
    "signalbox_github_4747=v1.AAAA",
    "signalbox_github_4747=",
  ]) {
    const { response, cookies } = await request(link, { cookie });
    expect(response.headers.get("location")).toBe("/sign-in?problem=stale");
    expect(cookies.some((cookie) => cookie.startsWith("signalbox_session"))).toBe(false);
  }
  expect((await request(link, { cookie: attacker.pair })).response.status).toBe(200);
  // The code was used.
  const again = await request(link, { cookie: attacker.pair });
  expect(again.response.headers.get("location")).toBe("/sign-in?problem=rejected");
});

it("redirects to /sign-in with the reason why a sign-in failed", async () => {
  const { begin, authorize, request, advance } = setup();
  const started = await begin();
  fake.setBrowserUser(undefined);
  const denied = await request(await authorize(started.location), { cookie: started.pair });
  expect(denied.response.headers.get("location")).toBe("/sign-in?problem=denied");
  fake.setBrowserUser("ada");
  const link = await authorize(started.location);
  fake.limitRate(3);
  const down = await request(link, { cookie: started.pair });
  expect(down.response.headers.get("location")).toBe("/sign-in?problem=unavailable");
  advance(10 * MINUTE);
  const late = await request(await authorize(started.location), { cookie: started.pair });
  expect(late.response.headers.get("location")).toBe("/sign-in?problem=stale");
});

it("ends the former session of the browser when a sign-in succeeds", async () => {
  const { begin, authorize, request, signIn, call, advance } = setup();
  const { session } = await signIn("ada");
  const { session: other } = await signIn("ada");
  const statusOf = async (cookie: string) => {
    advance(2_000); // the authorizer caches tokens
    return (await call(cookie, "GET", "/api/session")).response.status;
  };
  const { location, cookie, pair } = await begin("", session);
  expect(decodeURIComponent(cookie)).not.toContain(session.split("=")[1]);
  fake.setBrowserUser(undefined);
  await request(await authorize(location), { cookie: pair });
  expect(await statusOf(session)).toBe(200); // the sign-in was denied
  fake.setBrowserUser("bob");
  // The session's cookie is `SameSite=Strict`: browsers do not send it with a navigation from GitHub.
  const { response } = await request(await authorize(location), { cookie: pair });
  expect(response.status).toBe(200);
  expect(await statusOf(session)).toBe(401);

  // If GitHub Enterprise is on the same site as the hub, browsers send the session's cookie.
  const second = await begin();
  await request(await authorize(second.location), { cookie: `${second.pair}; ${other}` });
  expect(await statusOf(other)).toBe(401);
});

it("reopens the first page of a sign-in that comes from another site, where browsers send no cookie", async () => {
  const { request } = setup();
  const path = "/auth/github?return_to=%2Finbox";
  const headers = { "sec-fetch-site": "cross-site" };
  const first = await request(path, { headers });
  expect([first.response.status, first.cookies]).toEqual([200, []]);
  const reopened = "/auth/github?return_to=%2Finbox&reopened=1";
  expect(first.text.replaceAll("&#38;", "&")).toContain(`content="0; url=${reopened}"`);
  const second = await request(reopened, { headers });
  expect(second.response.status).toBe(302);
});

it("lets a person without a tenant read only the session", async () => {
  const { signIn, call } = setup();
  const { session } = await signIn("eve");
  expect((await call(session, "GET", "/api/session")).json).toMatchObject({
    tenants: [],
    scopes: [],
    person: { login: "eve", roles: {} },
  });
  for (const path of [
    "/api/tenants",
    "/api/tokens",
    `/api/tokens?tenant=${acme}`,
    "/api/tokens?tenant=*",
  ])
    expect((await call(session, "GET", path)).response.status, path).toBe(403);
});

it("lets only admins create tokens, which lose the scope admin when the person loses the role", async () => {
  const { signIn, call, request, advance } = setup();
  const ada = (await signIn("ada")).session;
  const bob = (await signIn("bob")).session;
  const createToken = (session: string, body: object, tenant = acme) =>
    call(session, "POST", `/api/tokens?tenant=${tenant}`, { name: "agent", ...body });
  for (const denied of [
    await createToken(bob, {}),
    await createToken(ada, {}, umbrella),
    await createToken(ada, { tenants: [acme, umbrella] }),
    await createToken(ada, { tenants: ["*"] }),
    await createToken(ada, {}, "*"),
  ])
    expect(denied.response.status).toBe(403);
  const { response, json } = await createToken(ada, { scopes: ["inbox:read", "admin"] });
  expect(response.status).toBe(201);
  const headers = { authorization: `Bearer ${json.token}` };
  const list = () => request("/api/tokens", { headers });
  expect((await list()).json.items).toHaveLength(1);
  fake.setMember("acme", "ada");
  onTestFinished(() => fake.setMember("acme", "ada", { role: "admin" }));
  advance(2 * MINUTE);
  expect((await list()).json).toMatchObject({ status: 403, code: "insufficient_scope" });
  expect((await request("/api/tenants", { headers })).response.status).toBe(200);
});

it("lets people list and revoke their own sessions, but not those of others", async () => {
  const { signIn, call } = setup();
  fake.setMember("acme", "bob", { role: "admin" });
  onTestFinished(() => fake.setMember("acme", "bob"));
  const ada = await signIn("ada");
  const bob = await signIn("bob");
  const list = async (session: string) =>
    (await call(session, "GET", `/api/tokens?kind=session&tenant=${acme}`)).json.items;
  const [own, second] = await list(ada.session);
  expect([own.name, second]).toEqual(["web UI of ada", undefined]);
  expect(
    (await call(bob.session, "DELETE", `/api/tokens/${own.id}?tenant=${acme}`)).response.status,
  ).toBe(404);
  expect(
    (await call(ada.session, "DELETE", `/api/tokens/${own.id}?tenant=${acme}`)).response.status,
  ).toBe(204);
});

it("lists no tenants after the sign-out, even while the session is still cached", async () => {
  const { store, signIn, call } = setup();
  await store.putTenant({ id: "999", at: Date.now() });
  const { session } = await signIn("ada");
  const listTenants = async () => (await call(session, "GET", "/api/tenants")).json.items;
  expect(await listTenants()).not.toContainEqual(expect.objectContaining({ id: "999" }));
  expect((await call(session, "DELETE", "/api/session")).response.status).toBe(204);
  expect(await listTenants()).toEqual([]);
});

it("rejects OAuth clients that create or revoke tokens, because a token would outlive its grant", async () => {
  const { store, signIn, request } = setup();
  await signIn("ada");
  await store.putToken({
    id: "client",
    kind: "oauth",
    name: "client",
    hash: await sha256Hex("sbo_client"),
    scopes: ["admin"],
    tenants: [acme],
    person: null,
    resource: ORIGIN,
    created_at: Date.now(),
    expires_at: null,
  });
  const headers = { authorization: "Bearer sbo_client" };
  const body = { name: "agent", scopes: ["inbox:read"] };
  for (const answer of [
    await request("/api/tokens", { method: "POST", headers, body }),
    await request("/api/tokens/client", { method: "DELETE", headers }),
  ])
    expect(answer.json).toMatchObject({
      status: 403,
      detail: expect.stringContaining("belongs to an OAuth client, which cannot manage tokens"),
    });
});

it("lists tokens in pages, whose cursors contain only ids of visible tokens", async () => {
  const { signIn, call, request, store } = setup();
  const ada = (await signIn("ada")).session;
  const bob = (await signIn("bob")).session;
  const fields = { hash: "x", scopes: ["admin" as const], created_at: 0, expires_at: null };
  const secret = "sbx_operator";
  const hash = await sha256Hex(secret);
  for (const [id, tenants] of [
    ["t1", [acme]],
    ["t2", ["*"]],
    ["t3", [acme, umbrella]],
    ["t4", [acme]],
    ["t5", [umbrella]],
  ] as const)
    await store.putToken({
      ...fields,
      id,
      name: id,
      tenants: [...tenants],
      hash: id === "t2" ? hash : id,
    });
  /** Returns the ids of each page. */
  const listPages = async (path: string, init: Parameters<typeof request>[1]) => {
    const pages: string[][] = [];
    for (let cursor: string | null = ""; cursor !== null && pages.length < 9; ) {
      const next: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const { json } = await request(`/api/tokens?${path}${next}`, init);
      pages.push(json.items.map(({ id }: { id: string }) => id));
      cursor = json.next_cursor;
      if (cursor !== null) expect(cursor).toBe(`token:${pages.at(-1)?.at(-1)}`);
    }
    return pages;
  };
  const operator = { headers: { authorization: `Bearer ${secret}` } };
  expect(await listPages("tenant=*&limit=2", operator)).toEqual([
    ["t5", "t4"],
    ["t3", "t2"],
    ["t1"],
  ]);
  expect(await listPages(`tenant=${acme}&limit=2`, operator)).toEqual([
    ["t4", "t3"],
    ["t2", "t1"],
    [],
  ]);
  // Ada is admin of acme only: she does not see t3.
  expect(await listPages(`tenant=${acme}&limit=1`, { cookie: ada })).toEqual([["t4"], ["t1"], []]);
  const sessions = await listPages(`tenant=${acme}&kind=session&limit=1`, { cookie: ada });
  const own = (await call(ada, "GET", "/api/session")).json.id;
  expect(sessions).toEqual([[own], []]);
  expect((await call(bob, "GET", `/api/tokens?tenant=${acme}`)).response.status).toBe(403);
  const wrong = await request("/api/tokens?tenant=*&cursor=grant:t1", operator);
  expect(wrong.json).toMatchObject({ status: 400, errors: [{ path: "cursor" }] });
});

it("rejects sign-in links of a person, because they would sign others in as that person", async () => {
  const { signIn, call } = setup();
  const { session } = await signIn("bob");
  const { response, json } = await call(session, "POST", "/api/session/links");
  expect([response.status, json.detail]).toEqual([
    403,
    expect.stringContaining("sign in with GitHub"),
  ]);
});

it("offers the sign-in with GitHub only if it is configured", async () => {
  const { request } = setup();
  expect((await request("/api/session/methods")).json).toEqual({ github: true });
  const app = new Hono();
  const withoutGithub = { github: undefined, people: undefined } as unknown as Parameters<
    typeof addGithubSignIn
  >[1];
  addGithubSignIn(app, { ...withoutGithub, checkHost: () => undefined });
  expect(await (await app.request("/api/session/methods")).json()).toEqual({ github: false });
  expect((await app.request("/auth/github")).status).toBe(404);
});
