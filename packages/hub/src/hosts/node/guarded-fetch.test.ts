import { getEventListeners } from "node:events";
import * as http from "node:http";
import * as https from "node:https";
import type { Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import type { OutboundError, OutboundRequest } from "@signalbox/rules/flows/outbound.ts";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { createGuardedFetch, type GuardedFetchOptions } from "./guarded-fetch.ts";
import { makeCertificate } from "./test-certificate.ts";
import { closeServers, listen, serve, toLoopback } from "./test-server.ts";

afterEach(closeServers);

function call(request: Partial<OutboundRequest>, options: Partial<GuardedFetchOptions> = {}) {
  return createGuardedFetch({ ...toLoopback, ...options })({
    method: "GET",
    url: "http://hooks.test",
    headers: {},
    maxResponseBytes: 1_000_000,
    timeoutMs: 20_000,
    allowHttp: true,
    ...request,
  });
}

async function failure(...args: Parameters<typeof call>): Promise<OutboundError> {
  const [outcome] = await Promise.allSettled([call(...args)]);
  if (outcome?.status === "rejected") return outcome.reason;
  throw new Error("the call did not fail");
}

const textOf = ({ body }: { body: Uint8Array }) => Buffer.from(body).toString();

describe("a call", () => {
  it("sends method, headers and body, with the host's name", async () => {
    const { url, port, requests } = await serve((response) =>
      response
        .writeHead(418, { "X-Tea": "yes", "set-cookie": ["a=1", "b=2"] })
        .end("short and stout"),
    );
    const response = await call({
      method: "post",
      url: `${url}/a%20b?c=d#e`,
      headers: { "X-Key": "k", "content-type": "text/plain" },
      body: utf8("Grüße"),
    });
    expect(response).toMatchObject({ status: 418, url: `${url}/a%20b?c=d#e` });
    expect(textOf(response)).toBe("short and stout");
    expect(response.headers.get("x-tea")).toBe("yes");
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(requests).toMatchObject([
      {
        method: "POST",
        url: "/a%20b?c=d",
        body: "Grüße",
        headers: { host: `hooks.test:${port}`, "x-key": "k", "content-length": "7" },
      },
    ]);
  });

  it("ignores headers that belong to the connection", async () => {
    const { url, port, requests } = await serve((response) => response.end());
    await call({
      url,
      method: "DELETE",
      body: utf8("gone"),
      headers: {
        Host: "metadata.internal",
        "Content-Length": "1",
        "Transfer-Encoding": "chunked",
        Connection: "keep-alive",
        Expect: "100-continue",
        "User-Agent": "mine",
      },
    });
    expect(requests[0]?.headers).toEqual({
      host: `hooks.test:${port}`,
      "content-length": "4",
      connection: "close",
      "accept-encoding": "gzip, br",
      "user-agent": "mine",
    });
    expect(requests[0]?.body).toBe("gone");
  });

  it.each([
    [{ headers: { "x-a": "hunter2\r\nx-c: d" } }, /x-a/],
    [{ headers: { "x-a": "hunter2\u0001" } }, /x-a/],
    [{ headers: { "x-a": "hunter2☃" } }, /x-a/],
    [{ headers: { "x a": "b" } }, /x a/],
    [{ method: "GET / HTTP/1.1\r\nx: y" }, /method/],
    [{ method: "CONNECT" }, /method/],
    [{ method: "" }, /method/],
  ])("rejects an invalid request: %j", async (request, message) => {
    const error = await failure(request);
    expect(error).toMatchObject({
      code: "invalid_request",
      message: expect.stringMatching(message),
    });
    expect(error.message).toContain("hooks.test");
    expect(error.message).not.toContain("hunter2");
  });

  it("rejects http by default, and credentials in the URL", async () => {
    expect(await failure({ allowHttp: false })).toMatchObject({ code: "invalid_url" });
    expect(await failure({ url: "https://a:b@hooks.test" })).toMatchObject({ code: "invalid_url" });
    expect(await failure({ url: "nonsense" })).toMatchObject({ code: "invalid_url" });
  });
});

describe("the address of a call", () => {
  const publicOnly: Partial<GuardedFetchOptions> = { allowPrivate: false };

  it("is rejected if it is private", async () => {
    const { url, requests } = await serve((response) => response.end());
    const error = await failure({ url }, publicOnly);
    expect(error.code).toBe("address_refused");
    expect(error.message).toMatch(/^hooks\.test resolves to a loopback .*SIGNALBOX_ALLOW_PRIVATE/);
    expect(requests).toEqual([]);
  });

  it("is rejected if the system's resolver returns a loopback address", async () => {
    const guarded = createGuardedFetch({ allowPrivate: false });
    const outcome = guarded({
      method: "GET",
      url: "https://localhost",
      headers: {},
      maxResponseBytes: 1,
      timeoutMs: 20_000,
    });
    await expect(outcome).rejects.toMatchObject({ code: "address_refused" });
  });

  it("is not shown in the message", async () => {
    const error = await failure({}, { ...publicOnly, lookup: async () => ["10.11.12.13"] });
    expect(error.message).toContain("hooks.test resolves to a private address");
    expect(error.message).not.toContain("10.11.12.13");
  });

  it("is rejected if any address of the name is private", async () => {
    const { url, requests } = await serve((response) => response.end());
    for (const lookup of [
      async () => ["127.0.0.1", "10.0.0.1"],
      async () => ["10.0.0.1", "127.0.0.1"],
      async () => ["127.0.0.1", "::ffff:169.254.169.254"],
    ])
      expect(await failure({ url }, { lookup })).toMatchObject({ code: "address_refused" });
    expect(requests).toEqual([]);
  });

  it("is checked in every notation of a URL, without a DNS lookup", async () => {
    const lookup = () => {
      throw new Error("unexpected DNS lookup");
    };
    const hosts = fc.constantFrom(
      ...["127.0.0.1", "2130706433", "0177.0.0.1", "0x7f.0.0.1", "127.1", "127.0.0.1.", "0"],
      ...["[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]"],
      ...["169.254.169.254", "10.0.0.1", "[fd00::1]", "[fe80::1]", "１２７.0.0.1"],
    );
    await fc.assert(
      fc.asyncProperty(hosts, fc.constantFrom("http", "https"), async (host, scheme) => {
        const error = await failure({ url: `${scheme}://${host}:1/` }, { ...publicOnly, lookup });
        expect(error).toMatchObject({ code: "address_refused" });
      }),
    );
  });

  it("is the checked one, even if a second lookup would return another", async () => {
    const { url, port, requests } = await serve((response) => response.end("checked"));
    const resolved = [["127.0.0.1"], ["127.0.0.2"], ["::1"], ["169.254.169.254"]];
    let lookups = 0;
    const lookup = async () => resolved[lookups++] ?? [];
    const guarded = { url, redirects: 3 };
    expect(textOf(await call(guarded, { lookup }))).toBe("checked");
    expect(lookups).toBe(1);
    expect(requests[0]?.headers.host).toBe(`hooks.test:${port}`);
    // No connection stays open that a later call could use without an address check.
    for (let at = 0; at < 3; at += 1)
      expect(await failure(guarded, { lookup })).toMatchObject({ code: "address_refused" });
    expect(requests).toHaveLength(1);
  });

  it("is followed by the next address of the host if the connection fails", async () => {
    const { url } = await serve((response) => response.end("second"));
    const lookup = async () => ["::1", "127.0.0.1"];
    expect(textOf(await call({ url }, { lookup, allowPrivate: true }))).toBe("second");
  });

  it("is required: a name without an address causes dns_failed", async () => {
    expect(await failure({}, { lookup: async () => [] })).toMatchObject({
      code: "dns_failed",
      message: expect.stringMatching(/hooks\.test does not resolve.*spelling/),
    });
    const notFound = Object.assign(new Error("no"), { code: "ENOTFOUND" });
    const error = await failure({}, { lookup: () => Promise.reject(notFound) });
    expect(error).toMatchObject({ code: "dns_failed", cause: notFound });
  });
});

describe("a redirect", () => {
  it("is returned if redirects are not followed", async () => {
    const { url, requests } = await serve((response) =>
      response.writeHead(302, { location: "/next" }).end("moved"),
    );
    const response = await call({ url });
    expect(response).toMatchObject({ status: 302 });
    expect([response.headers.get("location"), textOf(response)]).toEqual(["/next", "moved"]);
    expect(requests).toHaveLength(1);
  });

  it("is followed with a new address check and the right method, and without secrets for other hosts", async () => {
    const { url, port, requests } = await serve((response, { url: path }) =>
      path === "/"
        ? response.writeHead(307, { location: "/same" }).end()
        : path === "/same"
          ? response.writeHead(302, { location: `http://other.test:${port}/other` }).end()
          : response.end("there"),
    );
    const lookups: string[] = [];
    const response = await call(
      {
        method: "POST",
        url,
        headers: { authorization: "a", accept: "b" },
        body: utf8("c"),
        redirects: 2,
      },
      {
        lookup: async (host) => {
          lookups.push(host);
          return ["127.0.0.1"];
        },
      },
    );
    expect(textOf(response)).toBe("there");
    expect(response.url).toBe(`http://other.test:${port}/other`);
    expect(lookups).toEqual(["hooks.test", "hooks.test", "other.test"]);
    expect(
      requests.map(({ method, body, headers }) => [method, body, headers.authorization]),
    ).toEqual([
      ["POST", "c", "a"],
      ["POST", "c", "a"],
      ["GET", "", undefined],
    ]);
    expect(requests[2]?.headers.accept).toBe("b");
  });

  it.each([
    ["http://169.254.169.254/latest/meta-data", "address_refused"],
    ["http://2852039166/", "address_refused"],
    ["http://[::1]/", "address_refused"],
    ["http://inside.test/", "address_refused"],
    ["http://nowhere.test/", "dns_failed"],
    ["file:///etc/passwd", "invalid_url"],
    ["http://user:pass@hooks.test/", "invalid_url"],
  ])("to %s is not followed", async (location, code) => {
    const { url } = await serve((response) => response.writeHead(302, { location }).end());
    const addresses: Record<string, string[]> = {
      "hooks.test": ["127.0.0.1"],
      "inside.test": ["192.168.0.1"],
    };
    const lookup = async (host: string) => addresses[host] ?? [];
    expect(await failure({ url, redirects: 5 }, { lookup })).toMatchObject({ code });
  });

  it("is not followed beyond the limit", async () => {
    const { url, requests } = await serve((response) =>
      response.writeHead(301, { location: "/" }).end(),
    );
    const error = await failure({ url, redirects: 3 });
    expect(error.code).toBe("too_many_redirects");
    expect(error.message).toMatch(/hooks\.test.*limit of 3 redirects/);
    expect(requests).toHaveLength(4);
  });

  it("is followed without reading its body", async () => {
    const { url } = await serve((response, { url: path }) => {
      if (path === "/there") return response.end("there");
      return response.writeHead(302, { location: "/there" }).write("a body without an end");
    });
    expect(textOf(await call({ url, redirects: 1 }))).toBe("there");
  });
});

describe("a body", () => {
  it("may have the size of the limit, but not one byte more", async () => {
    const { url } = await serve((response) => response.end("x".repeat(1_000)));
    expect((await call({ url, maxResponseBytes: 1_000 })).body).toHaveLength(1_000);
    const error = await failure({ url, maxResponseBytes: 999 });
    expect(error.code).toBe("too_large");
    expect(error.message).toMatch(/hooks\.test.*more than 999 bytes/);
  });

  it("that does not end is aborted at the limit", async () => {
    const { url } = await serve((response) => {
      const more = () => {
        while (!response.destroyed && response.write("x".repeat(10_000)));
      };
      response.on("drain", more);
      more();
    });
    expect(await failure({ url, maxResponseBytes: 50_000 })).toMatchObject({ code: "too_large" });
  });

  it.each([
    ["gzip", gzipSync],
    ["x-gzip", gzipSync],
    ["GZIP", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
  ] as const)(
    "in %s is decompressed, and its decompressed size is limited",
    async (encoding, compress) => {
      const whole = utf8("z".repeat(1_000_000));
      const { url } = await serve((response) => {
        const body = compress(whole);
        expect(body.byteLength).toBeLessThan(10_000);
        response
          .writeHead(200, { "content-encoding": encoding, "content-length": body.byteLength })
          .end(body);
      });
      const response = await call({ url, maxResponseBytes: whole.byteLength });
      expect(Buffer.compare(response.body, whole)).toBe(0);
      expect(response.headers.has("content-encoding")).toBe(false);
      expect(response.headers.has("content-length")).toBe(false);
      const error = await failure({ url, maxResponseBytes: whole.byteLength - 1 });
      expect(error).toMatchObject({ code: "too_large" });
    },
  );

  it("in an unknown encoding is returned unchanged, with its header", async () => {
    for (const encoding of ["compress", "gzip, gzip", "constructor"]) {
      const { url } = await serve((response) =>
        response.writeHead(200, { "content-encoding": encoding }).end("as it is"),
      );
      const response = await call({ url });
      expect([textOf(response), response.headers.get("content-encoding")]).toEqual([
        "as it is",
        encoding,
      ]);
    }
  });

  it.each([
    ["HEAD", 200, { "content-length": "5000000" }],
    ["GET", 200, { "content-length": "0" }],
    ["GET", 204, {}],
    ["GET", 304, {}],
  ])("may be absent although headers describe one: %s, %i, %j", async (method, status, headers) => {
    const { url } = await serve((response) =>
      response.writeHead(status, { "content-encoding": "gzip", ...headers }).end(),
    );
    const response = await call({ url, method, maxResponseBytes: 10 });
    expect(response).toMatchObject({ status, body: { length: 0 } });
  });

  it.each([
    [
      "breaks off",
      (response: http.ServerResponse) => {
        response.writeHead(200, { "content-length": "100" }).write("x", () => response.destroy());
      },
    ],
    [
      "is not gzip",
      (response: http.ServerResponse) => {
        response.writeHead(200, { "content-encoding": "gzip" }).end("plain text");
      },
    ],
    [
      "is truncated gzip",
      (response: http.ServerResponse) => {
        response
          .writeHead(200, { "content-encoding": "gzip" })
          .end(gzipSync("x".repeat(99)).subarray(0, 15));
      },
    ],
  ])("that %s is an error, not a partial response", async (_, answer) => {
    const { url } = await serve(answer);
    const error = await failure({ url });
    expect(error).toMatchObject({ code: "network", message: expect.stringMatching("hooks.test") });
  });
});

describe("the time limit", () => {
  it.each<[string, (response: http.ServerResponse) => unknown]>([
    ["headers", () => {}],
    ["the body's end", (response) => response.write("x")],
    [
      "a compressed body's end",
      (response) => {
        response
          .writeHead(200, { "content-encoding": "gzip" })
          .write(gzipSync("xyz").subarray(0, 12));
      },
    ],
  ])("applies while waiting for %s", async (_, answer) => {
    const { url } = await serve(answer);
    const error = await failure({ url, timeoutMs: 200 });
    expect(error.code).toBe("timeout");
    expect(error.message).toMatch(/hooks\.test.*within 0\.2 s/);
  });

  it("applies while waiting for DNS, and ignores a later result", async () => {
    let fail = (_: Error) => {};
    const lookup = () =>
      new Promise<string[]>((_, reject) => {
        fail = reject;
      });
    expect(await failure({ timeoutMs: 20 }, { lookup })).toMatchObject({ code: "timeout" });
    fail(new Error("late"));
  });

  it("may exceed the maximum delay of a timer", async () => {
    const { url } = await serve((response) => response.end("done"));
    // Node sets a timer that overflows to 1 ms, which is shorter than this delay.
    const lookup = () => setTimeout(10, ["127.0.0.1"]);
    for (const timeoutMs of [2 ** 40, Number.POSITIVE_INFINITY])
      expect(textOf(await call({ url, timeoutMs }, { lookup }))).toBe("done");
  });

  it("includes all redirects", async () => {
    const { url } = await serve((response) => response.writeHead(302, { location: "/" }).end());
    const error = await failure({ url, redirects: Number.POSITIVE_INFINITY, timeoutMs: 200 });
    expect(error).toMatchObject({ code: "timeout" });
  });
});

describe("the caller's signal", () => {
  const reason = new Error("run cancelled");

  it("ends a call before it starts", async () => {
    const { url, requests } = await serve((response) => response.end());
    const signal = AbortSignal.abort(reason);
    expect(await failure({ url, signal })).toMatchObject({ code: "aborted", cause: reason });
    expect(requests).toEqual([]);
  });

  it("ends a call that waits for DNS", async () => {
    const controller = new AbortController();
    const lookup = () => {
      controller.abort(reason);
      return new Promise<string[]>(() => {});
    };
    const error = await failure({ signal: controller.signal }, { lookup });
    expect(error).toMatchObject({ code: "aborted", cause: reason });
  });

  it("ends a call that waits for headers, or for the body", async () => {
    for (const begin of [() => {}, (response: http.ServerResponse) => response.write("x")]) {
      const controller = new AbortController();
      const { url } = await serve((response) => {
        begin(response);
        setImmediate(() => controller.abort(reason));
      });
      const error = await failure({ url, signal: controller.signal });
      expect(error).toMatchObject({ code: "aborted", cause: reason });
    }
  });

  it("has no listener after the call has ended", async () => {
    const { signal } = new AbortController();
    const { url } = await serve((response) => response.end());
    await call({ url, signal });
    await failure({ url, signal, maxResponseBytes: 10 }, { allowPrivate: false });
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

describe("https", () => {
  const certificate = makeCertificate({ names: ["hooks.test"], ipv4: ["127.0.0.1"] });
  const ca = certificate.cert;
  const serveTls = (keyPair = certificate) => {
    const server = https.createServer(keyPair, ({ headers, socket }, response) =>
      response.end(JSON.stringify([headers.host, (socket as { servername?: unknown }).servername])),
    );
    return listen(server);
  };

  it("checks the certificate against the name, at the checked address", async () => {
    const port = await serveTls();
    for (const host of ["hooks.test", "hooks.test."]) {
      const response = await call({ url: `https://${host}:${port}`, allowHttp: false }, { ca });
      expect(textOf(response)).toBe(JSON.stringify([`${host}:${port}`, "hooks.test"]));
    }
    const byAddress = await call({ url: `https://127.0.0.1:${port}` }, { ca });
    expect(textOf(byAddress)).toBe(JSON.stringify([`127.0.0.1:${port}`, false]));
  });

  it("ignores a Host header when it checks the certificate", async () => {
    const port = await serveTls();
    const url = `https://other.test:${port}`;
    const error = await failure({ url, headers: { host: "hooks.test" } }, { ca });
    expect(error).toMatchObject({ code: "tls_error" });
  });

  it("rejects a certificate for another name, an untrusted one, and an expired one", async () => {
    const port = await serveTls();
    const other = await failure({ url: `https://other.test:${port}` }, { ca });
    expect(other).toMatchObject({ code: "tls_error" });
    expect(other.message).toMatch(/other\.test.*altnames.*Check/);
    const unknown = await failure({ url: `https://hooks.test:${port}` });
    expect(unknown).toMatchObject({ code: "tls_error" });
    expect(unknown.message).toMatch(/self-signed/);
    const old = makeCertificate({ names: ["hooks.test"], until: "20010101000000Z" });
    const expired = await failure(
      { url: `https://hooks.test:${await serveTls(old)}` },
      { ca: old.cert },
    );
    expect(expired).toMatchObject({ code: "tls_error" });
    expect(expired.message).toMatch(/expired/);
  });

  it("rejects a server without TLS", async () => {
    const { port } = await serve((response) => response.end());
    const error = await failure({ url: `https://hooks.test:${port}` }, { ca });
    expect(error).toMatchObject({ code: "tls_error" });
    expect(error.message).toMatch(/wrong version number|packet length/);
    const hangsUp = http.createServer();
    hangsUp.on("connection", (socket: Socket) => socket.destroy());
    const url = `https://hooks.test:${await listen(hangsUp)}`;
    expect(await failure({ url }, { ca })).toMatchObject({ code: "tls_error" });
  });

  it("reports a network error after the handshake", async () => {
    const server = https.createServer(certificate, ({ socket }) => socket.destroy());
    const url = `https://hooks.test:${await listen(server)}`;
    expect(await failure({ url }, { ca })).toMatchObject({ code: "network" });
  });

  it("does not follow a redirect to http by default", async () => {
    const plain = await serve((response) => response.end("plain"));
    const server = https.createServer(certificate, (_, response) =>
      response.writeHead(302, { location: plain.url }).end(),
    );
    const url = `https://hooks.test:${await listen(server)}`;
    const error = await failure({ url, redirects: 1, allowHttp: false }, { ca });
    expect(error).toMatchObject({ code: "invalid_url" });
    expect(plain.requests).toEqual([]);
    expect(textOf(await call({ url, redirects: 1 }, { ca }))).toBe("plain");
  });
});

describe("a server", () => {
  it("that is not running causes connection_refused", async () => {
    const { url, port } = await serve(() => {});
    await closeServers();
    const error = await failure({ url });
    expect(error.code).toBe("connection_refused");
    expect(error.message).toContain(`hooks.test refuses connections on port ${port}`);
    expect(error.message).not.toContain("127.0.0.1");
    const several = await failure(
      { url },
      { allowPrivate: true, lookup: async () => ["127.0.0.1", "127.0.0.1"] },
    );
    expect(several).toMatchObject({ code: "connection_refused" });
  });

  it.each([
    ["hangs up", ""],
    ["does not send HTTP", "SSH-2.0-OpenSSH_9\r\n\r\n"],
    ["switches protocols", "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"],
    ["sends too large headers", `HTTP/1.1 200 OK\r\nx: ${"y".repeat(100_000)}\r\n\r\n`],
  ])("that %s causes a network error", async (_, message) => {
    const server = http.createServer();
    server.removeAllListeners("connection");
    server.on("connection", (socket: Socket) => {
      socket.on("error", () => {});
      socket.resume().end(message);
    });
    const url = `http://hooks.test:${await listen(server)}`;
    expect(await failure({ url })).toMatchObject({
      code: "network",
      message: expect.stringMatching(/^hooks\.test.*no complete response/),
    });
  });
});
