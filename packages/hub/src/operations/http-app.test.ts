import { expect, it } from "vitest";
import { createHostCheck } from "../kernel/http/host-check.ts";
import { type AppOptions, createHttpApp } from "./http-app.ts";

const options: AppOptions = {
  checkReady: async () => {},
  checkHost: createHostCheck({
    host: "127.0.0.1",
    port: 4747,
    publicUrl: undefined,
    hosts: ["Signalbox"],
  }),
  metrics: { contentType: "text/plain", text: async () => "" },
  home: async () => ({
    version: "1",
    url: "http://127.0.0.1:4747",
    webhookUrl: "",
    acceptsUnsigned: false,
    storage: "",
    pending: null,
    newest: null,
  }),
  pageHost: "127.0.0.1",
  isStopping: () => false,
};
const app = createHttpApp(options);
const get = async (path: string, headers: Record<string, string>) =>
  (await app.request(path, { headers })).status;

it.each(["/", "/metrics", "/readyz"])("%s checks the Host header", async (path) => {
  expect(await get(path, { host: "127.0.0.1:4747" })).toBe(200);
  expect(await get(path, { host: "signalbox:4747" })).toBe(200);
  expect(await get(path, {})).toBe(200);
  expect(await get(path, { host: "evil.example" })).toBe(421);
  expect(await get(path, { host: `${"x".repeat(300)}.127.0.0.1` })).toBe(421);
});

it.each(["/", "/sign-in"])(
  "%s explains how to build the web UI, with a strict Content Security Policy",
  async (path) => {
    const response = await app.request(`http://127.0.0.1:4747${path}`, {
      headers: { accept: "text/html" },
    });
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).not.toContain("unsafe");
    const nonce = /'nonce-([^']+)'/.exec(policy)?.[1];
    const html = await response.text();
    expect(html).toContain(`<style nonce="${nonce}">`);
    expect(html).toContain("npm run build");
  },
);

it.each(["/", "/sign-in"])(
  "serves the web UI at %s to a program that accepts anything",
  async (path) => {
    const readWebFile = async () => ({ body: new TextEncoder().encode("the web UI") });
    const withWebUi = createHttpApp({ ...options, readWebFile });
    const request = (method: string) =>
      withWebUi.request(`http://127.0.0.1:4747${path}`, { method, headers: { accept: "*/*" } });
    expect(await (await request("GET")).text()).toBe("the web UI");
    expect((await request("HEAD")).status).toBe(200);
    expect((await request("POST")).status).toBe(405);
  },
);

it("/healthz does not check the Host header, but unknown routes do", async () => {
  expect(await get("/healthz", { host: "evil.example" })).toBe(200);
  expect(await get("/nothing", { host: "evil.example" })).toBe(421);
  expect(await get("/nothing", { host: "localhost" })).toBe(404);
});

it("redirects pages to one host name, after the check of the Host header", async () => {
  const open = (host: string) =>
    app.request(`http://${host}/sign-in`, { headers: { host, accept: "text/html" } });
  const response = await open("localhost:4747");
  expect(response.status).toBe(302);
  expect(response.headers.get("location")).toBe("http://127.0.0.1:4747/sign-in");
  expect((await open("127.0.0.1:4747")).status).toBe(200);
  expect((await open("evil.example")).status).toBe(421);
});

it("sends Strict-Transport-Security with every response if the public URL is https", async () => {
  const readHeader = async (publicUrl: string | undefined, path: string) => {
    const { headers } = await createHttpApp({ ...options, publicUrl }).request(path);
    return headers.get("strict-transport-security");
  };
  for (const path of ["/", "/healthz", "/nothing"]) {
    expect(await readHeader("https://hub.example", path)).toBe("max-age=31536000");
    expect(await readHeader("http://hub.example", path)).toBeNull();
    expect(await readHeader(undefined, path)).toBeNull();
  }
});
