/**
 * An authorization server, and an MCP server that accepts its tokens, on the loopback address. The
 * authorization server checks redirect URIs, PKCE and one-time codes, and rotates refresh tokens. It consents
 * to every authorization request, unless `control.deny` is set.
 */
import { createHash, randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";
import { listen, serveSdk2, type Tools } from "./mcp-servers.ts";

interface Code {
  client: string;
  redirect: string;
  challenge: string;
  resource: string | null;
}

export interface OAuthServerOptions {
  tools?: Tools;
  expiresIn?: number;
  /** Whether clients can register. */
  allowsRegistration?: boolean;
  /** Whether the URL of a client id metadata document is accepted as a client id. */
  acceptsMetadataUrls?: boolean;
  /** `code_challenge_methods_supported` of the metadata; null omits the field. */
  challengeMethods?: string[] | null;
  /** Offers device codes, which are approved after `approveAfter` token requests. */
  device?: { approveAfter: number };
}

export async function serveOAuthMcp(options: OAuthServerOptions = {}) {
  const {
    tools = { echo: () => ({}) },
    expiresIn = 3_600,
    allowsRegistration = true,
    acceptsMetadataUrls = false,
    challengeMethods = ["S256"],
    device,
  } = options;
  const clients = new Map<string, { redirect_uris: string[]; client_secret?: string }>();
  const codes = new Map<string, Code>();
  const refreshTokens = new Map<string, { client: string; isUsed: boolean }>();
  const accessTokens = new Set<string>();
  const tokenRequests: URLSearchParams[] = [];
  const revoked: string[] = [];
  /** Every issued token, also those that are no longer valid. */
  const issued: string[] = [];
  const control = {
    /** Answers the next token requests with this error. */
    failWith: undefined as { error: string; error_description?: string } | undefined,
    /** Awaited before the response to each token request. */
    beforeToken: async () => {},
    /** Awaited before the response to each revocation. */
    beforeRevocation: async () => {},
    revocationStatus: 200,
    /** The `iss` of the next authorization responses. */
    iss: undefined as string | undefined,
    deny: false,
  };

  const auth = await listen(async (request, response) => {
    const origin = `http://${request.headers.host}`;
    const url = new URL(request.url ?? "/", origin);
    const json = (status: number, body: object) =>
      void response
        .writeHead(status, { "content-type": "application/json" })
        .end(JSON.stringify(body));
    const body = request.method === "POST" ? await text(request) : "";

    if (url.pathname === "/.well-known/oauth-authorization-server")
      return json(200, {
        issuer: origin,
        // For browsers, `localhost` and the 127.0.0.1 of the hub are different sites.
        authorization_endpoint: `${origin.replace("127.0.0.1", "localhost")}/authorize`,
        client_id_metadata_document_supported: acceptsMetadataUrls,
        token_endpoint: `${origin}/token`,
        revocation_endpoint: `${origin}/revoke`,
        ...(device && { device_authorization_endpoint: `${origin}/device` }),
        ...(allowsRegistration && { registration_endpoint: `${origin}/register` }),
        response_types_supported: ["code"],
        grant_types_supported: ["authorization_code", "refresh_token"],
        ...(challengeMethods && { code_challenge_methods_supported: challengeMethods }),
        token_endpoint_auth_methods_supported: ["none", "client_secret_post"],
        authorization_response_iss_parameter_supported: true,
      });
    if (url.pathname === "/register" && allowsRegistration) {
      const metadata = JSON.parse(body) as { redirect_uris: string[] };
      const client_id = `client-${randomUUID()}`;
      clients.set(client_id, metadata);
      return json(201, { ...metadata, client_id });
    }
    if (url.pathname === "/authorize") {
      const query = url.searchParams;
      const client = clients.get(query.get("client_id") ?? "");
      const redirect = query.get("redirect_uri") ?? "";
      if (!client?.redirect_uris.includes(redirect)) return json(400, { error: "bad redirect" });
      const target = new URL(redirect);
      target.searchParams.set("state", query.get("state") ?? "");
      target.searchParams.set("iss", control.iss ?? issuer);
      if (control.deny) target.searchParams.set("error", "access_denied");
      else {
        const code = `code-${randomUUID()}`;
        codes.set(code, {
          client: query.get("client_id") ?? "",
          redirect,
          challenge: query.get("code_challenge") ?? "",
          resource: query.get("resource"),
        });
        target.searchParams.set("code", code);
      }
      return void response.writeHead(302, { location: target.href }).end();
    }
    if (url.pathname === "/device" && device)
      return json(200, {
        device_code: "device-code",
        user_code: "WDJB-MJHT",
        verification_uri: `${origin}/enter`,
        expires_in: 600,
        interval: 0.01,
      });
    if (url.pathname === "/revoke") {
      const token = new URLSearchParams(body).get("token") ?? "";
      await control.beforeRevocation();
      if (control.revocationStatus !== 200) return json(control.revocationStatus, { token });
      revoked.push(token);
      refreshTokens.delete(token);
      return json(200, {});
    }
    if (url.pathname !== "/token") return json(404, {});

    const form = new URLSearchParams(body);
    tokenRequests.push(form);
    await control.beforeToken();
    if (control.failWith) return json(400, control.failWith);
    const problem = problemOf(form);
    if (problem) return json(400, { error: problem });
    const access_token = `access-${randomUUID()}`;
    const refresh_token = `refresh-${randomUUID()}`;
    accessTokens.add(access_token);
    issued.push(access_token, refresh_token);
    refreshTokens.set(refresh_token, { client: form.get("client_id") ?? "", isUsed: false });
    return json(200, { access_token, refresh_token, token_type: "Bearer", expires_in: expiresIn });
  });
  const issuer = new URL(auth.url).origin;

  function problemOf(form: URLSearchParams): string | undefined {
    const grant = form.get("grant_type") ?? "";
    if (grant === "refresh_token") return refresh(form);
    if (!grant.endsWith(":device_code")) return redeem(form);
    return tokenRequests.length > (device?.approveAfter ?? 0) ? undefined : "authorization_pending";
  }

  function redeem(form: URLSearchParams): string | undefined {
    const code = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const isValid =
      code?.client === form.get("client_id") &&
      code.redirect === form.get("redirect_uri") &&
      code.challenge === challenge &&
      code.resource === form.get("resource") &&
      clients.get(code.client)?.client_secret === (form.get("client_secret") ?? undefined);
    return isValid ? undefined : "invalid_grant";
  }

  /** A refresh token is valid once. An invalid or repeated one revokes all tokens. */
  function refresh(form: URLSearchParams): string | undefined {
    const token = refreshTokens.get(form.get("refresh_token") ?? "");
    if (token && !token.isUsed && token.client === form.get("client_id")) {
      token.isUsed = true;
      return undefined;
    }
    refreshTokens.clear();
    accessTokens.clear();
    return "invalid_grant";
  }

  const mcp = await serveSdk2(tools);
  const resourceServer = await listen(async (request, response) => {
    const origin = `http://${request.headers.host}`;
    const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
    if (request.url === new URL(metadata).pathname)
      return void response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ resource: `${origin}/mcp`, authorization_servers: [issuer] }));
    const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
    if (!accessTokens.has(token))
      return void response
        .writeHead(401, { "www-authenticate": `Bearer resource_metadata="${metadata}"` })
        .end(`unknown token ${token}`);
    const mcpResponse = await fetch(mcp.url, {
      method: "POST",
      headers: request.headers as Record<string, string>,
      body: await text(request),
    });
    response
      .writeHead(mcpResponse.status, {
        "content-type": mcpResponse.headers.get("content-type") ?? "",
      })
      .end(await mcpResponse.text());
  });

  return {
    url: resourceServer.url,
    issuer,
    clients,
    tokenRequests,
    revoked,
    issued,
    accessTokens,
    refreshTokens,
    control,
    /** Opens the authorization URL as a browser does, and returns the redirect with its parameters. */
    async consent(authorizationUrl: string): Promise<{ to: URL; params: Record<string, string> }> {
      const response = await fetch(authorizationUrl, { redirect: "manual" });
      const location = response.headers.get("location");
      if (!location) throw new Error(`no redirect: ${await response.text()}`);
      const to = new URL(location);
      return { to, params: Object.fromEntries(to.searchParams) };
    },
  };
}
