/** Tests how the credentials of connections are stored, and what servers receive. */
import { text } from "node:stream/consumers";
import { credentialFields } from "@signalbox/contract/connection-fields.ts";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { listen, serveSdk2 } from "../../../../test/support/mcp-servers.ts";
import {
  callOptions,
  catchError,
  newConnection,
  openConnections,
} from "../../../../test/support/open-connections.ts";
import { WAIT } from "../../../../test/support/timeouts.ts";
import { createSeal } from "../kernel/lib/seal.ts";
import { createTestTimers } from "../kernel/lib/test-timers.ts";
import { type Credentials, sealCredentials, unsealCredentials } from "./credentials.ts";
import { IDLE_MS } from "./limits.ts";

const seal = createSeal(new Uint8Array(32));
const call = { tool: "echo", arguments: {} };
const oauth = { type: "oauth", client_id: "id", client_secret: "s:e c" } as const;

describe("stored credentials", () => {
  it("are sealed, and described without secrets", async () => {
    const original: Credentials = {
      headers: { "x-key": "hunter2" },
      auth: { ...oauth, client_secret: "hunter2", scope: "read" },
      env: { TOKEN: "hunter2" },
    };
    const { sealed, credentials } = await sealCredentials(original, seal);
    expect(JSON.stringify([sealed, credentials])).not.toContain("hunter2");
    expect(credentials).toEqual({
      headers: ["x-key"],
      auth: { type: "oauth", client_id: "id", scope: "read" },
      env: ["TOKEN"],
    });
    expect(await unsealCredentials(sealed, seal)).toEqual(original);
    expect(await sealCredentials({}, seal)).toEqual({ sealed: null, credentials: {} });
  });

  it("that were sealed with another key cause an error that names SIGNALBOX_KEY", async () => {
    const { sealed } = await sealCredentials({ env: { A: "b" } }, seal);
    const other = createSeal(new Uint8Array(32).fill(1));
    expect(await catchError(unsealCredentials(sealed, other))).toMatchObject({
      code: "unauthorized",
      message: expect.stringContaining("SIGNALBOX_KEY"),
    });
  });

  it.each([
    [{ headers: { Authorization: "x" } }, "is set by the hub: for a token use auth"],
    [{ headers: { "x-mesh-token": "x" } }, "is set by the hub: remove it"],
    [{ headers: { "x a": "x" } }, "must be the name of a header"],
    [{ headers: { "x-a": "b\r\nx-c: d" } }, "printable ASCII"],
    [{ auth: { type: "basic" } }, 'must have the type "bearer" or "oauth"'],
    [{ auth: { type: "bearer", token: "" } }, "must not be empty"],
    [{ auth: { type: "bearer" } }, "is missing"],
    [{ auth: { type: "oauth", grant: "client_credentials", client_id: "id" } }, "is missing"],
    [{ auth: { type: "oauth", grant: "authorization_code", client_secret: "s" } }, "is missing"],
    [{ auth: { type: "oauth", audience: "a" } }, "only possible with the grant client_credentials"],
    [{ auth: { ...oauth, token_url: "ftp://x" } }, "must be an http(s) URL"],
    [{ env: { "A-B": "x" } }, "must be the name of an environment variable"],
  ])("are rejected if they are invalid: %j", (fields, message) => {
    const { error } = z.object(credentialFields).safeParse(fields);
    expect(JSON.stringify(error?.issues)).toContain(JSON.stringify(message).slice(1, -1));
  });
});

/** An authorization server, and an MCP server that accepts its tokens. */
async function serveOAuth({ metadata = true, expiresIn = 3_600, methods = [] as string[] } = {}) {
  const grants: { form: URLSearchParams; authorization: string | undefined }[] = [];
  const accepted = new Set<string>();
  let isBroken = false;
  const auth = await listen(async (request, response) => {
    const json = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const origin = `http://${request.headers.host}`;
    if (request.url === "/token") {
      const form = new URLSearchParams(await text(request));
      grants.push({ form, authorization: request.headers.authorization });
      if (isBroken)
        return json(401, { error: "invalid_client", error_description: "The secret has expired" });
      const token = `token-${grants.length}`;
      accepted.add(token);
      return json(200, { access_token: token, token_type: "bearer", expires_in: expiresIn });
    }
    if (metadata && request.url?.startsWith("/.well-known/oauth-authorization-server"))
      return json(200, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        response_types_supported: ["code"],
        ...(methods.length > 0 ? { token_endpoint_auth_methods_supported: methods } : {}),
      });
    return json(404, {});
  });
  const origin = new URL(auth.url).origin;
  const mcp = await serveSdk2({ echo: () => ({}) });
  const guarded = await listen(async (request, response) => {
    const resource = `http://${request.headers.host}/mcp`;
    if (request.url?.startsWith("/.well-known/oauth-protected-resource"))
      return void response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ resource, authorization_servers: [origin] }));
    const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
    if (!accepted.has(token)) return void response.writeHead(401).end("token unknown");
    const answer = await fetch(mcp.url, {
      method: "POST",
      headers: request.headers as Record<string, string>,
      body: await text(request),
    });
    response
      .writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" })
      .end(await answer.text());
  });
  return {
    url: guarded.url,
    tokenUrl: `${origin}/token`,
    grants,
    accepted,
    break: () => {
      isBroken = true;
    },
  };
}

describe("an OAuth client", () => {
  it("gets a token from token_url, and uses it until it expires", async () => {
    const { url, tokenUrl, grants } = await serveOAuth({ metadata: false });
    const timers = createTestTimers(Date.now());
    const connections = openConnections({ timers });
    const auth = { ...oauth, token_url: tokenUrl, scope: "read write", audience: "weather" };
    const connection = await newConnection(url, { auth });
    await connections.callTool(connection, call, callOptions());
    await connections.callTool(connection, call, callOptions());
    expect(grants.map(({ form }) => Object.fromEntries(form))).toEqual([
      {
        grant_type: "client_credentials",
        resource: url,
        scope: "read write",
        audience: "weather",
      },
    ]);
    expect(grants[0]?.authorization).toBe(`Basic ${btoa("id:s%3Ae%20c")}`);
    timers.advance(IDLE_MS); // closes the client, but keeps the token
    await connections.callTool(connection, call, callOptions());
    expect([grants.length, connections.openedCount()]).toEqual([1, 2]);
    timers.stepClock(-24 * 3_600_000); // must not extend the token's lifetime
    timers.advance(3_600_000);
    await connections.callTool(connection, call, callOptions());
    expect(grants).toHaveLength(2);
  });

  it("discovers the token endpoint in the metadata of the MCP server and the authorization server", async () => {
    const { url, grants } = await serveOAuth({ methods: ["client_secret_post"] });
    const connection = await newConnection(url, { auth: oauth });
    await openConnections().callTool(connection, call, callOptions());
    expect(grants.map(({ authorization }) => authorization)).toEqual([undefined]);
    expect(Object.fromEntries(grants[0]?.form ?? [])).toMatchObject({
      client_id: "id",
      client_secret: "s:e c",
    });
  });

  it("fetches one new token after the server has answered 401", async () => {
    const { url, tokenUrl, grants, accepted } = await serveOAuth();
    const connections = openConnections();
    const auth = { ...oauth, token_url: tokenUrl };
    const connection = await newConnection(url, { auth });
    await connections.callTool(connection, call, callOptions());
    accepted.clear();
    await connections.callTool(connection, call, callOptions());
    expect(grants).toHaveLength(2);
    accepted.add = () => accepted; // from now on, no token is accepted
    accepted.clear();
    expect(await catchError(connections.callTool(connection, call, callOptions()))).toMatchObject({
      code: "unauthorized",
      message: expect.stringMatching(/HTTP 401: token unknown.*Check the credentials/),
    });
    expect(grants).toHaveLength(3);
  });

  it("reports the error of the token endpoint, and asks for token_url if there is no metadata", async () => {
    const server = await serveOAuth();
    server.break();
    const auth = { ...oauth, token_url: server.tokenUrl };
    const connections = openConnections();
    const rejected = await newConnection(server.url, { auth });
    expect(await catchError(connections.callTool(rejected, call, callOptions()))).toMatchObject({
      code: "unauthorized",
      message: expect.stringMatching(
        /answered invalid_client: The secret has expired\. Check client/,
      ),
    });
    const { url } = await serveOAuth({ metadata: false });
    const unknown = await newConnection(url, { auth: oauth });
    expect(await catchError(connections.callTool(unknown, call, callOptions()))).toMatchObject({
      code: "unauthorized",
      message: expect.stringContaining("Set token_url"),
    });
  });
});

it("fails after 10 s if the token endpoint does not answer", async () => {
  const hangs = await listen(() => {});
  const { url } = await serveOAuth();
  const timers = createTestTimers();
  const connections = openConnections({ timers });
  const connection = await newConnection(url, { auth: { ...oauth, token_url: hangs.url } });
  for (let attempt = 1; attempt <= 2; attempt += 1) {
    const calling = catchError(connections.loadOffers(connection, callOptions()));
    await vi.waitFor(() => expect(connections.openedCount()).toBe(attempt), WAIT);
    timers.advance(10_000);
    expect(await calling).toMatchObject({ code: "timeout" });
  }
});

it("quotes the server's error if the bearer token is wrong", async () => {
  const { url } = await listen((_, response) =>
    response
      .writeHead(401, { "content-type": "application/json" })
      .end('{"error":{"message":"API key revoked"}}'),
  );
  const connection = await newConnection(url, { auth: { type: "bearer", token: "t" } });
  expect(
    await catchError(openConnections().callTool(connection, call, callOptions())),
  ).toMatchObject({
    code: "unauthorized",
    message:
      "The server answered HTTP 401: API key revoked. Check the credentials of the connection.",
  });
});
