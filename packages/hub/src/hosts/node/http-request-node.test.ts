import type { Server } from "node:http";
import { Permanent, RetryAt } from "@signalbox/rules/flows/errors.ts";
import type { Evaluation } from "@signalbox/rules/flows/evaluation.ts";
import { httpRequest } from "@signalbox/rules/flows/nodes/http-request.ts";
import { renderConfig } from "@signalbox/rules/flows/render.ts";
import { testContext } from "@signalbox/rules/flows/test-context.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { LargeJson } from "@signalbox/rules/large-json.ts";
import { afterEach, describe, expect, it } from "vitest";
import { testRunJob } from "../../flows/test-run-job.ts";
import { createGuardedFetch, type GuardedFetchOptions } from "./guarded-fetch.ts";
import { closeServers, serve, servers, toLoopback } from "./test-server.ts";

afterEach(closeServers);

const NOW = Date.parse("2026-01-31T09:00:00Z");

function run(
  config: JsonObject,
  contextOverrides = {},
  options: Partial<GuardedFetchOptions> = {},
) {
  const fetch = createGuardedFetch({ ...toLoopback, ...options });
  return httpRequest.run(testContext({ config, fetch, now: () => NOW, ...contextOverrides }));
}

async function output(...args: Parameters<typeof run>): Promise<JsonObject> {
  const result = await run(...args);
  if (!("output" in result)) throw new Error("no output");
  return result.output as JsonObject;
}

async function failure(...args: Parameters<typeof run>): Promise<Permanent | RetryAt> {
  const [outcome] = await Promise.allSettled([run(...args)]);
  if (outcome?.status === "rejected") return outcome.reason;
  throw new Error("the request did not fail");
}

describe("the request", () => {
  it("has the method, URL and body of the config", async () => {
    const { url, requests } = await serve((response) =>
      response.writeHead(201, { "content-type": "application/json" }).end('{"id":7}'),
    );
    expect(await output({ ...httpRequest.sample.config, url: `${url}/issues` })).toMatchObject({
      status: 201,
      format: "json",
      body: { id: 7 },
      url: `${url}/issues`,
    });
    expect(requests).toMatchObject([
      {
        method: "POST",
        url: "/issues",
        body: '{"title":"It rains in"}',
        headers: { "content-type": "application/json", "idempotency-key": "run:node" },
      },
    ]);
  });

  it("has the query appended to the URL", async () => {
    const { url, requests } = await serve((response) => response.end());
    const query = { q: "a&b c", tag: ["x", 2], none: null, é: true };
    await output({ url: `${url}/s?have=1#part`, query });
    await output({ url: `${url}/s`, query: { none: null } });
    expect(requests.map(({ url }) => url)).toEqual([
      "/s?have=1&q=a%26b+c&tag=x&tag=2&%C3%A9=true",
      "/s",
    ]);
  });

  it.each<[JsonObject, string, string]>([
    [{ type: "text", value: "Grüße" }, "text/plain; charset=utf-8", "Grüße"],
    [
      { type: "form", value: { a: "1 2", b: ["x", "y"] } },
      "application/x-www-form-urlencoded",
      "a=1+2&b=x&b=y",
    ],
    [{ type: "json", value: null }, "application/json", "null"],
  ])("has the body %j", async (body, contentType, sent) => {
    const { url, requests } = await serve((response) => response.end());
    await output({ url, method: "PUT", body });
    expect(requests).toMatchObject([{ body: sent, headers: { "content-type": contentType } }]);
  });

  it.each<[JsonObject, string, string]>([
    [{ type: "bearer", token: "t" }, "authorization", "Bearer t"],
    [{ type: "basic", username: "ü", password: "p:q" }, "authorization", "Basic w7w6cDpx"],
    [{ type: "header", name: "X-Key", value: "k" }, "x-key", "k"],
  ])("is sent with the credentials %j", async (auth, name, value) => {
    const { url, requests } = await serve((response) => response.end());
    await output({ url, auth });
    expect(requests[0]?.headers[name]).toBe(value);
  });

  it("has the configured headers, which override the default ones", async () => {
    const { url, requests } = await serve((response) => response.end());
    await output({
      url,
      method: "POST",
      body: { type: "json", value: 1 },
      headers: {
        "Content-Type": "application/x+json",
        "Idempotency-Key": "mine",
        N: 5,
        None: null,
      },
    });
    const { headers } = requests[0] ?? {};
    expect(headers).toMatchObject({
      "content-type": "application/x+json",
      "idempotency-key": "mine",
      n: "5",
    });
    expect(headers).not.toHaveProperty("none");
  });

  it("has an idempotency key if the method is unsafe", async () => {
    const { url, requests } = await serve((response) => response.end());
    for (const method of ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"])
      await output({ url, method });
    expect(requests.map(({ headers }) => headers["idempotency-key"])).toEqual([
      undefined,
      undefined,
      undefined,
      "run:node",
      "run:node",
      "run:node",
      "run:node",
    ]);
  });

  it("may contain secrets only in headers and auth", () => {
    const secret = "{{ secrets.KEY }}";
    const render = (config: JsonObject) =>
      renderConfig(config, httpRequest, { nodes: {} }, { KEY: "hush" });
    const safe = { headers: { a: `x ${secret}` }, auth: { type: "bearer", token: secret } };
    expect(render(safe)).toEqual({
      headers: { a: "x hush" },
      auth: { type: "bearer", token: "hush" },
    });
    for (const config of [
      { url: secret },
      { query: { a: secret } },
      { body: { type: "json", value: { a: secret } } },
    ])
      expect(() => render(config)).toThrow("secrets are not allowed in this field");
  });

  it.each<[JsonObject, RegExp]>([
    [{ url: "" }, /^url: /],
    [{ url: "x", method: "TRACE" }, /^method: /],
    [{ url: "x", headers: { "a b": "c" } }, /^headers/],
    [{ url: "x", auth: { type: "digest" } }, /^auth/],
    [{ url: "x", body: { type: "form", value: { a: {} } } }, /^body/],
    [{ url: "x", failures: ["5xx"] }, /^failures\[0\]/],
    [{ url: "x", redirects: 11 }, /^redirects/],
  ])("is rejected for the config %j", async (config, message) => {
    expect(await failure(config)).toMatchObject({
      code: "invalid_config",
      message: expect.stringMatching(message),
    });
  });

  it.each(["not a url", "ftp://example.com/", "http://user:pass@hooks.test/"])(
    "is not sent to %s",
    async (url) => {
      const error = await failure({ url });
      expect(error).toBeInstanceOf(Permanent);
      expect(error).toMatchObject({ code: "invalid_url" });
    },
  );
});

describe("the response", () => {
  it.each<[string | undefined, string | Uint8Array, Json, string]>([
    ["application/json; charset=utf-8", '{"a":[1]}', { a: [1] }, "json"],
    ["application/problem+json", '{"a":1}', { a: 1 }, "json"],
    ["text/html", "<p>ü", "<p>ü", "text"],
    ["text/plain; charset=iso-8859-1", Uint8Array.of(0xfc), "ü", "text"],
    [undefined, "plain", "plain", "text"],
    ["application/octet-stream", Uint8Array.of(0, 255, 1), "AP8B", "base64"],
    ["image/svg+xml", "<svg/>", "PHN2Zy8+", "base64"],
    ["text/plain; charset=nonsense", "x", "eA==", "base64"],
    ["application/json", "", null, "empty"],
  ])("of type %s with body %j becomes %j", async (type, sent, body, format) => {
    const { url } = await serve((response) =>
      response.writeHead(200, { ...(type && { "content-type": type }), "X-One": "1" }).end(sent),
    );
    const answer = await output({ url });
    expect(answer).toMatchObject({ status: 200, body, format });
    expect(answer.headers).toMatchObject({ "x-one": "1" });
  });

  it("may contain __proto__ as a property of JSON", async () => {
    const { url } = await serve((response) =>
      response
        .writeHead(200, { "content-type": "application/json", __proto__x: "1" })
        .end('{"__proto__":{"polluted":1}}'),
    );
    const { body } = await output({ url });
    expect(Object.keys(body as JsonObject)).toEqual(["__proto__"]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it.each(["{", `${"[".repeat(5000)}${"]".repeat(5000)}`])(
    "that is invalid or too deep JSON is a permanent error, since the request was processed",
    async (sent) => {
      const { url } = await serve((response) =>
        response.writeHead(200, { "content-type": "application/json" }).end(sent),
      );
      const error = await failure({ url, method: "POST" });
      expect(error).toBeInstanceOf(Permanent);
      expect(error).toMatchObject({ code: "invalid_json" });
    },
  );

  const long = Array.from({ length: 100_000 }, (_, id) => id);
  const evaluate = (evaluation: Evaluation) =>
    testRunJob(evaluation, { tenant: "acme", signal: new AbortController().signal });

  it("stays text if it is large JSON", async () => {
    const { url } = await serve((response) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ long })),
    );
    const body = new LargeJson(JSON.stringify({ long }));
    expect(await output({ url }, { evaluate })).toMatchObject({ format: "json", body });
  });

  it.each([
    ["is invalid", `[${long}`],
    ["is too deep", `[${long},${"[".repeat(500)}1${"]".repeat(500)}]`],
  ])("that is large and %s is a permanent error", async (_, sent) => {
    const { url } = await serve((response) =>
      response.writeHead(200, { "content-type": "application/json" }).end(sent),
    );
    expect(await failure({ url }, { evaluate })).toMatchObject({
      name: "Permanent",
      code: "invalid_json",
    });
  });

  it("is not quoted in the error for invalid JSON", async () => {
    const { url } = await serve((response) =>
      response.writeHead(200, { "content-type": "application/json" }).end("s3cret of the story"),
    );
    const error = (await failure({ url })) as Error;
    expect(error.message).toBe(
      "The content type of the response is JSON, but its body is not valid JSON.",
    );
    expect(error.cause).toBeUndefined();
  });

  it("can have a limit above that of a step's output, in versions that were published earlier", async () => {
    const { url } = await serve((response) => response.end("x"));
    expect(await output({ url, maxBytes: 20_000_000 })).toMatchObject({ body: "x" });
  });

  it("is rejected above the size limit", async () => {
    const { url } = await serve((response) => response.end("x".repeat(100)));
    expect(await output({ url, maxBytes: 100 })).toMatchObject({ body: "x".repeat(100) });
    const error = await failure({ url, maxBytes: 99 });
    expect(error).toBeInstanceOf(Permanent);
    expect(error).toMatchObject({ code: "too_large" });
  });

  it("comes from the target of a redirect, up to the limit of redirects", async () => {
    const { url, requests } = await serve((response, { url: path }) =>
      path === "/a" ? response.writeHead(302, { location: "/b" }).end() : response.end("b"),
    );
    expect(await output({ url: `${url}/a` })).toMatchObject({ body: "b", url: `${url}/b` });
    expect(await output({ url: `${url}/a`, redirects: 0 })).toMatchObject({ status: 302 });
    expect(requests).toHaveLength(3);
    const loop = await serve((response) => response.writeHead(302, { location: "/" }).end());
    expect(await failure({ url: loop.url, redirects: 2 })).toMatchObject({
      name: "Permanent",
      code: "too_many_redirects",
    });
  });
});

describe("a failure", () => {
  const answering = async (status: number, headers: Record<string, string> = {}) =>
    (await serve((response) => response.writeHead(status, headers).end("message of the server")))
      .url;

  it.each([
    [400, {}, "Permanent"],
    [404, {}, "Permanent"],
    [422, {}, "Permanent"],
    [408, {}, "Error"],
    [429, {}, "Error"],
    [500, {}, "Error"],
    [503, {}, "Error"],
    [500, { "retry-after": "5" }, "Error"],
    [429, { "retry-after": "soon" }, "Error"],
    [429, { "retry-after": "5" }, "RetryAt"],
    [503, { "retry-after": "5" }, "RetryAt"],
  ])("with status %i and %j is a %s with the response text", async (status, headers, name) => {
    const error = await failure({ url: await answering(status, headers), method: "PUT" });
    expect(error).toMatchObject({
      name,
      code: `http_${status}`,
      details: { status },
      message: expect.stringMatching(
        `^PUT hooks.test:\\d+ returned ${status}: message of the server$`,
      ),
    });
  });

  it.each([
    ["120", 120_000],
    ["0", 0],
    ["Sat, 31 Jan 2026 09:00:30 GMT", 30_000],
    ["Fri, 30 Jan 2026 09:00:30 GMT", 0],
    ["99999999999", 99_999_999_999_000],
  ])("is retried after Retry-After: %s", async (after, ms) => {
    const error = await failure({ url: await answering(429, { "retry-after": after }) });
    expect(error).toBeInstanceOf(RetryAt);
    expect((error as RetryAt).at).toBe(NOW + ms);
  });

  it.each<[Json[], number, boolean]>([
    [[], 500, false],
    [[404], 404, true],
    [[404], 500, false],
    [["500-599"], 404, false],
    [["200-299"], 204, true],
    [["404", 500], 404, true],
  ])("is thrown with `failures` %j for status %i: %s", async (failures, status, shouldFail) => {
    const url = await answering(status);
    if (shouldFail)
      expect(await failure({ url, failures })).toMatchObject({ code: `http_${status}` });
    else expect(await output({ url, failures })).toMatchObject({ status });
  });

  it("has the whole response text, since secrets are masked before it is shortened", async () => {
    const message = "message ".repeat(1_000).trim();
    const { url } = await serve((response) => response.writeHead(400).end(message));
    expect(await failure({ url })).toMatchObject({ message: expect.stringContaining(message) });
  });

  it("of the network is not permanent", async () => {
    const { url } = await serve(() => {});
    await closeServers();
    const refused = await failure({ url });
    expect(refused).not.toBeInstanceOf(Permanent);
    expect(refused).toMatchObject({ code: "connection_refused" });
    const lookup = async () => [];
    expect(await failure({ url }, {}, { lookup })).toMatchObject({ code: "dns_failed" });
  });

  it("by timeout is not permanent", async () => {
    const { url } = await serve(() => {});
    const error = await failure({ url, timeoutMs: 50 });
    expect(error).not.toBeInstanceOf(Permanent);
    expect(error).toMatchObject({ code: "timeout" });
  });
});

it("the request is aborted when the run is cancelled", async () => {
  const controller = new AbortController();
  const { url } = await serve(() => controller.abort());
  expect(await failure({ url }, { signal: controller.signal })).toMatchObject({ code: "aborted" });
});

describe("a private address", () => {
  const strict = { allowPrivate: false } as const;
  const expectRefused = async (config: JsonObject, options: Partial<GuardedFetchOptions>) => {
    const error = await failure(config, {}, options);
    expect(error).toBeInstanceOf(Permanent);
    expect(error).toMatchObject({ code: "address_refused" });
  };

  it.each([
    "127.0.0.1",
    "localhost.test",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "0.0.0.0",
    "169.254.169.254",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "[::1]",
    "[::]",
    "[fe80::1]",
    "[fd00::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:169.254.169.254]",
    "[64:ff9b::7f00:1]",
    "127。0。0。1",
  ])("is rejected: %s", async (host) => {
    const { port, requests } = await serve((response) => response.end("inside"));
    await expectRefused({ url: `http://${host}:${port}/` }, strict);
    expect(requests).toEqual([]);
  });

  it("is rejected if it is one of several addresses of a name", async () => {
    const { port, requests } = await serve((response) => response.end("inside"));
    const lookup = async () => ["93.184.216.34", "127.0.0.1"];
    await expectRefused({ url: `http://both.test:${port}/` }, { ...strict, lookup });
    expect(requests).toEqual([]);
  });

  it("is rejected if a name resolves to it after it has resolved to a public address", async () => {
    const { port, requests } = await serve((response) => response.end("inside"));
    const lookups: string[] = [];
    // 192.0.2.1 (TEST-NET-1) stands for a public address that does not respond.
    const lookup = async (host: string) => {
      lookups.push(host);
      return lookups.length === 1 ? ["192.0.2.1"] : ["127.0.0.1"];
    };
    const options = { allowPrivate: ["192.0.2.1"], lookup };
    const url = `http://rebinding.test:${port}/`;
    const first = await failure({ url, timeoutMs: 300 }, {}, options);
    expect(first).toMatchObject({
      code: expect.stringMatching(/timeout|network|connection_refused/),
    });
    expect(lookups).toHaveLength(1);
    await expectRefused({ url }, options);
    expect(requests).toEqual([]);
  });

  it.each([
    "http://127.0.0.1",
    "http://2130706433",
    "http://[::ffff:127.0.0.1]",
    "http://inside.test",
  ])("is rejected as the target of a redirect: %s", async (target) => {
    const inside = await serve((response) => response.end("inside"));
    const outside = await serve((response) =>
      response.writeHead(302, { location: `${target}:${inside.port}/` }).end(),
    );
    // 127.0.0.2 stands for a public address.
    const server = servers.at(-1) as Server;
    await new Promise((resolve) => server.close(resolve));
    await new Promise<void>((resolve) => server.listen(outside.port, "127.0.0.2", resolve));
    const lookup = async (host: string) => [host === "outside.test" ? "127.0.0.2" : "127.0.0.1"];
    await expectRefused(
      { url: `http://outside.test:${outside.port}/` },
      { allowPrivate: ["127.0.0.2"], lookup },
    );
    expect(outside.requests).toHaveLength(1);
    expect(inside.requests).toEqual([]);
  });
});
