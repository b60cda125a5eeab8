/** A public hub, whose URL is https. A proxy terminates TLS, so requests reach the hub over http. */
import { readFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { ADMIN, type Backend, startApi } from "../support/api-client.ts";
import { createTokenByApi } from "../support/create-token.ts";

const HOST = "hub.example";
const BACKENDS: Backend[] = ["SQLite", "PostgreSQL", "workerd"];

async function startPublicHub(backend: Backend, extraEnv: Record<string, string> = {}) {
  const { hub, env } = await startApi(backend, {
    SIGNALBOX_PUBLIC_URL: `https://${HOST}`,
    GITHUB_IP_ALLOWLIST: "off",
    ...extraEnv,
  });
  const address: string =
    backend === "workerd"
      ? hub.url
      : JSON.parse(readFileSync(join(env.SIGNALBOX_DATA as string, "hub.json"), "utf8")).url;
  /** Sends a request with the `Host` of the public URL, as the proxy does. */
  const send = async (
    method: string,
    path: string,
    { body, ...headers }: Record<string, string> = {},
  ) => {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(`${address}${path}`, { method, headers: { host: HOST, ...headers } }, resolve)
        .once("error", reject)
        .end(body);
    });
    const { statusCode: status = 0, headers: received } = response;
    return { status, headers: received, text: await text(response) };
  };
  return { send, createToken: (...args: string[]) => createTokenByApi(address, ADMIN, ...args) };
}

it.each(BACKENDS)("signs in only over https, with a __Host- cookie, on %s", async (backend) => {
  const { send } = await startPublicHub(backend);
  const link = await send("POST", "/api/session/links", { authorization: `Bearer ${ADMIN}` });
  const { url } = JSON.parse(link.text) as { url: string };
  const code = /^https:\/\/hub\.example\/sign-in#code=(.+)$/.exec(url)?.[1];
  const body = JSON.stringify({ code });
  const insecure = await send("POST", "/api/session", { body, origin: `http://${HOST}` });
  expect([insecure.status, JSON.parse(insecure.text).code]).toEqual([403, "foreign_origin"]);
  const signedIn = await send("POST", "/api/session", { body, origin: `https://${HOST}` });
  expect(signedIn.status).toBe(204);
  const [set = "", ...others] = signedIn.headers["set-cookie"] ?? [];
  expect(set).toMatch(/^__Host-signalbox_session=[\w-]{43}; .*Path=\/;.*; Secure$/);
  expect(others).toEqual([]);
  const cookie = set.split(";")[0] ?? "";
  const session = await send("GET", "/api/session", { cookie });
  expect(session.status).toBe(200);
  expect(session.headers["strict-transport-security"]).toBe("max-age=31536000");
  const former = cookie.replace("__Host-", "");
  expect((await send("GET", "/api/session", { cookie: former })).status).toBe(401);
  // Browsers let other hosts of the domain set a cookie whose name begins with such bytes: U+00A0 and U+3000.
  for (const space of ["\xa0", "\xc2\xa0", "\xe3\x80\x80"])
    expect((await send("GET", "/api/session", { cookie: space + cookie })).status).toBe(401);
  const twice = await send("GET", "/api/session", { cookie: `${cookie}; ${cookie}` });
  expect([twice.status, JSON.parse(twice.text).code]).toEqual([401, "session_ambiguous"]);
});

it.each(BACKENDS)("serves metrics only with a token, on %s", async (backend) => {
  const { send, createToken } = await startPublicHub(backend);
  const read = async (token?: string) =>
    send("GET", "/metrics", token === undefined ? {} : { authorization: `Bearer ${token}` });
  const withoutToken = await read();
  expect([withoutToken.status, JSON.parse(withoutToken.text).code]).toEqual([401, "token_missing"]);
  expect(JSON.parse(withoutToken.text).detail).toContain(
    "`npx signalbox token create prometheus --scope metrics:read`",
  );
  expect(withoutToken.headers["www-authenticate"]).toContain('scope="metrics:read"');
  const wrong = await read((await createToken("--scope", "inbox:read,runs:read")).token);
  expect([wrong.status, JSON.parse(wrong.text).code]).toEqual([403, "insufficient_scope"]);
  const tooLong = await read("x".repeat(513));
  expect([tooLong.status, JSON.parse(tooLong.text).detail]).toEqual([
    401,
    expect.stringMatching(/^The token exceeds the limit of 512 characters\. The metrics .*need/),
  ]);
  const metrics = await read((await createToken("--scope", "metrics:read")).token);
  expect([metrics.status, metrics.text]).toEqual([
    200,
    expect.stringContaining("signalbox_pending_events"),
  ]);
  expect((await read(ADMIN)).status).toBe(200);
});

it.each<Backend>(["SQLite", "workerd"])(
  "serves metrics of several tenants only with a token for all, on %s",
  async (backend) => {
    const { send, createToken } = await startPublicHub(backend, { SIGNALBOX_TENANCY: "github" });
    const read = async (tenant: string) => {
      const { token } = await createToken("--scope", "metrics:read", "--tenant", tenant);
      return send("GET", "/metrics", { authorization: `Bearer ${token}` });
    };
    const forOne = await read("1");
    expect([forOne.status, JSON.parse(forOne.text).detail]).toEqual([
      403,
      expect.stringContaining("--scope metrics:read --tenant '*'"),
    ]);
    expect((await read("*")).status).toBe(200);
  },
);

it("serves metrics without a token if a setting allows it", async () => {
  const { send } = await startPublicHub("SQLite", { SIGNALBOX_METRICS: "open" });
  expect((await send("GET", "/metrics")).status).toBe(200);
});
