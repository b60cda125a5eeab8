/** Invalid requests to /mcp: each gets a clear error, and the next valid call succeeds. */
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { deliver, issueOpened, SECRET } from "../support/deliver.ts";
import { type HubProcess, runCli, startHubProcess } from "../support/hub-process.ts";

const TOKEN = "sbx_of_the_story_of_bad_input";
const data = mkdtempSync(join(tmpdir(), "signalbox-mcp-bad-"));
let hub: HubProcess;
beforeAll(async () => {
  hub = await startHubProcess({
    data,
    env: { GITHUB_WEBHOOK_SECRET: SECRET, SIGNALBOX_TOKEN: TOKEN },
  });
});
afterAll(async () => {
  await hub.stop();
  rmSync(data, { recursive: true, force: true });
});

type Headers = Record<string, string>;
const common: Headers = {
  authorization: `Bearer ${TOKEN}`,
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

interface Era {
  headers(method: string, name: string): Headers;
  meta: object;
}
const eras: [string, Era][] = [
  [
    "2026-07-28",
    {
      headers: (method, name) => ({
        ...common,
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        "mcp-name": name,
      }),
      meta: {
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "story", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    },
  ],
  [
    "2025-11-25",
    { headers: () => ({ ...common, "mcp-protocol-version": "2025-11-25" }), meta: {} },
  ],
];

const message = (params: object, id = 1, method = "tools/call") => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});

/** The hub's response, as JSON or as the only message of a stream. */
async function ask(headers: Headers, body: RequestInit["body"], method = "POST") {
  const init = { method, headers, duplex: "half", ...(body == null ? {} : { body }) };
  const response = await fetch(`${hub.url}/mcp`, init as RequestInit);
  const text = await response.text();
  const json = /^data: (.*)$/m.exec(text)?.[1] ?? text;
  return { status: response.status, headers: response.headers, said: JSON.parse(json) };
}

const call = ({ headers, meta }: Era, name: string, args: unknown, more: Headers = {}) =>
  ask(
    { ...headers("tools/call", name), ...more },
    JSON.stringify(message({ name, arguments: args, ...meta })),
  );

/** The head of a request, for tests that write to a raw socket. */
const rawHead = (headers: Headers, length: number) => {
  const all = { ...headers, host: new URL(hub.url).host, "content-length": String(length) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n`;
};

afterEach(async () => {
  for (const [, era] of eras) {
    const { status, said } = await call(era, "get_pending_status", {});
    expect(status).toBe(200);
    expect(said.result.structuredContent).toMatchObject({ pending_count: expect.any(Number) });
  }
});

describe.each(eras)("returns an error to a client of %s", (_, era) => {
  const good = { ...era.headers("tools/call", "get_pending_status") };
  const body = JSON.stringify(message({ name: "get_pending_status", arguments: {}, ...era.meta }));

  it("that calls an unknown tool", async () => {
    const { said } = await call(era, "no_such_tool", {});
    expect(said.error).toMatchObject({ code: -32602, message: "There is no tool no_such_tool." });
  });

  it.each([
    ["list_pending_events", { limit: 1.5 }, "limit: must be an integer"],
    ["list_pending_events", { limit: 1e9 }, "limit: must be at most 100"],
    ["list_pending_events", { limit: "20" }, "limit: must be an integer"],
    ["list_pending_events", { cursor: "nonsense" }, /^cursor: /],
    ["get_event", {}, /^event_id: /],
    ["get_event", { event_id: 7 }, /^event_id: /],
    ["get_event", { event_id: "01a2b3c4-0000-7000-8000-000000000000" }, /^event_id: /],
    ["wait_for_event", { filter: { "a[": 1 } }, /^filter: /],
  ])("that calls %s with %j", async (name, args, words) => {
    const { said } = await call(era, name, args);
    expect(said.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(words) }],
    });
  });

  it("that sends arguments other than an object", async () => {
    const { said } = await call(era, "get_event", "x");
    expect(said.error).toMatchObject({ code: -32602, message: expect.stringContaining("params") });
  });

  it.each([
    ["no JSON", "hello", -32700, /JSON/],
    ["nothing", "", -32700, /JSON/],
    ["invalid UTF-8", Uint8Array.of(0x7b, 0xff, 0x7d), -32700, /JSON/],
    ["null", "null", -32600, /not a valid JSON-RPC message/],
    ["an object of something else", '{"hello":1}', -32600, /not a valid JSON-RPC message/],
    ["an array of something else", "[1,2]", -32600, /invalid message/],
    ["an empty batch", "[]", -32600, /empty/],
    [
      "a million levels of nesting",
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${"[".repeat(1e6)}${"]".repeat(1e6)}}`,
      -32600,
      /not a valid JSON-RPC message/,
    ],
  ])("that sends %s", async (_what, sent, code, words) => {
    const { status, said } = await ask(good, sent);
    expect(status).toBe(400);
    expect(said.error).toMatchObject({ code, message: expect.stringMatching(words) });
  });

  it("that sends a batch of 1,000", async () => {
    const batch = Array.from({ length: 1_000 }, (_member, id) =>
      message({ name: "get_pending_status", arguments: {}, ...era.meta }, id),
    );
    const { status, said } = await ask(good, JSON.stringify(batch));
    expect(status).toBe(400);
    expect(said.error).toMatchObject({ code: -32600, message: expect.stringMatching(/batch/i) });
  });

  it("that sends 10 MB, whether or not the length is announced", async () => {
    const large = Buffer.alloc(10_000_000, 0x20);
    const stream = new ReadableStream({
      start(controller) {
        for (let at = 0; at < 10; at += 1)
          controller.enqueue(large.subarray(at * 1e6, at * 1e6 + 1e6));
        controller.close();
      },
    });
    for (const sent of [large, stream]) {
      const { status, said } = await ask(good, sent as RequestInit["body"]);
      expect(status).toBe(413);
      expect(said.error.message).toMatch(/must not exceed \d+ bytes/);
    }
  });

  it("that sends 10 MB slowly, and reuses the connection", async () => {
    const { hostname, port } = new URL(hub.url);
    const socket = connect(Number(port), hostname);
    onTestFinished(() => void socket.destroy());
    let heard = "";
    socket.on("data", (chunk) => {
      heard += chunk;
    });
    socket.on("error", () => {});
    socket.write(rawHead(good, 10_000_000));
    socket.write(Buffer.alloc(5_000_000, 0x20));
    // Longer than the HTTP adapter waits for the rest.
    await new Promise((resolve) => setTimeout(resolve, 900));
    socket.write(Buffer.alloc(5_000_000, 0x20));
    socket.write(rawHead(good, body.length) + body);
    await expect
      .poll(() => heard.match(/HTTP\/1.1 \d+/g))
      .toEqual(["HTTP/1.1 413", "HTTP/1.1 200"]);
  });

  it("that sends another content type", async () => {
    const { status, said } = await ask({ ...good, "content-type": "text/plain" }, body);
    expect(status).toBe(415);
    expect(said.error.message).toMatch(/must be application\/json/);
  });

  it("with a foreign Origin or an unknown Host", async () => {
    for (const origin of ["https://evil.example", "null", "not an origin"]) {
      const { status, said } = await ask({ ...good, origin }, body);
      expect({ status, code: said.code }).toEqual({ status: 403, code: "foreign_origin" });
    }
    const { port } = new URL(hub.url);
    const status = await new Promise((resolve, reject) => {
      const headers = { ...good, host: `evil.example:${port}` };
      const misled = request(`${hub.url}/mcp`, { method: "POST", headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      misled.on("error", reject);
      misled.end(body);
    });
    expect(status).toBe(421);
  });

  it("without a token or with an unknown one", async () => {
    for (const [authorization, code] of [
      ["", "token_missing"],
      ["Basic eDp5", "token_missing"],
      ["Bearer guess", "token_unknown"],
    ] as const) {
      const { status, headers, said } = await ask({ ...good, authorization }, body);
      expect({ status, code: said.code }).toEqual({ status: 401, code });
      expect(headers.get("www-authenticate")).toMatch(/^Bearer resource_metadata="http/);
    }
  });

  it("with a revoked or expired token", async () => {
    const create = async (...more: string[]) =>
      JSON.parse(
        (await runCli(["token", "create", "x", "--json", "--data", data, ...more])).stdout,
      ) as { id: string; token: string };
    const answer = async (token: string) => {
      const { status, said } = await ask({ ...good, authorization: `Bearer ${token}` }, body);
      return said.code ?? status;
    };
    const revoked = await create();
    expect(await answer(revoked.token)).toBe(200);
    await runCli(["token", "revoke", revoked.id, "--data", data]);
    await expect.poll(() => answer(revoked.token)).toBe("token_revoked");
    const { token } = await create("--days", String(1 / 86_400));
    await expect.poll(() => answer(token)).toBe("token_expired");
  });
});

it("handles a 2025-era client without an Accept header or with an unknown version", async () => {
  const body = JSON.stringify(message({}, 1, "tools/list"));
  const silent = await ask({ ...common, accept: "*/*" }, body);
  expect(silent.status).toBe(406);
  expect(silent.said.error.message).toMatch(/must accept both/);
  const lost = await ask({ ...common, "mcp-protocol-version": "1999-01-01" }, body);
  expect(lost.status).toBe(400);
  expect(lost.said.error.message).toMatch(/Unsupported protocol version: 1999-01-01/);
});

it.each(["GET", "DELETE", "PUT"])("returns 405 for %s /mcp without a session", async (method) => {
  const { status, said } = await ask(common, undefined, method);
  expect(status).toBe(405);
  expect(said.error.message).toBe("Method not allowed.");
});

it("bounds its memory for twenty clients that request large payloads and never read", async () => {
  const text = "x".repeat(1_000_000);
  for (let sent = 0; sent < 10; sent += 1) {
    const large = JSON.stringify({ ...issueOpened, text });
    expect((await deliver(hub.url, { body: large })).status).toBe(202);
  }
  const { hostname, port } = new URL(hub.url);
  const [, { headers, meta }] = eras[0] as [string, Era];
  const name = "get_webhook_events";
  const body = JSON.stringify(message({ name, arguments: { limit: 100 }, ...meta }));
  for (let client = 0; client < 20; client += 1) {
    const socket = connect(Number(port), hostname).pause();
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    socket.write((rawHead(headers("tools/call", name), body.length) + body).repeat(5));
  }
  const started = Date.now();
  const { said } = await call(eras[0]?.[1] as Era, "get_pending_status", {});
  expect(said.result.structuredContent).toMatchObject({ pending_count: 10 });
  expect(Date.now() - started).toBeLessThan(15_000);
});

it("logs none of these client errors as errors of the hub", () => {
  const errors = hub
    .output()
    .split("\n")
    .filter((line) => line.startsWith("{") && JSON.parse(line).level >= 50);
  expect(errors).toEqual([]);
});
