/** Invalid requests to /mcp: each gets a clear error, and the next valid call succeeds. */
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { deliver, issueOpened, SECRET } from "../support/deliver.ts";
import { commandSettings, type Host, hosts, startOn } from "../support/hosts.ts";
import { createTokenByCli, type HubProcess, runCli } from "../support/hub-process.ts";

const TOKEN = "sbx_bad_input_story";
let hub: HubProcess;
let settings: Record<string, string>;

/** Starts one hub for all tests of a host. After each test, it must still serve valid calls. */
function useHub(host: Host): void {
  const data = mkdtempSync(join(tmpdir(), "signalbox-mcp-bad-"));
  beforeAll(async () => {
    const env = { GITHUB_WEBHOOK_SECRET: SECRET, SIGNALBOX_TOKEN: TOKEN };
    hub = await startOn(host, { data, env });
    settings = commandSettings(host, hub, { data, token: TOKEN });
  });
  afterEach(async () => {
    for (const [, protocol] of protocols) {
      const { status, json } = await call(protocol, "get_pending_status", {});
      expect(status).toBe(200);
      expect(json.result.structuredContent).toMatchObject({ pending_count: expect.any(Number) });
    }
  });
  afterAll(async () => {
    await hub.stop();
    rmSync(data, { recursive: true, force: true });
  });
}

type HeaderFields = Record<string, string>;
const commonHeaders: HeaderFields = {
  authorization: `Bearer ${TOKEN}`,
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

/** The headers and parameters that a protocol version requires. */
interface Protocol {
  headers(method: string, name: string): HeaderFields;
  meta: object;
}
const protocols: [string, Protocol][] = [
  [
    "2026-07-28",
    {
      headers: (method, name) => ({
        ...commonHeaders,
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
    { headers: () => ({ ...commonHeaders, "mcp-protocol-version": "2025-11-25" }), meta: {} },
  ],
];

/** Node logs the level as a number, workerd as text. */
const isErrorLevel = (level: unknown) => level === "error" || Number(level) >= 50;

const rpcRequest = (params: object, id = 1, method = "tools/call") => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});

/** Sends a request to /mcp. The `json` of the response is its body, or the only message of its stream. */
async function send(headers: HeaderFields, body: RequestInit["body"], method = "POST") {
  const init = { method, headers, duplex: "half", ...(body == null ? {} : { body }) };
  const response = await fetch(`${hub.url}/mcp`, init as RequestInit);
  const text = await response.text();
  const data = /^data: (.*)$/m.exec(text)?.[1] ?? text;
  return { status: response.status, headers: response.headers, json: JSON.parse(data) };
}

const call = ({ headers, meta }: Protocol, name: string, args: unknown) =>
  send(headers("tools/call", name), JSON.stringify(rpcRequest({ name, arguments: args, ...meta })));

/** Returns the head of a request, for tests that write to a raw socket. */
const rawHead = (headers: HeaderFields, length: number) => {
  const all = { ...headers, host: new URL(hub.url).host, "content-length": String(length) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n`;
};

describe.each(hosts)("/mcp on %s", (host) => {
  useHub(host);

  describe.each(protocols)("a %s client", (_, protocol) => {
    const validHeaders = protocol.headers("tools/call", "get_pending_status");
    const body = JSON.stringify(
      rpcRequest({ name: "get_pending_status", arguments: {}, ...protocol.meta }),
    );

    it("gets an error when it calls an unknown tool", async () => {
      const { json } = await call(protocol, "no_such_tool", {});
      expect(json.error).toMatchObject({ code: -32602, message: "There is no tool no_such_tool." });
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
    ])("gets an error when it calls %s with %j", async (name, args, message) => {
      const { json } = await call(protocol, name, args);
      expect(json.result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(message) }],
      });
    });

    it("gets an error when the arguments of a tool are not an object", async () => {
      const { json } = await call(protocol, "get_event", "x");
      expect(json.error).toMatchObject({
        code: -32602,
        message: expect.stringContaining("params"),
      });
    });

    it.each([
      ["a body that is not JSON", "hello", -32700, /JSON/],
      ["an empty body", "", -32700, /JSON/],
      ["invalid UTF-8", Uint8Array.of(0x7b, 0xff, 0x7d), -32700, /JSON/],
      ["null", "null", -32600, /not a valid JSON-RPC message/],
      ["an object that is not JSON-RPC", '{"hello":1}', -32600, /not a valid JSON-RPC message/],
      ["an array of numbers", "[1,2]", -32600, /invalid message/],
      ["an empty batch", "[]", -32600, /empty/],
      [
        "a thousand levels of nesting",
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${"[".repeat(1e3)}${"]".repeat(1e3)}}`,
        -32600,
        /nested deeper than 100 levels/,
      ],
      [
        "half a million levels of nesting",
        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${"[".repeat(5e5)}${"]".repeat(5e5)}}`,
        -32600,
        /more than 50000 values/,
      ],
    ])("gets an error when it sends %s", async (_description, invalidBody, code, message) => {
      const { status, json } = await send(validHeaders, invalidBody);
      expect(status).toBe(400);
      expect(json.error).toMatchObject({ code, message: expect.stringMatching(message) });
    });

    it("gets an error when it sends a batch of 1,000 requests", async () => {
      const batch = Array.from({ length: 1_000 }, (_, id) =>
        rpcRequest({ name: "get_pending_status", arguments: {}, ...protocol.meta }, id),
      );
      const { status, json } = await send(validHeaders, JSON.stringify(batch));
      expect(status).toBe(400);
      expect(json.error).toMatchObject({ code: -32600, message: expect.stringMatching(/batch/i) });
    });

    it("gets 413 when it sends 10 MB, with or without a content length", async () => {
      const large = Buffer.alloc(10_000_000, 0x20);
      const stream = new ReadableStream({
        start(controller) {
          for (let start = 0; start < large.length; start += 1e6)
            controller.enqueue(large.subarray(start, start + 1e6));
          controller.close();
        },
      });
      for (const largeBody of [large, stream]) {
        const { status, json } = await send(validHeaders, largeBody as RequestInit["body"]);
        expect(status).toBe(413);
        expect(json.error.message).toMatch(/must not exceed \d+ bytes/);
      }
    });

    it("gets 413 when it sends 10 MB slowly, and can send its next request on the same connection", async () => {
      const { hostname, port } = new URL(hub.url);
      const socket = connect(Number(port), hostname);
      onTestFinished(() => void socket.destroy());
      let received = "";
      socket.on("data", (chunk) => {
        received += chunk;
      });
      socket.on("error", () => {});
      socket.write(rawHead(validHeaders, 10_000_000));
      socket.write(Buffer.alloc(5_000_000, 0x20));
      // The pause exceeds the time for which the HTTP adapter waits for the rest of a rejected body.
      await new Promise((resolve) => setTimeout(resolve, 900));
      socket.write(Buffer.alloc(5_000_000, 0x20));
      socket.write(rawHead(validHeaders, body.length) + body);
      await expect
        .poll(() => received.match(/HTTP\/1.1 \d+/g))
        .toEqual(["HTTP/1.1 413", "HTTP/1.1 200"]);
    });

    it("gets 415 when it sends another content type", async () => {
      const { status, json } = await send({ ...validHeaders, "content-type": "text/plain" }, body);
      expect(status).toBe(415);
      expect(json.error.message).toMatch(/must be application\/json/);
    });

    it("gets 403 with a foreign Origin, and 421 with an unknown Host", async () => {
      for (const origin of ["https://evil.example", "null", "not an origin"]) {
        const { status, json } = await send({ ...validHeaders, origin }, body);
        expect({ status, code: json.code }).toEqual({ status: 403, code: "foreign_origin" });
      }
      const { port } = new URL(hub.url);
      const status = await new Promise((resolve, reject) => {
        const headers = { ...validHeaders, host: `evil.example:${port}` };
        const misdirected = request(`${hub.url}/mcp`, { method: "POST", headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        misdirected.on("error", reject);
        misdirected.end(body);
      });
      expect(status).toBe(421);
    });

    it("gets 401 without a token or with an unknown token", async () => {
      for (const [authorization, code] of [
        ["", "token_missing"],
        ["Basic eDp5", "token_missing"],
        ["Bearer unknown", "token_unknown"],
      ] as const) {
        const { status, headers, json } = await send({ ...validHeaders, authorization }, body);
        expect({ status, code: json.code }).toEqual({ status: 401, code });
        expect(headers.get("www-authenticate")).toMatch(/^Bearer .*resource_metadata="http/);
      }
    });

    it("gets an error with a revoked or expired token", async () => {
      const createToken = (...args: string[]) => createTokenByCli(settings, ...args);
      const codeFor = async (token: string) => {
        const { status, json } = await send(
          { ...validHeaders, authorization: `Bearer ${token}` },
          body,
        );
        return json.code ?? status;
      };
      const revoked = await createToken();
      expect(await codeFor(revoked.token)).toBe(200);
      await runCli(["token", "revoke", revoked.id], { env: settings });
      await expect.poll(() => codeFor(revoked.token)).toBe("token_revoked");
      const { token } = await createToken("--days", String(1 / 86_400));
      await expect.poll(() => codeFor(token)).toBe("token_expired");
    });
  });

  it("returns 406 to a 2025-11-25 client that accepts */*, and 400 for an unknown protocol version", async () => {
    const body = JSON.stringify(rpcRequest({}, 1, "tools/list"));
    const anyType = await send({ ...commonHeaders, accept: "*/*" }, body);
    expect(anyType.status).toBe(406);
    expect(anyType.json.error.message).toMatch(/must accept both/);
    const unknownVersion = await send(
      { ...commonHeaders, "mcp-protocol-version": "1999-01-01" },
      body,
    );
    expect(unknownVersion.status).toBe(400);
    expect(unknownVersion.json.error.message).toMatch(/Unsupported protocol version: 1999-01-01/);
  });

  it.each(["GET", "DELETE", "PUT"])("returns 405 for %s /mcp without a session", async (method) => {
    const { status, json } = await send(commonHeaders, undefined, method);
    expect(status).toBe(405);
    expect(json.error.message).toBe("Method not allowed.");
  });

  it("serves other requests while twenty clients request large payloads and never read", async () => {
    const text = "x".repeat(1_000_000);
    for (let sent = 0; sent < 10; sent += 1) {
      const large = JSON.stringify({ ...issueOpened, text });
      expect((await deliver(hub.url, { body: large })).status).toBe(202);
    }
    const { hostname, port } = new URL(hub.url);
    const [[, protocol]] = protocols as [[string, Protocol]];
    const name = "get_webhook_events";
    const body = JSON.stringify(rpcRequest({ name, arguments: { limit: 100 }, ...protocol.meta }));
    for (let client = 0; client < 20; client += 1) {
      const socket = connect(Number(port), hostname).pause();
      socket.on("error", () => {});
      onTestFinished(() => void socket.destroy());
      socket.write((rawHead(protocol.headers("tools/call", name), body.length) + body).repeat(5));
    }
    const { json } = await call(protocol, "get_pending_status", {});
    expect(json.result.structuredContent).toMatchObject({ pending_count: 10 });
  });

  it("logs no error for the requests of all tests above", () => {
    const errors = hub
      .output()
      .split("\n")
      .filter((line) => line.startsWith("{") && isErrorLevel(JSON.parse(line).level));
    expect(errors).toEqual([]);
  });
});
