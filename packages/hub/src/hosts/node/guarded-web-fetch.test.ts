import * as http from "node:http";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import type { OutboundError } from "@signalbox/rules/flows/outbound.ts";
import { afterEach, describe, expect, it } from "vitest";
import { createGuardedWebFetch, type GuardedWebFetchOptions } from "./guarded-web-fetch.ts";
import { closeServers, listen, serve, toLoopback } from "./test-server.ts";

afterEach(closeServers);

const open = (options: Partial<GuardedWebFetchOptions> = {}) =>
  createGuardedWebFetch({ ...toLoopback, allowHttp: true, ...options });

async function failure(work: Promise<unknown>): Promise<OutboundError> {
  const [outcome] = await Promise.allSettled([work]);
  if (outcome?.status === "rejected") return outcome.reason;
  throw new Error("the call did not fail");
}

describe("a request", () => {
  it("sends method, headers and body, and returns status, headers and body", async () => {
    const { url, port, requests } = await serve((response) =>
      response.writeHead(418, { "x-tea": "yes" }).end("short and stout"),
    );
    const response = await open()(`${url}/a?b=c`, {
      method: "post",
      headers: { "X-Key": "k", Host: "metadata.internal" },
      body: "Grüße",
    });
    expect([response.status, response.headers.get("x-tea"), await response.text()]).toEqual([
      418,
      "yes",
      "short and stout",
    ]);
    expect(requests).toMatchObject([
      {
        method: "POST",
        url: "/a?b=c",
        body: "Grüße",
        headers: { host: `hooks.test:${port}`, "x-key": "k", "content-length": "7" },
      },
    ]);
  });

  it("is sent after `beforeSend`, on a new and on a reused connection, and is not sent if it throws", async () => {
    const { url, requests } = await serve((response) => response.end("ok"));
    const fetch = open();
    const sentBefore: number[] = [];
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const beforeSend = () => void sentBefore.push(requests.length);
      await (await fetch(url, { method: "POST", body: "x", beforeSend })).text();
    }
    expect([sentBefore, requests.length]).toEqual([[0, 1], 2]);
    const beforeSend = () => {
      throw new Error("the lease has expired");
    };
    const refused = await failure(fetch(url, { method: "POST", body: "x", beforeSend }));
    expect(refused.message).toContain("the lease has expired");
    expect(requests).toHaveLength(2);
  });

  it("accepts a Request, and sends URLSearchParams as a form", async () => {
    const { url, requests } = await serve((response) => response.end("ok"));
    const fetch = open();
    const request = new Request(url, { method: "PUT", body: "x", headers: { "x-a": "b" } });
    expect(await (await fetch(request)).text()).toBe("ok");
    await (await fetch(url, { method: "POST", body: new URLSearchParams({ a: "b c" }) })).text();
    expect(requests).toMatchObject([
      { method: "PUT", body: "x", headers: { "x-a": "b" } },
      { body: "a=b+c", headers: { "content-type": "application/x-www-form-urlencoded" } },
    ]);
  });

  it("decompresses the body, and accepts responses without one", async () => {
    const { url } = await serve((response, { method }) =>
      method === "DELETE"
        ? response.writeHead(204).end()
        : response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("plain")),
    );
    const fetch = open();
    const zipped = await fetch(url);
    expect([zipped.headers.get("content-encoding"), await zipped.text()]).toEqual([null, "plain"]);
    expect((await fetch(url, { method: "DELETE" })).body).toBeNull();
  });

  it("streams: a chunk is readable before the response ends", async () => {
    let finish = () => {};
    const { url } = await serve((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
      finish = () => response.end("data: 2\n\n");
    });
    const reader = (await open()(url)).body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toBe("data: 1\n\n");
    finish();
    expect((await reader?.read())?.value).toBe("data: 2\n\n");
    expect((await reader?.read())?.done).toBe(true);
  });

  it("reuses connections", async () => {
    const sockets = new Set<Socket>();
    const port = await listen(
      http.createServer(({ socket }, response) => {
        sockets.add(socket);
        response.end("ok");
      }),
    );
    const fetch = open();
    for (let call = 0; call < 3; call += 1) await (await fetch(`http://hooks.test:${port}`)).text();
    expect(sockets.size).toBe(1);
  });
});

describe("the address guard", () => {
  const strict = { allowPrivate: false } as const;

  it.each(["http://127.0.0.1:1", "http://[::1]:1", "http://2130706433:1", "http://10.0.0.1"])(
    "rejects %s",
    async (url) => {
      const error = await failure(open(strict)(url));
      expect(error).toMatchObject({ code: "address_refused" });
      expect(error.message).toMatch(/SIGNALBOX_ALLOW_PRIVATE/);
    },
  );

  it("rejects a name that resolves to a private address, also beside a public one", async () => {
    const { url, requests } = await serve((response) => response.end());
    const lookup = async () => ["93.184.216.34", "127.0.0.1"];
    expect(await failure(open({ ...strict, lookup })(url))).toMatchObject({
      code: "address_refused",
      message: expect.stringContaining("hooks.test resolves to a loopback address"),
    });
    expect(requests).toEqual([]);
  });

  it("connects to the address that was checked, not to that of a second lookup", async () => {
    const { url, requests } = await serve((response) =>
      response.writeHead(200, { connection: "close" }).end("ok"),
    );
    const answers = [["127.0.0.1"], ["10.0.0.1"]];
    const lookups: string[] = [];
    const lookup = async (host: string) => {
      lookups.push(host);
      return answers.shift() ?? [];
    };
    const fetch = open({ lookup });
    expect(await (await fetch(url)).text()).toBe("ok");
    expect(await failure(fetch(url))).toMatchObject({ code: "address_refused" });
    expect([lookups, requests.length]).toEqual([["hooks.test", "hooks.test"], 1]);
  });

  it("looks a name up once for concurrent requests", async () => {
    const { url } = await serve((response) => response.end("ok"));
    const lookupResult = Promise.withResolvers<string[]>();
    let lookups = 0;
    const fetch = open({
      lookup: () => {
        lookups += 1;
        return lookupResult.promise;
      },
    });
    const responses = Array.from({ length: 10 }, async () => (await fetch(url)).text());
    await setImmediate();
    lookupResult.resolve(["127.0.0.1"]);
    expect(new Set(await Promise.all(responses))).toEqual(new Set(["ok"]));
    expect(lookups).toBe(1);
  });

  it.each(["inside.test", "127.0.0.1"])("rejects a redirect to private %s", async (host) => {
    const secret = await serve((response) => response.end("secret"));
    const location = `http://${host}:${secret.port}/`;
    // 127.0.0.2 stands for a public address.
    const port = await listen(
      http.createServer((_, response) => response.writeHead(307, { location }).end()),
      "127.0.0.2",
    );
    const lookup = async (name: string) => [name === "inside.test" ? "127.0.0.1" : "127.0.0.2"];
    const fetch = open({ allowPrivate: ["127.0.0.2"], lookup });
    expect(await failure(fetch(`http://hooks.test:${port}`, { method: "POST" }))).toMatchObject({
      code: "address_refused",
    });
    expect(secret.requests).toEqual([]);
  });

  it("rejects http unless it is allowed, and credentials in URLs", async () => {
    expect(await failure(open({ allowHttp: false })("http://hooks.test"))).toMatchObject({
      code: "invalid_url",
    });
    expect(await failure(open()("https://a:b@hooks.test"))).toMatchObject({ code: "invalid_url" });
  });
});

describe("a redirect", () => {
  it("to another origin loses credentials; to the same origin keeps them", async () => {
    const other = await serve((response) => response.end("moved"));
    const { url, requests } = await serve((response, { url: path }) =>
      path === "/there"
        ? response.writeHead(307, { location: `http://other.test:${other.port}/` }).end()
        : response.writeHead(307, { location: "/there" }).end(),
    );
    const headers = { authorization: "Bearer t", "x-api-key": "k", "content-type": "text/plain" };
    const response = await open()(url, { method: "POST", headers, body: "b" });
    expect(await response.text()).toBe("moved");
    expect(requests[1]?.headers).toMatchObject({ authorization: "Bearer t", "x-api-key": "k" });
    expect(other.requests[0]).toMatchObject({ method: "POST", body: "b" });
    expect(other.requests[0]?.headers).not.toHaveProperty("authorization");
    expect(other.requests[0]?.headers).not.toHaveProperty("x-api-key");
  });

  it("is returned with redirect: manual, and rejected with redirect: error or after five redirects", async () => {
    const { url, requests } = await serve((response) =>
      response.writeHead(302, { location: "/again" }).end(),
    );
    const fetch = open();
    const manual = await fetch(url, { redirect: "manual" });
    expect([manual.status, manual.headers.get("location")]).toEqual([302, "/again"]);
    await manual.text();
    const code = "too_many_redirects";
    expect(await failure(fetch(url, { redirect: "error" }))).toMatchObject({ code });
    requests.length = 0;
    expect(await failure(fetch(url))).toMatchObject({ code });
    expect(requests.length).toBe(6);
  });
});

describe("an abort", () => {
  const reason = new Error("run cancelled");

  it("ends a request before it starts, and one that waits for headers", async () => {
    const { url, requests } = await serve(() => controller.abort(reason));
    const controller = new AbortController();
    expect(await failure(open()(url, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(requests).toEqual([]);
    expect(await failure(open()(url, { signal: controller.signal }))).toBe(reason);
  });

  it("ends a body that is being read, and closes the connection", async () => {
    const controller = new AbortController();
    const closed = Promise.withResolvers<void>();
    const port = await listen(
      http.createServer((request, response) => {
        request.socket.once("close", () => closed.resolve());
        response.write("x");
      }),
    );
    const response = await open()(`http://hooks.test:${port}`, { signal: controller.signal });
    const reading = response.text();
    controller.abort(reason);
    await expect(reading).rejects.toThrow();
    await closed.promise;
  });
});

it("reports a server that is not running, and one that hangs up", async () => {
  const { url } = await serve(() => {});
  await closeServers();
  expect(await failure(open()(url))).toMatchObject({ code: "connection_refused" });
  const hangsUp = http.createServer();
  hangsUp.on("connection", (socket: Socket) => socket.destroy());
  const port = await listen(hangsUp);
  expect(await failure(open()(`http://hooks.test:${port}`))).toMatchObject({ code: "network" });
});
