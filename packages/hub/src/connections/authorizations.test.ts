/** Lets a person authorize the hub, with a local authorization server and a real store. */
import { expect, it, onTestFinished } from "vitest";
import { serveOAuthMcp } from "../../../../test/support/oauth-server.ts";
import {
  callOptions,
  catchError,
  newConnection,
  openConnections,
  seal,
} from "../../../../test/support/open-connections.ts";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { WAIT } from "../../../../test/support/timeouts.ts";
import { createGuardedWebFetch } from "../hosts/node/guarded-web-fetch.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import { createTestTimers } from "../kernel/lib/test-timers.ts";
import { storeDefinition } from "../store.ts";
import { createAuthorizations } from "./authorizations.ts";
import type { Credentials } from "./credentials.ts";
import { createRevokeRemoved } from "./revoke-removed.ts";
import { publishTriggers } from "./store/contract/connection-sample.ts";

const call = { tool: "echo", arguments: {} };
const HUB = "http://127.0.0.1:4747";
const by = "session";

async function open(
  serverOptions: Parameters<typeof serveOAuthMcp>[0] = {},
  auth: Credentials["auth"] = { type: "oauth", scope: "read" },
) {
  const server = await serveOAuthMcp(serverOptions);
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  onTestFinished(() => store.close());
  const timers = createTestTimers(Date.now());
  const fetch = createGuardedWebFetch({ allowPrivate: ["127.0.0.1"], allowHttp: true });
  const warnings: unknown[] = [];
  const log = { warn: (...line: unknown[]) => void warnings.push(line) };
  const options = { store, seal, fetch, timers, log };
  const authorizations = createAuthorizations(options);
  const connection = await newConnection(server.url, { auth });
  await store.createConnection(connection, timers.now());
  /** The connections of one process of the hub. */
  const replica = () => openConnections({ timers, store });
  const callTool = (connections = replica()) =>
    connections.callTool(connection, call, callOptions());
  const consent = async () => {
    const { url } = await authorizations.begin(connection, { by, hubUrl: HUB });
    const { to, params } = await server.consent(url);
    expect(to.origin + to.pathname).toBe(`${HUB}/connections/authorized`);
    return { ...params, state: params.state ?? "" };
  };
  const authorize = async () => authorizations.complete(connection, { by, ...(await consent()) });
  return {
    server,
    store,
    timers,
    authorizations,
    connection,
    replica,
    callTool,
    consent,
    authorize,
    grant: () => store.getGrant("local", connection.id),
    warnings,
    remove: () =>
      createRevokeRemoved(options)(connection, () =>
        store.deleteConnection("local", connection.id, timers.now()),
      ),
  };
}

it("calls the server with the person's token, and refreshes the token before it expires", async () => {
  const { server, timers, callTool, authorize, grant, connection } = await open();
  expect(await catchError(callTool())).toMatchObject({
    code: "needs_authorization",
    message: expect.stringMatching(/not authorized.*Authorize/),
  });
  await authorize();
  expect(connection.credentials).toEqual({
    auth: { type: "oauth", scope: "read", grant: "authorization_code" },
  });
  expect(await callTool()).toMatchObject({ isError: false });
  const { sealed } = (await grant()) ?? {};
  for (const token of [...server.accessTokens, ...server.refreshTokens.keys()])
    expect(sealed).not.toContain(token);
  expect(server.tokenRequests.map((form) => form.get("resource"))).toEqual([server.url]);
  timers.advance(3_600_000 - 30_000);
  expect(await callTool()).toMatchObject({ isError: false });
  expect(server.tokenRequests.map((form) => form.get("grant_type"))).toEqual([
    "authorization_code",
    "refresh_token",
  ]);
  expect([...server.clients.values()]).toMatchObject([
    { client_name: "Signalbox", redirect_uris: [`${HUB}/connections/authorized`] },
  ]);
});

it("refreshes a token once for all processes after the server has answered 401", async () => {
  const { server, timers, callTool, replica, authorize } = await open();
  await authorize();
  const replicas = [replica(), replica()];
  for (const connections of replicas) await callTool(connections);
  server.accessTokens.clear();
  let releaseToken = () => {};
  server.control.beforeToken = () =>
    new Promise((resolve) => {
      releaseToken = resolve;
    });
  const calling = Promise.all([...replicas, ...replicas].map(callTool));
  await expect.poll(() => server.tokenRequests.length).toBe(2);
  releaseToken();
  let isDone = false;
  void calling.finally(() => {
    isDone = true;
  });
  // The other process waits for the result, and polls the store for it.
  await expect
    .poll(() => {
      timers.advance(100);
      return isDone;
    }, WAIT)
    .toBe(true);
  for (const answer of await calling) expect(answer).toMatchObject({ isError: false });
  expect(server.tokenRequests).toHaveLength(2);
});

it("needs a new authorization when a refresh fails permanently, and masks the token in the error", async () => {
  const { server, timers, callTool, authorize, grant, store } = await open();
  await authorize();
  await callTool();
  const refresh = [...server.refreshTokens.keys()][0];
  timers.advance(3_600_000);
  server.control.failWith = { error: "temporarily_unavailable", error_description: "later" };
  expect(await catchError(callTool())).toMatchObject({ code: "unauthorized" });
  server.control.failWith = { error: "invalid_grant", error_description: `no ${refresh}` };
  const failed = await catchError(callTool());
  expect(failed.code).toBe("needs_authorization");
  expect(failed.message).toMatch(/invalid_grant: no .*Authorize the hub again/);
  expect(failed.message).not.toContain(refresh);
  expect(await grant()).toMatchObject({ sealed: null, error: expect.stringContaining("invalid") });
  expect(await store.nextConnectionDue()).toBeLessThanOrEqual(timers.now());
  const requests = server.tokenRequests.length;
  expect(await catchError(callTool())).toMatchObject({ message: failed.message });
  expect(server.tokenRequests).toHaveLength(requests);
  server.control.failWith = undefined;
  await authorize();
  expect(await callTool()).toMatchObject({ isError: false });
});

it("accepts a response only once, only in the session that began it, and only of the right issuer", async () => {
  const { server, authorizations, connection, callTool, consent, authorize, timers } = await open();
  const complete = (changed: object, params = {}) =>
    catchError(authorizations.complete(connection, { by, state: "", ...params, ...changed }));
  const params = await consent();
  expect(await complete({ by: "another" }, params)).toMatchObject({ code: "conflict" });
  expect(await complete({ state: `${connection.id}.guess` }, params)).toMatchObject({
    code: "conflict",
  });
  expect(await complete({ iss: "https://evil.example" }, params)).toMatchObject({
    code: "unauthorized",
    message: expect.stringMatching(/issuer/i),
  });
  expect(server.tokenRequests).toEqual([]);
  expect(await complete({}, params)).toMatchObject({ code: "conflict" }); // used by the previous attempt
  const late = await consent();
  timers.advance(10 * 60_000);
  expect(await complete({}, late)).toMatchObject({ code: "conflict" });
  server.control.deny = true;
  expect(await complete({}, await consent())).toMatchObject({
    message: expect.stringContaining("access_denied"),
  });
  expect(await catchError(callTool())).toMatchObject({ code: "needs_authorization" });
  server.control.deny = false;
  await authorize();
  expect(await callTool()).toMatchObject({ isError: false });
});

it("deletes and revokes the tokens when the person signs out", async () => {
  const { server, authorizations, connection, callTool, replica, authorize, grant } = await open();
  await authorize();
  const other = replica();
  await callTool(other);
  const refresh = [...server.refreshTokens.keys()];
  await authorizations.signOut(connection);
  expect(server.revoked).toEqual(refresh);
  expect(await grant()).toMatchObject({ sealed: null, error: null });
  expect(await catchError(callTool(other))).toMatchObject({ code: "needs_authorization" });
});

it("revokes the tokens of a removed connection", async () => {
  const { server, authorize, grant, remove, warnings } = await open();
  await authorize();
  const refresh = [...server.refreshTokens.keys()];
  server.control.beforeRevocation = async () => expect(await grant()).toBeUndefined();
  expect(await remove()).toBe(true);
  expect(server.revoked).toEqual(refresh);
  expect(warnings).toEqual([]);
});

it("keeps the tokens of a deleted connection until its subscriptions are removed", async () => {
  const { server, store, connection, authorize, grant, remove } = await open();
  await authorize();
  await publishTriggers(store, [{ node_id: "a", source: connection.id }], { tenant: "local" });
  expect(await remove()).toBe(true);
  expect(server.revoked).toEqual([]);
  expect(await grant()).toMatchObject({ sealed: expect.any(String) });
});

/** By a part of the expected warning. Each function makes the revocation fail. */
const failures: Record<string, (opened: Awaited<ReturnType<typeof open>>) => Promise<void>> = {
  async "answered 503"({ server }) {
    server.control.revocationStatus = 503;
  },
  async "did not answer within 10 s"({ server, timers }) {
    server.control.beforeRevocation = async () => {
      timers.advance(10_000);
      await new Promise(() => {});
    };
  },
  async "private address"({ store, grant, connection }) {
    const stored = JSON.parse(await seal.unseal((await grant())?.sealed ?? ""));
    stored.metadata.revocation_endpoint = "http://10.0.0.1/revoke";
    const sealed = await seal.seal(JSON.stringify(stored));
    await store.saveGrant("local", connection.id, { sealed, error: null }, 0);
  },
};

it.each(Object.keys(failures))(
  "removes a connection even if the revocation fails: %s",
  async (why) => {
    const opened = await open();
    await opened.authorize();
    await failures[why]?.(opened);
    expect(await opened.remove()).toBe(true);
    expect(await opened.grant()).toBeUndefined();
    expect(opened.server.revoked).toEqual([]);
    expect(opened.warnings).toEqual([
      [
        { connection: opened.connection.id, tenant: "local" },
        expect.stringMatching(`^the tokens were not revoked: .*${why}`),
      ],
    ]);
    for (const secret of opened.server.issued)
      expect(JSON.stringify(opened.warnings)).not.toContain(secret);
  },
);

it("does not use a token for another URL than that for which it was granted", async () => {
  const { connection, replica, authorize } = await open();
  await authorize();
  const moved = { ...connection, revision: 2, target: { url: `${HUB}/mcp` } };
  expect(await catchError(replica().callTool(moved, call, callOptions()))).toMatchObject({
    code: "needs_authorization",
    message: expect.stringContaining("has changed"),
  });
});

it("uses the URL of its metadata document as client_id if the hub has a public URL", async () => {
  const { authorizations, connection, server } = await open({ acceptsMetadataUrls: true });
  const begun = await authorizations.begin(connection, { by, hubUrl: "https://hub.example" });
  const { searchParams } = new URL(begun.url);
  expect(searchParams.get("client_id")).toBe("https://hub.example/oauth/client.json");
  expect(searchParams.get("redirect_uri")).toBe("https://hub.example/connections/authorized");
  expect(server.clients.size).toBe(0);
});

it("uses the configured client if the authorization server does not register clients", async () => {
  const none = await open({ allowsRegistration: false });
  expect(await catchError(none.authorize())).toMatchObject({
    code: "unauthorized",
    message: expect.stringContaining(`redirect URL ${HUB}/connections/authorized`),
  });
  const client = { client_id: "hub", client_secret: "s" };
  const { server, callTool, authorize } = await open(
    { allowsRegistration: false },
    { type: "oauth", grant: "authorization_code", ...client },
  );
  const redirect_uris = [`${HUB}/connections/authorized`];
  server.clients.set("hub", { redirect_uris, client_secret: "s" });
  await authorize();
  expect(await callTool()).toMatchObject({ isError: false });
});

it.each([
  [null, "has no code_challenge_methods_supported"],
  [["plain"], 'has code_challenge_methods_supported ["plain"], without "S256"'],
])(
  "refuses an authorization server without PKCE, before it registers the hub there: %j",
  async (challengeMethods, problem) => {
    const { server, authorizations, connection } = await open({ challengeMethods });
    const failed = await catchError(authorizations.begin(connection, { by, hubUrl: HUB }));
    expect(failed).toMatchObject({
      code: "unauthorized",
      message: expect.stringContaining(`${server.issuer} ${problem}`),
    });
    expect(failed.message).not.toContain("redirect URL");
    expect(server.clients.size).toBe(0);
  },
);

it("names the invalid field of the metadata of an authorization server", async () => {
  const { authorizations, connection } = await open({ challengeMethods: "S256" as never });
  const failed = await catchError(authorizations.begin(connection, { by, hubUrl: HUB }));
  expect(failed.message).toMatch(
    /^The server's OAuth answer is invalid: code_challenge_methods_supported: .*expected array.*\.$/,
  );
});
