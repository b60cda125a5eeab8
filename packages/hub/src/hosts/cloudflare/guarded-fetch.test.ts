import { expect, it } from "vitest";
import { createGuardedFetch, createGuardedWebFetch } from "./guarded-fetch.ts";

/**
 * Creates guarded fetches over a fetch that redirects `/to?url=…`, decompresses the response of
 * `/compressed` as a Worker does, and otherwise returns its URL and headers.
 */
function setUp(allowPrivate: boolean | string[] = false) {
  const requested: string[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const url = new URL(String(input));
    requested.push(url.href);
    const location = url.searchParams.get("url");
    if (location !== null) return new Response("moved", { status: 307, headers: { location } });
    if (url.pathname === "/compressed")
      return new Response("x".repeat(500), {
        headers: { "content-encoding": "gzip", "content-length": "20", "x-kept": "1" },
      });
    return Response.json({
      url: url.href,
      headers: Object.fromEntries(new Headers(init?.headers)),
    });
  };
  const defaults = { method: "GET", headers: {}, maxResponseBytes: 1_000, timeoutMs: 1_000 };
  const guarded = createGuardedFetch({ allowPrivate, fetch });
  const web = createGuardedWebFetch({ allowPrivate, allowHttp: false, fetch });
  return {
    requested,
    web,
    guarded: (url: string, overrides: object = {}) => guarded({ ...defaults, url, ...overrides }),
  };
}

it.each([
  "https://127.0.0.1/x",
  "https://10.1.2.3/",
  "https://[::1]/",
  "https://[::ffff:192.168.0.1]/",
  "https://0x7f000001/",
  "https://localhost/",
  "https://x.localhost./",
  "https://169.254.169.254/latest",
])("calls neither %s, nor a redirect to it", async (url) => {
  const { guarded, web, requested } = setUp();
  const refused = { code: "address_refused" };
  await expect(guarded(url)).rejects.toMatchObject(refused);
  await expect(web(url)).rejects.toMatchObject(refused);
  const redirect = `https://example.com/to?url=${encodeURIComponent(url)}`;
  await expect(guarded(redirect, { redirects: 3 })).rejects.toMatchObject(refused);
  await expect(web(redirect)).rejects.toMatchObject(refused);
  expect(new Set(requested)).toEqual(new Set([redirect]));
});

it("calls private addresses that the operator allows", async () => {
  const { guarded } = setUp(["10.1.2.3"]);
  expect((await guarded("https://10.1.2.3/")).status).toBe(200);
  await expect(guarded("https://10.1.2.4/")).rejects.toMatchObject({ code: "address_refused" });
});

it("sends credentials to the first origin only, and limits the redirects and the response size", async () => {
  const { guarded, web } = setUp();
  const headers = { authorization: "Bearer x", accept: "text/plain" };
  const crossOrigin = "https://example.com/to?url=https%3A%2F%2Fother.example%2F";
  const sent = await guarded(crossOrigin, { headers, redirects: 1 });
  expect(JSON.parse(new TextDecoder().decode(sent.body))).toMatchObject({
    url: "https://other.example/",
    headers: { accept: "text/plain" },
  });
  expect(new TextDecoder().decode(sent.body)).not.toContain("Bearer");
  expect(await (await web(crossOrigin, { headers })).text()).not.toContain("Bearer");
  expect((await guarded(crossOrigin)).status).toBe(307);
  expect((await web(crossOrigin, { redirect: "manual" })).status).toBe(307);
  await expect(web(crossOrigin, { redirect: "error" })).rejects.toMatchObject({
    code: "too_many_redirects",
  });
  const twice = `https://example.com/to?url=${encodeURIComponent(crossOrigin)}`;
  await expect(guarded(twice, { redirects: 1 })).rejects.toMatchObject({
    code: "too_many_redirects",
  });
  await expect(guarded("https://example.com/", { maxResponseBytes: 9 })).rejects.toMatchObject({
    code: "too_large",
  });
  await expect(guarded("http://example.com/")).rejects.toMatchObject({ code: "invalid_url" });
});

it("removes the length of a compressed body, so that callers do not take it for the size of the response", async () => {
  const { guarded, web } = setUp();
  const fetched = await web("https://example.com/compressed");
  expect(await fetched.text()).toHaveLength(500);
  const { headers } = await guarded("https://example.com/compressed");
  for (const received of [fetched.headers, headers])
    expect(Object.fromEntries(received)).toMatchObject({ "x-kept": "1" });
  for (const received of [fetched.headers, headers])
    for (const name of ["content-encoding", "content-length"])
      expect(received.has(name)).toBe(false);
});
