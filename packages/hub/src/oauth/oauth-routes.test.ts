import { Hono } from "hono";
import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { createAuthorizeRequest } from "../kernel/access/authorize-request.ts";
import { createAuthorizer, Denied } from "../kernel/access/authorizer.ts";
import { DEFAULT_SCOPES } from "../kernel/access/scopes.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import { createHostCheck } from "../kernel/http/host-check.ts";
import { deniedResponse } from "../kernel/http/problem-response.ts";
import { createIds } from "../kernel/lib/ids.ts";
import { challengeOf } from "../kernel/lib/pkce.ts";
import { createSeal } from "../kernel/lib/seal.ts";
import type { WebFetch } from "../kernel/lib/web-fetch.ts";
import { withPeople } from "../people/with-people.ts";
import { storeDefinition } from "../store.ts";
import { createWebSessions, OPERATOR, type SessionAccess } from "../tokens/web-sessions.ts";
import { addOAuthRoutes } from "./oauth-routes.ts";

const HUB = "https://hub.example";
const REDIRECT = "http://127.0.0.1:7777/callback";
const VERIFIER = "v".repeat(43);
const POLL_GRANT = "urn:ietf:params:oauth:grant-type:web_authorization_poll";
const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

interface Options {
  fetch?: WebFetch;
  rateLimit?: number;
  maxUnusedClients?: number;
  tenancy?: "single" | "github";
}

async function setup({
  fetch = unexpected,
  rateLimit = 0,
  maxUnusedClients,
  tenancy = "single",
}: Options = {}) {
  const store = openSqlite(storeDefinition, `${tempFolder()}/x.db`);
  onTestFinished(() => store.close());
  let time = Date.UTC(2026, 10, 15);
  const now = () => time;
  const newId = createIds();
  const tokens = withPeople(store, { find: async (id) => (await store.getPerson(id)) ?? "ended" });
  const authorizer = createAuthorizer({ store: tokens, now, everyTenant: ["local"] });
  const checkHost = createHostCheck({ host: "127.0.0.1", port: 4747, publicUrl: HUB });
  const authorizeRequest = createAuthorizeRequest({ authorizer, checkHost, publicUrl: HUB });
  const app = new Hono();
  addOAuthRoutes(app, {
    authorizeRequest,
    tokens,
    store,
    seal: createSeal(new Uint8Array(32)),
    fetch,
    timers: { now, monotonic: now, defer: unexpected, after: () => () => {} },
    newId,
    tenancy,
    publicUrl: HUB,
    proxy: undefined,
    rateLimit,
    maxUnusedClients,
  });
  for (const path of ["/mcp", "/mcp/:app", "/events"])
    app.get(path, async (c) => {
      const access = await authorizeRequest(c.req.raw, { scope: "inbox:read" });
      return access instanceof Denied ? deniedResponse(access) : c.json(access);
    });
  const sessions = createWebSessions({ store, tokens, newId, now });

  const send = async (path: string, init: RequestInit = {}) =>
    app.fetch(
      new Request(new URL(path, HUB), {
        ...init,
        headers: { host: "hub.example", ...(init.headers as Record<string, string>) },
      }),
      { peer: "203.0.113.7" },
    );
  const post = async (path: string, form: Record<string, string>) => {
    const body = new URLSearchParams(form);
    const response = await send(path, { method: "POST", body });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      json: (text === "" ? undefined : JSON.parse(text)) as Record<string, string>,
    };
  };
  const register = async (metadata: object = {}) => {
    const response = await send("/oauth/register", {
      method: "POST",
      body: JSON.stringify({ client_name: "Editor", redirect_uris: [REDIRECT], ...metadata }),
    });
    return {
      status: response.status,
      retryAfter: response.headers.get("retry-after"),
      ...((await response.json()) as { client_id: string; error_description?: string }),
    };
  };

  /** Returns a browser that is signed in. */
  const signIn = async (grant: SessionAccess = OPERATOR) => {
    const session = await sessions.open(await sessions.createCode(grant));
    const cookie = `__Host-signalbox_session=${session?.secret}`;
    const get = (path: string) => send(path, { headers: { cookie } });
    const submit = (
      action: string,
      form: Record<string, string>,
      origin: string | undefined = HUB,
    ) =>
      send(action, {
        method: "POST",
        body: new URLSearchParams(form),
        headers: { cookie, ...(origin && { origin }) },
      });
    /** Opens the page, and presses a button. */
    const decide = async (path: string, decision = "allow") => {
      const html = await (await get(path)).text();
      const { action, consent } = formIn(html);
      return submit(action, { consent, decision });
    };
    return { get, submit, decide };
  };

  const authorizeUrl = async (client_id: string, parameters: Record<string, string> = {}) =>
    `/oauth/authorize?${new URLSearchParams({
      client_id,
      response_type: "code",
      redirect_uri: REDIRECT,
      state: "s1",
      code_challenge: await challengeOf(VERIFIER),
      code_challenge_method: "S256",
      resource: `${HUB}/mcp`,
      ...parameters,
    })}`;
  /** Registers a client, and gets a code after the consent of the operator. */
  const getCode = async (parameters: Record<string, string> = {}, grant = OPERATOR) => {
    const { client_id } = await register();
    const browser = await signIn(grant);
    const response = await browser.decide(await authorizeUrl(client_id, parameters));
    const location = new URL(response.headers.get("location") ?? "");
    const code = location.searchParams.get("code") ?? "";
    const redeem = (changed: Record<string, string> = {}) =>
      post("/oauth/token", {
        grant_type: "authorization_code",
        client_id,
        code,
        redirect_uri: REDIRECT,
        code_verifier: VERIFIER,
        ...changed,
      });
    const refresh = (refresh_token: string | undefined, changed: Record<string, string> = {}) =>
      post("/oauth/token", {
        grant_type: "refresh_token",
        client_id,
        refresh_token: refresh_token ?? "",
        ...changed,
      });
    return { client_id, browser, location, code, redeem, refresh };
  };
  /** Returns the status of a request with this access token. */
  const use = async (token: string | undefined, path = "/mcp") => {
    time += 2 * SECOND; // the authorizer caches tokens
    return (await send(path, { headers: { authorization: `Bearer ${token}` } })).status;
  };
  const advance = (ms: number) => (time += ms);
  return { store, send, post, register, signIn, authorizeUrl, getCode, use, advance };
}

const unexpected = () => {
  throw new Error("must not be called");
};

function formIn(html: string): { action: string; consent: string } {
  const action = /<form method="post" action="([^"]+)"/.exec(html)?.[1];
  const consent = /name="consent" value="([^"]+)"/.exec(html)?.[1];
  if (!action || !consent) throw new Error(`no form in ${html}`);
  return { action, consent: consent.replaceAll("&#43;", "+") };
}

it("publishes the metadata of the authorization server and of each resource", async () => {
  const { send } = await setup();
  const read = async (path: string) => (await send(`/.well-known/${path}`)).json();
  expect(await read("oauth-authorization-server")).toMatchObject({
    issuer: HUB,
    authorization_endpoint: `${HUB}/oauth/authorize`,
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  });
  for (const path of ["", "/mcp", "/mcp/shop"])
    expect(await read(`oauth-protected-resource${path}`)).toEqual({
      resource: `${HUB}${path}`,
      resource_name: "Signalbox",
      resource_documentation: `${HUB}/`,
      authorization_servers: [HUB],
      scopes_supported: [...DEFAULT_SCOPES, "runs:read", "metrics:read", "admin"],
      bearer_methods_supported: ["header"],
    });
});

it("issues tokens for a code, for the audience of the request only", async () => {
  const { getCode, use } = await setup();
  const { location, redeem } = await getCode({ scope: "inbox:read unknown" });
  expect(location.href).toMatch(/^http:\/\/127\.0\.0\.1:7777\/callback\?code=sbc_/);
  expect(location.searchParams.get("state")).toBe("s1");
  expect(location.searchParams.get("iss")).toBe(HUB);
  const { status, headers, json } = await redeem({ resource: `${HUB}/mcp` });
  expect([status, json]).toEqual([
    200,
    {
      access_token: expect.stringMatching(/^sbo_[\w-]{43}$/),
      token_type: "Bearer",
      expires_in: 3600,
      refresh_token: expect.any(String),
      scope: "inbox:read",
    },
  ]);
  expect(headers.get("cache-control")).toBe("no-store");
  expect(await use(json.access_token)).toBe(200);
  for (const path of ["/mcp/shop", "/events"]) expect(await use(json.access_token, path)).toBe(401);
});

it("issues tokens for the whole hub if the client names no other resource", async () => {
  for (const resource of ["", HUB, `${HUB}/`]) {
    const { getCode, use } = await setup();
    const { json } = await (await getCode({ resource })).redeem();
    for (const path of ["/mcp", "/mcp/shop", "/events"])
      expect(await use(json.access_token, path)).toBe(200);
  }
});

it("redeems a code once, and revokes the tokens if the code is used again", async () => {
  const { getCode, use } = await setup();
  const { redeem, refresh } = await getCode();
  const responses = await Promise.all([1, 2, 3, 4, 5].map(() => redeem()));
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400]);
  const issued = responses.find(({ status }) => status === 200)?.json;
  expect(await use(issued?.access_token)).toBe(401);
  expect((await refresh(issued?.refresh_token)).json.error).toBe("invalid_grant");
});

it.each([
  ["code_verifier", "short", "invalid_request"],
  ["code_verifier", "", "invalid_request"],
  ["redirect_uri", "http://127.0.0.1:7778/callback", "invalid_grant"],
  ["resource", `${HUB}/mcp/shop`, "invalid_target"],
  ["resource", "https://other.example/mcp", "invalid_target"],
  ["client_id", "unknown", "invalid_client"],
  ["grant_type", "password", "unsupported_grant_type"],
  ["grant_type", DEVICE_GRANT, "invalid_request"],
])("rejects a code with the wrong %s: %j", async (name, value, error) => {
  const { getCode } = await setup();
  const { redeem } = await getCode();
  const rejected = await redeem({ [name]: value });
  expect([rejected.status, rejected.json.error]).toEqual([
    error === "invalid_client" ? 401 : 400,
    error,
  ]);
  expect((await redeem()).status).toBe(200);
});

it("ends a code that is sent with a wrong code_verifier", async () => {
  const { getCode } = await setup();
  const { redeem } = await getCode();
  const { status, json } = await redeem({ code_verifier: "w".repeat(43) });
  expect([status, json.error]).toEqual([400, "invalid_grant"]);
  expect(json.error_description).toMatch(/^code_verifier: .* Authorize again\.$/);
  expect((await redeem()).json.error).toBe("invalid_grant");
});

it("rejects the code of another client, and a code that is sent as a device code", async () => {
  const { getCode, register, post } = await setup();
  const { code, redeem } = await getCode();
  const other = await register({ grant_types: ["authorization_code", DEVICE_GRANT] });
  expect((await redeem({ client_id: other.client_id })).json.error).toBe("invalid_grant");
  const { client_id } = await register();
  for (const id of [client_id, other.client_id]) {
    const form = { grant_type: DEVICE_GRANT, client_id: id, device_code: code };
    expect((await post("/oauth/token", form)).status).toBe(400);
  }
  expect((await redeem()).status).toBe(200);
});

it("rejects an expired code", async () => {
  const { getCode, advance } = await setup();
  const { redeem } = await getCode();
  advance(MINUTE);
  expect((await redeem()).json.error).toBe("invalid_grant");
});

it("rotates refresh tokens, returns the same token to a retry, and revokes all tokens after a reuse", async () => {
  const { getCode, use, advance } = await setup();
  const { redeem, refresh } = await getCode({ scope: "inbox:read inbox:write" });
  const { json: first } = await redeem();
  advance(MINUTE);
  const { json: second } = await refresh(first.refresh_token, { scope: "inbox:read" });
  expect(second).toMatchObject({ scope: "inbox:read" });
  expect(second.refresh_token).not.toBe(first.refresh_token);
  expect(await use(second.access_token)).toBe(200);
  const { json: retried } = await refresh(first.refresh_token);
  expect(retried.refresh_token).toBe(second.refresh_token);
  const { json: third } = await refresh(second.refresh_token);
  expect(third.scope).toBe("inbox:read inbox:write");

  // The reuse of an older token revokes all tokens of the grant, also the newest.
  const reused = await refresh(first.refresh_token);
  expect([reused.status, reused.json.error]).toEqual([400, "invalid_grant"]);
  expect((await refresh(third.refresh_token)).json.error).toBe("invalid_grant");
  expect(await use(third.access_token)).toBe(401);
});

it("does not refresh for more scopes, another resource or another client", async () => {
  const { getCode, register } = await setup();
  const { redeem, refresh } = await getCode({ scope: "inbox:read" });
  const { json } = await redeem();
  const { client_id } = await register();
  for (const [changed, error] of [
    [{ scope: "admin" }, "invalid_scope"],
    [{ resource: `${HUB}/mcp/shop` }, "invalid_target"],
    [{ client_id }, "invalid_grant"],
    [{ refresh_token: "sbr_guess" }, "invalid_grant"],
  ] as const)
    expect((await refresh(json.refresh_token, changed)).json.error).toBe(error);
  expect((await refresh(json.refresh_token)).status).toBe(200);
});

it("revokes tokens for their client only", async () => {
  const { getCode, register, post, use } = await setup();
  const { client_id, redeem, refresh } = await getCode();
  const { json } = await redeem();
  const other = await register();
  const revoke = (token: string | undefined, client: string) =>
    post("/oauth/revoke", { token: token ?? "", client_id: client });
  for (const token of [json.access_token, json.refresh_token])
    expect((await revoke(token, other.client_id)).status).toBe(200);
  expect(await use(json.access_token)).toBe(200);
  expect((await revoke("unknown", client_id)).status).toBe(200);
  expect((await revoke("unknown", "unknown")).json.error).toBe("invalid_client");
  await revoke(json.access_token, client_id);
  expect(await use(json.access_token)).toBe(401);
  const { json: second } = await refresh(json.refresh_token);
  expect(await use(second.access_token)).toBe(200);
  await revoke(second.refresh_token, client_id);
  expect(await use(second.access_token)).toBe(401);
  expect((await refresh(second.refresh_token)).json.error).toBe("invalid_grant");
});

it.each([
  ["single", ["*"], undefined],
  ["github", ["*"], "all, and all future ones"],
  ["github", ["7", "8"], "acme (7), 8"],
] as const)(
  "shows the tenants on the consent page: tenancy %s, tenants %j",
  async (tenancy, tenants, shownTenants) => {
    const { store, register, signIn, authorizeUrl } = await setup({ tenancy });
    await store.putTenant({ id: "7", name: "acme", at: 0 });
    const { client_id } = await register();
    const browser = await signIn({ ...OPERATOR, tenants: [...tenants] });
    const html = await (await browser.get(await authorizeUrl(client_id))).text();
    expect(html).toContain("<dt>You are</dt>");
    expect(/<dt>Tenants<\/dt><dd>(.*?)<\/dd>/.exec(html)?.[1]).toBe(shownTenants);
  },
);

it("grants only scopes that the session has, and ends the grant with the token of the session", async () => {
  const { getCode, store, use, advance } = await setup();
  await store.putToken({
    id: "laptop",
    name: "laptop",
    hash: "x",
    scopes: ["inbox:read"],
    tenants: ["local"],
    created_at: 0,
    expires_at: null,
  });
  const grant: SessionAccess = {
    ...OPERATOR,
    scopes: ["inbox:read"],
    tenants: ["local"],
    parent: "laptop",
  };
  const { redeem } = await getCode({ scope: "inbox:read inbox:write admin" }, grant);
  const { json } = await redeem();
  expect(json.scope).toBe("inbox:read");
  expect(await use(json.access_token)).toBe(200);
  await store.revokeToken("laptop", advance(0));
  expect(await use(json.access_token)).toBe(401);
});

/** Returns the URL of the first link in a page. */
const linkIn = (html: string) =>
  new URL((/<a href="([^"]+)"/.exec(html)?.[1] ?? "").replaceAll("&#38;", "&"));

it("does not redirect with an error before a click, since any program can register a client", async () => {
  const fetch: WebFetch = async () => Response.json(document);
  const { register, signIn, authorizeUrl } = await setup({ fetch });
  const { client_id } = await register();
  const browser = await signIn();
  for (const [parameters, error] of [
    [{ response_type: "token" }, "unsupported_response_type"],
    [{ code_challenge: "" }, "invalid_request"],
    [{ code_challenge_method: "plain" }, "invalid_request"],
    [{ scope: "everything" }, "invalid_scope"],
    [{ resource: "https://other.example/mcp" }, "invalid_target"],
    [{ resource: `${HUB}/mcp#x` }, "invalid_target"],
  ] as const)
    for (const id of [client_id, CLIENT_URL]) {
      const response = await browser.get(await authorizeUrl(id, parameters));
      expect([response.status, response.headers.get("location")]).toEqual([400, null]);
      const html = await response.text();
      expect(html).not.toContain('http-equiv="refresh"');
      expect(html).toContain("a program on this computer (127.0.0.1:7777)</a>");
      const { origin, pathname, searchParams } = linkIn(html);
      expect(origin + pathname).toBe(REDIRECT);
      expect(["error", "state", "iss"].map((name) => searchParams.get(name))).toEqual([
        error,
        "s1",
        HUB,
      ]);
    }
});

it("redirects to the client with an error if the person denies the request", async () => {
  const { register, signIn, authorizeUrl } = await setup();
  const { client_id } = await register();
  const denied = await (await signIn()).decide(await authorizeUrl(client_id), "deny");
  expect(denied.status).toBe(303);
  expect(denied.headers.get("location")).toMatch(/\?error=access_denied&state=s1&iss=/);
});

it.each([
  "https://evil.example/callback",
  "http://127.0.0.1:7777/callback/",
  "http://127.0.0.1:7777/callback?x=1",
  "http://127.0.0.1:7777/Callback",
  "http://127.0.0.1.evil.example/callback",
  "http://127.0.0.1:7777@evil.example/callback",
  "http://localhost:7777/callback",
  "javascript:alert(1)",
  "",
])("never redirects to an unregistered address: %s", async (redirect_uri) => {
  const { register, signIn, authorizeUrl } = await setup();
  const { client_id } = await register();
  const response = await (await signIn()).get(await authorizeUrl(client_id, { redirect_uri }));
  expect([response.status, response.headers.get("location")]).toEqual([400, null]);
});

it("accepts any port of a registered loopback address", async () => {
  const { register, signIn, authorizeUrl } = await setup();
  for (const [registered, redirect_uri] of [
    ["http://127.0.0.1/callback", "http://127.0.0.1:50123/callback"],
    ["http://localhost:1/a?b=c", "http://localhost:2/a?b=c"],
    ["http://[::1]/callback", "http://[::1]:50123/callback"],
  ] as const) {
    const { client_id } = await register({ redirect_uris: [registered] });
    const browser = await signIn();
    const response = await browser.decide(await authorizeUrl(client_id, { redirect_uri }));
    expect(response.headers.get("location")).toContain(redirect_uri);
  }
});

it.each([
  [{ redirect_uris: [] }, "invalid_redirect_uri"],
  [{ redirect_uris: ["http://example.com/callback"] }, "invalid_redirect_uri"],
  [{ redirect_uris: ["https://example.com/#x"] }, "invalid_redirect_uri"],
  [{ redirect_uris: ["javascript:alert(1)"] }, "invalid_redirect_uri"],
  [{ redirect_uris: [" javascript:alert(1)"] }, "invalid_redirect_uri"],
  [{ redirect_uris: ["java\tscript:alert(1)"] }, "invalid_redirect_uri"],
  [{ redirect_uris: ["callback"] }, "invalid_redirect_uri"],
  [{ redirect_uris: "https://example.com" }, "invalid_client_metadata"],
])("does not register %j", async (metadata, error) => {
  const { register } = await setup();
  expect(await register(metadata)).toMatchObject({ status: 400, error });
});

it.each([
  [{ client_name: "x".repeat(101) }, "client_name: must have at most 100 characters"],
  [{ client_name: "Editor\u202e" }, "client_name: must have no control characters"],
  [{ client_name: "a\0b" }, "client_name: must not contain the character U+0000"],
  [{ redirect_uris: Array(11).fill(REDIRECT) }, "redirect_uris: must have at most 10 entries"],
  [
    { redirect_uris: [REDIRECT, `https://example.com/${"x".repeat(500)}`] },
    "redirect_uris[1]: must have at most 500 characters",
  ],
  [{ grant_types: ["x".repeat(101)] }, "grant_types[0]: must have at most 100 characters"],
  [{ grant_types: "authorization_code" }, "grant_types: must be an array of strings"],
  [{ logo_uri: "x".repeat(8_192) }, "The body exceeds the limit of 8192 bytes."],
])("names the invalid field when it rejects a registration: %#", async (metadata, message) => {
  const { register } = await setup();
  expect(await register(metadata)).toMatchObject({
    status: 400,
    error: "invalid_client_metadata",
    error_description: expect.stringContaining(message),
  });
});

it("removes the oldest unused clients above the maximum, but no client that may be signing in", async () => {
  const { getCode, register, advance, store } = await setup({ maxUnusedClients: 3 });
  const { client_id: used, redeem } = await getCode();
  const registered: string[] = [];
  for (let count = 0; count < 3; count += 1) {
    registered.push((await register()).client_id);
    advance(MINUTE / 3);
  }
  expect(await register()).toMatchObject({
    status: 503,
    error: "temporarily_unavailable",
    retryAfter: "540",
  });
  expect((await redeem()).json.error).toBe("invalid_grant"); // the code has expired; the client has not
  advance(9 * MINUTE + 1);
  expect((await register()).status).toBe(201);
  const clients = await Promise.all([used, ...registered].map((id) => store.getOAuthClient(id)));
  expect(clients.map((client) => client?.id)).toEqual([used, undefined, ...registered.slice(1)]);
});

it("redirects a browser without a session to the sign-in, which returns to the request", async () => {
  const { send, register, authorizeUrl } = await setup();
  const path = await authorizeUrl((await register()).client_id);
  const first = await send(path);
  const reopened = /content="0; url=([^"]+)"/
    .exec(await first.text())?.[1]
    ?.replaceAll("&#38;", "&");
  expect(reopened).toMatch(/^\/oauth\/authorize\?client_id=.*&reopened=1$/);
  const second = await send(reopened ?? "");
  expect([second.status, second.headers.get("location")]).toEqual([
    303,
    `/sign-in?return_to=${encodeURIComponent(reopened ?? "")}`,
  ]);
});

it("shows the client, the scopes and the resource on a consent page that cannot be framed", async () => {
  const { register, signIn, authorizeUrl } = await setup();
  const { client_id } = await register({ client_name: "<b>Editor</b>" });
  const response = await (await signIn()).get(await authorizeUrl(client_id));
  const html = await response.text();
  expect(html).toContain("Allow &#60;b&#62;Editor&#60;/b&#62; to use this hub?");
  for (const text of ["127.0.0.1:7777", "inbox:write", `${HUB}/mcp`, "the operator"])
    expect(html).toContain(text);
  const policy = response.headers.get("content-security-policy");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).toContain("form-action 'self' http://127.0.0.1:7777;");
  // With `no-referrer`, browsers would send `Origin: null` with the form.
  expect(response.headers.get("referrer-policy")).toBe("same-origin");
});

it("shows the GitHub login of the person who is signed in", async () => {
  const { register, signIn, authorizeUrl, store } = await setup();
  await store.putPerson({
    id: "github:7",
    login: "ada-lovelace",
    name: "Ada",
    avatar: null,
    sealed: "x",
    checked_at: 0,
    memberships: [{ tenant: "local", role: "admin" }],
  });
  const browser = await signIn({ ...OPERATOR, person: "github:7" });
  const html = await (await browser.get(await authorizeUrl((await register()).client_id))).text();
  expect(html).toContain("<dt>You are</dt><dd>ada-lovelace on GitHub</dd>");
});

it("accepts a decision once, and only from its own page in the session that opened it", async () => {
  const { register, signIn, authorizeUrl, send } = await setup();
  const { client_id } = await register();
  const path = await authorizeUrl(client_id);
  const browser = await signIn();
  const { consent } = formIn(await (await browser.get(path)).text());
  const form = { consent, decision: "allow" };
  const isRejected = async (response: Promise<Response>) => {
    const { status, headers } = await response;
    return status >= 400 && headers.get("location") === null;
  };
  // From another site, from pages without an origin, in another session, without a session, with a
  // forged consent, and without a consent.
  expect(await isRejected(browser.submit("/oauth/authorize", form, "https://evil.example"))).toBe(
    true,
  );
  expect(await isRejected(browser.submit("/oauth/authorize", form, "null"))).toBe(true);
  expect(await isRejected(browser.submit("/oauth/authorize", form, ""))).toBe(true);
  expect(await isRejected((await signIn()).submit("/oauth/authorize", form))).toBe(true);
  const init = { method: "POST", body: new URLSearchParams(form), headers: { origin: HUB } };
  expect(await isRejected(send("/oauth/authorize", init))).toBe(true);
  for (const forged of ["", "v1.AAAA", "null"])
    expect(await isRejected(browser.submit("/oauth/authorize", { ...form, consent: forged }))).toBe(
      true,
    );
  expect(await isRejected(browser.submit(path, { decision: "allow" }))).toBe(true);
  expect((await browser.submit("/oauth/authorize", form)).status).toBe(303);
  expect(await isRejected(browser.submit("/oauth/authorize", form))).toBe(true);
});

it("rejects a decision after ten minutes, and a token instead of a session", async () => {
  const { register, signIn, authorizeUrl, advance, getCode, send } = await setup();
  const path = await authorizeUrl((await register()).client_id);
  const browser = await signIn();
  const { consent } = formIn(await (await browser.get(path)).text());
  advance(10 * MINUTE);
  expect((await browser.submit("/oauth/authorize", { consent, decision: "allow" })).status).toBe(
    400,
  );
  const { json } = await (await getCode({ resource: HUB })).redeem();
  const headers = { authorization: `Bearer ${json.access_token}` };
  expect((await send(path, { headers })).status).toBe(403);
});

const CLIENT_URL = "https://app.example/oauth/client.json";
const document = { client_id: CLIENT_URL, client_name: "App", redirect_uris: [REDIRECT] };

it("reads clients from metadata documents, and caches them", async () => {
  const fetched: string[] = [];
  const fetch: WebFetch = async (url, init) => {
    fetched.push(String(url));
    expect(init?.redirect).toBe("error");
    return Response.json(document);
  };
  const { signIn, authorizeUrl, advance, post, send } = await setup({ fetch });
  // Only a signed-in person makes the hub fetch a document.
  await send(await authorizeUrl(CLIENT_URL, { reopened: "1" }));
  expect(fetched).toEqual([]);
  const browser = await signIn();
  const html = await (await browser.get(await authorizeUrl(CLIENT_URL))).text();
  expect(html).toContain("<dd>app.example</dd>");
  const { headers } = await browser.decide(await authorizeUrl(CLIENT_URL));
  expect(fetched).toEqual([CLIENT_URL]);
  const code = new URL(headers.get("location") ?? "").searchParams.get("code") ?? "";
  const form = { grant_type: "authorization_code", client_id: CLIENT_URL, code };
  expect((await post("/oauth/token", { ...form, code_verifier: VERIFIER })).status).toBe(200);
  advance(61 * MINUTE);
  await browser.get(await authorizeUrl(CLIENT_URL));
  expect(fetched).toHaveLength(2);
});

it.each([
  [
    "a client_id that differs from its URL",
    async () => Response.json({ ...document, client_id: `${CLIENT_URL}x` }),
  ],
  ["a secret", async () => Response.json({ ...document, client_secret: "x" })],
  ["no redirect URI", async () => Response.json({ ...document, redirect_uris: [] })],
  [
    "a forbidden redirect URI",
    async () => Response.json({ ...document, redirect_uris: ["javascript:alert(1)"] }),
  ],
  ["too many bytes", async () => Response.json({ ...document, more: "x".repeat(20_000) })],
  ["the status 404", async () => new Response("", { status: 404 })],
  ["no JSON", async () => new Response("<html>")],
  [
    "a private address",
    async () => {
      throw new Error("app.example resolves to 10.0.0.1, which the hub does not call.");
    },
  ],
])("rejects a metadata document with %s", async (_, fetch) => {
  const { signIn, authorizeUrl } = await setup({ fetch });
  const response = await (await signIn()).get(await authorizeUrl(CLIENT_URL));
  expect([response.status, response.headers.get("location")]).toEqual([400, null]);
});

it.each([
  "http://app.example/client.json",
  "https://app.example/",
  "https://app.example/a/../client.json",
  "https://user@app.example/client.json",
  "https://app.example/client.json#x",
])("does not fetch the client id %s", async (id) => {
  const { signIn, authorizeUrl } = await setup();
  expect((await (await signIn()).get(await authorizeUrl(id))).status).toBe(400);
});

it("issues tokens for a device code after a person has entered its user code", async () => {
  const { register, post, signIn, use } = await setup();
  const { client_id } = await register({
    redirect_uris: [],
    grant_types: [DEVICE_GRANT, "refresh_token"],
  });
  const { json: device } = await post("/oauth/device_authorization", { client_id });
  expect(device).toMatchObject({
    user_code: expect.stringMatching(/^[B-Z]{4}-[B-Z]{4}$/),
    verification_uri: `${HUB}/oauth/device`,
    expires_in: 600,
    interval: 5,
  });
  const poll = () =>
    post("/oauth/token", {
      grant_type: DEVICE_GRANT,
      client_id,
      device_code: device.device_code ?? "",
    });
  expect((await poll()).json.error).toBe("authorization_pending");
  const browser = await signIn();
  expect(await (await browser.get("/oauth/device")).text()).toContain("Enter the code");
  expect((await browser.get("/oauth/device?user_code=BBBB-BBBB")).status).toBe(400);
  const typed = device.user_code?.toLowerCase().replace("-", " ");
  const path = `/oauth/device?user_code=${encodeURIComponent(typed ?? "")}`;
  expect(await (await browser.get(path)).text()).toContain(device.user_code);
  expect((await browser.decide(path)).status).toBe(200);
  const { json } = await poll();
  expect(await use(json.access_token, "/events")).toBe(200);
  expect((await poll()).json.error).toBe("expired_token");
});

it("returns an error for a denied and an expired device code, and to a client that may not use device codes", async () => {
  const { register, post, signIn, advance } = await setup();
  const { client_id } = await register({ redirect_uris: [], grant_types: [DEVICE_GRANT] });
  const start = async () => (await post("/oauth/device_authorization", { client_id })).json;
  const poll = async (device_code = "") =>
    (await post("/oauth/token", { grant_type: DEVICE_GRANT, client_id, device_code })).json.error;
  const first = await start();
  await (await signIn()).decide(`/oauth/device?user_code=${first.user_code}`, "deny");
  expect(await poll(first.device_code)).toBe("access_denied");
  const second = await start();
  advance(10 * MINUTE);
  expect(await poll(second.device_code)).toBe("expired_token");
  expect(await poll("unknown")).toBe("invalid_grant");
  const other = await register();
  const rejected = await post("/oauth/device_authorization", { client_id: other.client_id });
  expect(rejected.json.error).toBe("unauthorized_client");
});

it("issues tokens to the earlier bridge, which polls with its state, only after consent", async () => {
  const { register, post, signIn, use } = await setup();
  const { client_id, status } = await register({
    client_name: "github-webhook-mcp-cli",
    redirect_uris: [],
    grant_types: [POLL_GRANT, "refresh_token"],
    token_endpoint_auth_method: "none",
  });
  expect(status).toBe(201);
  const state = "a".repeat(43);
  const path = `/oauth/authorize?${new URLSearchParams({ client_id, state })}`;
  const poll = (changed: Record<string, string> = {}) =>
    post("/oauth/token", { grant_type: POLL_GRANT, client_id, state, ...changed });
  // The bridge polls before the browser has opened the page.
  expect((await poll()).json.error).toBe("authorization_pending");
  const browser = await signIn();
  const html = await (await browser.get(path)).text();
  expect(html).toContain("If someone sent you the link, deny it");
  // Opening the page does not give the consent.
  expect((await poll()).json.error).toBe("authorization_pending");
  expect((await browser.decide(path)).status).toBe(200);
  const other = await register({ redirect_uris: [], grant_types: [POLL_GRANT] });
  expect((await poll({ client_id: other.client_id })).json.error).toBe("authorization_pending");
  const { json } = await poll();
  for (const path of ["/mcp", "/events"]) expect(await use(json.access_token, path)).toBe(200);
  expect((await poll()).json.error).toBe("expired_token");

  const unknown = await poll({ client_id: "of-another-host" });
  expect([unknown.status, unknown.json.error]).toEqual([401, "invalid_client"]);
  const guessable = `/oauth/authorize?${new URLSearchParams({ client_id, state: "1" })}`;
  expect((await browser.get(guessable)).status).toBe(400);
  const denied = { state: "b".repeat(43) };
  await browser.decide(`/oauth/authorize?${new URLSearchParams({ client_id, ...denied })}`, "deny");
  expect((await poll(denied)).json.error).toBe("access_denied");
});

it("limits the requests of one address per second", async () => {
  const { post, advance } = await setup({ rateLimit: 100 });
  const statuses: number[] = [];
  for (let count = 0; count < 12; count += 1)
    statuses.push((await post("/oauth/token", {})).status);
  expect(statuses.filter((status) => status === 429)).toHaveLength(2);
  advance(2 * SECOND);
  expect((await post("/oauth/token", {})).status).toBe(400);
});

it("limits the registrations and device codes of one address per minute", async () => {
  const { register, post, advance } = await setup({ rateLimit: 100 });
  const statuses: number[] = [];
  for (let count = 0; count < 11; count += 1) {
    statuses.push((await register()).status);
    advance(SECOND);
  }
  expect(statuses).toEqual([...Array(10).fill(201), 429]);
  expect(await register()).toMatchObject({ status: 429, error: "slow_down", retryAfter: "60" });
  // The limits of other paths are separate.
  for (let count = 0; count < 10; count += 1) {
    expect((await post("/oauth/device_authorization", {})).status).toBe(401);
    advance(SECOND);
  }
  expect((await post("/oauth/device_authorization", {})).status).toBe(429);
  expect((await post("/oauth/token", {})).status).toBe(400);
  advance(2 * MINUTE);
  expect((await register()).status).toBe(201);
});

it("rejects repeated parameters, and bodies that are not a form or too large", async () => {
  const { send } = await setup();
  const post = async (body: string, type = "application/x-www-form-urlencoded") =>
    (
      (await (
        await send("/oauth/token", { method: "POST", body, headers: { "content-type": type } })
      ).json()) as { error: string }
    ).error;
  expect(await post("grant_type=a&grant_type=b")).toBe("invalid_request");
  expect(await post("{}", "application/json")).toBe("invalid_request");
  expect(await post("x".repeat(70_000))).toBe("invalid_request");
  expect(await post("resource=a&resource=b")).toBe("invalid_target");
});
