/** A person authorizes a connection of a real hub with OAuth. Then its tools and triggers work. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { ADMIN, type Backend, startApi } from "../support/api-client.ts";
import { createFlowMaker, returns } from "../support/flow-maker.ts";
import { runCli } from "../support/hub-process.ts";
import { signInBrowser } from "../support/oauth-browser.ts";
import { serveOAuthMcp } from "../support/oauth-server.ts";
import { WAIT } from "../support/timeouts.ts";

it.each<Backend>(["SQLite", "workerd"])(
  "a connection offers tools and triggers until its authorization ends, and the hub reveals no token, on %s",
  async (backend) => {
    const api = await startApi(backend, { SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1" });
    const configureCalls: unknown[] = [];
    const server = await serveOAuthMcp({
      tools: {
        forecast: () => ({ sky: "clear" }),
        TRIGGER_LIST: () => ({ triggers: [{ type: "storm", description: "A storm." }] }),
        TRIGGER_CONFIGURE: (args) => {
          configureCalls.push(args);
          return { success: true };
        },
      },
    });
    /** The API's responses. Below, the content of the hub's files is added. */
    const shown: string[] = [];
    const call = async (status: number, method: string, path: string, body?: unknown) => {
      const { text, json } = await api.expect(status, method, `/api/connections${path}`, body);
      shown.push(text);
      return json;
    };
    const connection = { name: "Weather", url: server.url, auth: { type: "oauth" } };
    const { id, ...created } = await call(201, "POST", "", connection);
    expect(created).toMatchObject({
      status: "needs_authorization",
      error: expect.stringContaining("choose Authorize"),
      credentials: { auth: { type: "oauth", grant: "authorization_code" } },
    });
    const byCommand = await runCli(["connection", "add", "mine", server.url, "--oauth"], {
      env: api.env,
    });
    expect(byCommand.stdout).toMatch(/mine-\w+ .*choose Authorize.*npx signalbox open/s);

    const authorize = async () => {
      const { url } = await call(201, "POST", `/${id}/authorization`);
      const { params } = await server.consent(url);
      return call(200, "PUT", `/${id}/authorization`, params);
    };
    expect(await authorize()).toMatchObject({ status: "ok", trigger_count: 1 });
    expect(await call(200, "POST", `/${id}/tools/forecast`, {})).toMatchObject({ isError: false });

    const maker = createFlowMaker(api.hub.url, ADMIN);
    await maker.app("weather");
    const parameters = { source: id, type: "storm", params: {} };
    const storm = { id: "storm", type: "Event", name: "Storm", parameters };
    await maker.flow("weather", "On storm", [storm, returns("end", "x")], [["storm", "end"]]);
    await vi.waitFor(() => expect(configureCalls).toMatchObject([{ type: "storm" }]), WAIT);

    server.accessTokens.clear();
    const [refreshToken] = server.refreshTokens.keys();
    server.control.failWith = {
      error: "invalid_grant",
      error_description: `revoked: ${refreshToken}`,
    };
    const failed = await call(502, "POST", `/${id}/tools/forecast`, {});
    expect(failed.code).toBe("connection_needs_authorization");
    await vi.waitFor(async () => {
      const { status, error } = await call(200, "GET", `/${id}`);
      expect(status).toBe("needs_authorization");
      expect(error).toMatch(/answered invalid_grant: revoked.*Authorize the hub again/);
    }, WAIT);
    server.control.failWith = undefined;
    expect(await authorize()).toMatchObject({ status: "ok", error: null });
    const signedOut = await call(200, "DELETE", `/${id}/authorization`);
    expect(signedOut.status).toBe("needs_authorization");

    // To delete a connection, the hub first disables its trigger on the server, then revokes its tokens.
    await authorize();
    await vi.waitFor(async () => {
      const { items } = await call(200, "GET", `/${id}/subscriptions`);
      expect(items).toMatchObject([{ state: "active" }]);
    }, WAIT);
    const validRefreshTokens = [...server.refreshTokens]
      .filter(([, { isUsed }]) => !isUsed)
      .map(([token]) => token);
    let lastConfigureCall: unknown;
    server.control.beforeRevocation = async () => {
      lastConfigureCall = configureCalls.at(-1);
    };
    await call(204, "DELETE", `/${id}`);
    await vi.waitFor(() => expect(validRefreshTokens).toContain(server.revoked.at(-1)), WAIT);
    expect(lastConfigureCall).toMatchObject({ type: "storm", enabled: false });

    const { json: client } = await api.expect(200, "GET", "/oauth/client.json");
    expect(client).toMatchObject({
      client_id: `${api.hub.url}/oauth/client.json`,
      redirect_uris: [`${api.hub.url}/connections/authorized`],
    });

    await api.hub.stop();
    const data = api.env.SIGNALBOX_DATA ?? "";
    for (const file of readdirSync(data, { recursive: true, withFileTypes: true }))
      if (file.isFile()) shown.push(readFileSync(join(file.parentPath, file.name), "latin1"));
    const allText = [...shown, api.hub.output()].join("\n");
    expect(server.issued.length).toBeGreaterThan(3);
    for (const secret of server.issued) expect(allText.includes(secret), secret).toBe(false);
  },
);

it.each<Backend>(["SQLite", "workerd"])(
  "a hub connects to another hub after the operator of that hub has consented, on %s",
  async (backend) => {
    const [api, other] = await Promise.all([
      startApi(backend, { SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1" }),
      startApi(backend),
    ]);
    const browser = await signInBrowser(other.hub.url, ADMIN);
    const newConnection = { name: "Hub", url: `${other.hub.url}/mcp`, auth: { type: "oauth" } };
    const { json: connection } = await api.expect(201, "POST", "/api/connections", newConnection);
    const path = `/api/connections/${connection.id}/authorization`;
    const { json: authorization } = await api.expect(201, "POST", path);
    const consentResponse = await browser.decide(new URL(authorization.url));
    const { searchParams } = new URL(consentResponse.headers.get("location") ?? "");
    const { json } = await api.expect(200, "PUT", path, Object.fromEntries(searchParams));
    expect(json).toMatchObject({ status: "ok", server: { name: "signalbox" } });
    expect(json.tools).toContainEqual(expect.objectContaining({ name: "get_pending_status" }));
  },
);
