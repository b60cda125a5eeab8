import { mkdirSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { createReadWebFile } from "../hosts/node/ports.ts";
import { serveWebUi } from "./web-ui.ts";

const PAGE =
  '<!doctype html><meta property="csp-nonce" nonce="__CSP_NONCE__"><link rel="stylesheet" nonce="__CSP_NONCE__" href="/assets/a.css"><script type="module" src="/assets/a-1b.js"></script>';

function setup() {
  const parent = tempFolder();
  const folder = `${parent}/web`;
  mkdirSync(`${folder}/assets`, { recursive: true });
  writeFileSync(`${folder}/index.html`, PAGE);
  writeFileSync(`${folder}/assets/a-1b.js`, "plain");
  writeFileSync(`${folder}/assets/a-1b.js.br`, "brotli");
  writeFileSync(`${folder}/assets/a-1b.js.gz`, "gzip");
  writeFileSync(`${folder}/favicon.svg`, "<svg/>");
  writeFileSync(`${parent}/secret.txt`, "secret");
  const read = createReadWebFile(folder);
  return async (path: string, headers: Record<string, string> = {}, method = "GET") =>
    serveWebUi(read, new Request(`http://127.0.0.1:4747${path}`, { method, headers }));
}

it("serves the page with a fresh nonce, and a policy without any unsafe source", async () => {
  const get = setup();
  const policies = new Set<string>();
  for (const path of ["/", "/", "/inbox/0198?filter=waiting", "/flows/a.b/x"]) {
    const response = await get(path, { accept: "text/html,*/*" });
    expect(response?.status, path).toBe(200);
    const policy = response?.headers.get("content-security-policy") ?? "";
    const nonce = /style-src 'self' 'nonce-([\w+/=]+)'/.exec(policy)?.[1];
    expect(await response?.text()).toBe(PAGE.replaceAll("__CSP_NONCE__", nonce ?? "none"));
    expect(policy).not.toContain("unsafe");
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(response?.headers.get("cache-control")).toBe("no-store");
    policies.add(policy);
  }
  expect(policies.size).toBe(4);
});

it("shares the bytes of a hashed file between responses", async () => {
  const folder = tempFolder();
  mkdirSync(`${folder}/assets`);
  writeFileSync(`${folder}/assets/a-1b.js`, "plain");
  const read = createReadWebFile(folder);
  const bodyOf = async () => (await read("/assets/a-1b.js", () => true))?.body;
  const [first, second] = await Promise.all([bodyOf(), bodyOf()]);
  expect(first).toBeDefined();
  expect([second, await bodyOf()].every((body) => body === first)).toBe(true);
  for (const name of ["none", "x".repeat(300)])
    expect(await read(`/assets/${name}.js`, () => true)).toBeUndefined();
});

it("serves hashed files compressed, and as immutable for caches", async () => {
  const get = setup();
  for (const [accepted, encoding, body] of [
    ["gzip, deflate, br, zstd", "br", "brotli"],
    ["gzip", "gzip", "gzip"],
    ["identity", null, "plain"],
  ] as const) {
    const response = await get("/assets/a-1b.js", { "accept-encoding": accepted });
    expect(response?.headers.get("content-encoding")).toBe(encoding);
    expect(response?.headers.get("cache-control")).toContain("immutable");
    expect(response?.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(await response?.text()).toBe(body);
  }
  const icon = await get("/favicon.svg");
  expect(icon?.headers.get("cache-control")).not.toContain("immutable");
});

it.each([
  ["a path of the API", "/api/nothing", { accept: "text/html" }],
  ["a path of MCP", "/mcp/nothing/x", { accept: "text/html" }],
  ["a missing asset", "/assets/gone-1a.js", { accept: "text/html" }],
  ["a program that does not accept HTML", "/nothing", { accept: "*/*" }],
  ["a path out of the folder", "/assets/..%2f..%2fsecret.txt", {}],
  ["a path out of the folder with backslashes", "/assets\\..\\..\\secret.txt", {}],
  ["a file of an unknown type", "/assets/a-1b.js.br", {}],
])("serves nothing for %s", async (_, path, headers) => {
  expect(await setup()(path, headers as Record<string, string>)).toBeUndefined();
});

it("serves nothing for methods other than GET and HEAD, or if the web UI is not built", async () => {
  expect(await setup()("/", {}, "POST")).toBeUndefined();
  const read = createReadWebFile(`${tempFolder()}/none`);
  expect(await serveWebUi(read, new Request("http://127.0.0.1/"))).toBeUndefined();
});
