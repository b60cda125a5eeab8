/** A person authorizes a connection of the built hub; its triggers and tools then work for them. */
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
  "acts for the person until the authorization ends, and shows no token, on %s",
  async (backend) => {
    const api = await startApi(backend, { SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1" });
    const configured: unknown[] = [];
    const server = await serveOAuthMcp({
      tools: {
        forecast: () => ({ sky: "clear" }),
        TRIGGER_LIST: () => ({ triggers: [{ type: "storm", description: "A storm." }] }),
        TRIGGER_CONFIGURE: (given) => {
          configured.push(given);
          return { success: true };
        },
      },
    });
    const shown: string[] = [];
    const call = async (status: number, method: string, path: string, body?: unknown) => {
      const { text, json } = await api.expect(status, method, `/api/connections${path}`, body);
      shown.push(text);
      return json;
    };
    const added = { name: "Weather", url: server.url, auth: { type: "oauth" } };
    const { id, ...created } = await call(201, "POST", "", added);
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

    const make = createFlowMaker(api.hub.url, ADMIN);
    await make.app("weather");
    const parameters = { source: id, type: "storm", params: {} };
    const storm = { id: "storm", type: "Event", name: "Storm", parameters };
    await make.flow("weather", "On storm", [storm, returns("end", "x")], [["storm", "end"]]);
    await vi.waitFor(() => expect(configured).toMatchObject([{ type: "storm" }]), WAIT);

    server.accessTokens.clear();
    const [refresh] = server.refreshTokens.keys();
    server.control.failWith = { error: "invalid_grant", error_description: `revoked: ${refresh}` };
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

    // A deleted connection first removes its trigger from the server, then revokes its tokens.
    await authorize();
    await vi.waitFor(async () => {
      const { items } = await call(200, "GET", `/${id}/subscriptions`);
      expect(items).toMatchObject([{ state: "active" }]);
    }, WAIT);
    const held = [...server.refreshTokens].filter(([, { isUsed }]) => !isUsed).map(([one]) => one);
    let last: unknown;
    server.control.beforeRevocation = async () => {
      last = configured.at(-1);
    };
    await call(204, "DELETE", `/${id}`);
    await vi.waitFor(() => expect(held).toContain(server.revoked.at(-1)), WAIT);
    expect(last).toMatchObject({ type: "storm", enabled: false });

    const { json: client } = await api.expect(200, "GET", "/oauth/client.json");
    expect(client).toMatchObject({
      client_id: `${api.hub.url}/oauth/client.json`,
      redirect_uris: [`${api.hub.url}/connections/authorized`],
    });

    const data = api.env.SIGNALBOX_DATA ?? "";
    for (const file of readdirSync(data, { recursive: true, withFileTypes: true }))
      if (file.isFile()) shown.push(readFileSync(join(file.parentPath, file.name), "latin1"));
    const all = [...shown, api.hub.output()].join("\n");
    expect(server.issued.length).toBeGreaterThan(3);
    for (const secret of server.issued) expect(all.includes(secret), secret).toBe(false);
  },
);

it.each<Backend>(["SQLite", "workerd"])(
  "connects to another hub, by the consent of its operator, on %s",
  async (backend) => {
    const [api, other] = await Promise.all([
      startApi(backend, { SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1" }),
      startApi(backend),
    ]);
    const browser = await signInBrowser(other.hub.url, ADMIN);
    const added = { name: "Hub", url: `${other.hub.url}/mcp`, auth: { type: "oauth" } };
    const { json: connection } = await api.expect(201, "POST", "/api/connections", added);
    const path = `/api/connections/${connection.id}/authorization`;
    const { json: begun } = await api.expect(201, "POST", path);
    const decided = await browser.decide(new URL(begun.url));
    const { searchParams } = new URL(decided.headers.get("location") ?? "");
    const { json } = await api.expect(200, "PUT", path, Object.fromEntries(searchParams));
    expect(json).toMatchObject({ status: "ok", server: { name: "signalbox" } });
    expect(json.tools).toContainEqual(expect.objectContaining({ name: "get_pending_status" }));
  },
);
