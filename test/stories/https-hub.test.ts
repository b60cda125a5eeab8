/** A hub whose public URL is https. A proxy terminates TLS, so requests reach the hub over http. */
import { readFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { ADMIN, type Backend, startApi } from "../support/api-client.ts";

const HOST = "hub.example";
const BACKENDS: Backend[] = ["SQLite", "PostgreSQL", "workerd"];

async function startHttpsHub(backend: Backend) {
  const { hub, env } = await startApi(backend, {
    SIGNALBOX_PUBLIC_URL: `https://${HOST}`,
    GITHUB_IP_ALLOWLIST: "off",
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
  return { send };
}

it.each(BACKENDS)("signs in only over https, with a __Host- cookie, on %s", async (backend) => {
  const { send } = await startHttpsHub(backend);
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
  const twice = await send("GET", "/api/session", { cookie: `${cookie}; ${cookie}` });
  expect([twice.status, JSON.parse(twice.text).code]).toEqual([401, "session_ambiguous"]);
});
