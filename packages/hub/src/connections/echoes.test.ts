/** Credentials are masked even if a server echoes everything that it receives. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { listen, serveRaw } from "../../../../test/support/mcp-servers.ts";
import {
  callOptions,
  catchError,
  newConnection,
  openConnections,
} from "../../../../test/support/open-connections.ts";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { openCommand } from "../hosts/node/ports.ts";
import type { Credentials } from "./credentials.ts";

const BEARER = "bearer-of-the-connection";
const KEY = 'key of "the" connection';
const CALLBACK = "sbcb_0123456789012345678901234567890123456789012";
const SECRET = "secret:of the client";
const ACCESS = "access-token-of-the-connection";
const credentials: Credentials = {
  auth: { type: "bearer", token: BEARER },
  headers: { "x-api-key": KEY },
};
const call = { tool: "echo", arguments: {} };
const configure = { tool: "TRIGGER_CONFIGURE", arguments: { callbackToken: CALLBACK } };

/** The secrets, and the start of a JWT, that `value` contains. */
const leaks = (value: unknown): string[] =>
  [BEARER, "key of", CALLBACK, ACCESS, "of the client", "eyJhbGciOiJIUzI1", "hidden-in-env"].filter(
    (secret) =>
      (value instanceof Error ? `${value.stack} ${value.cause}` : JSON.stringify(value)).includes(
        secret,
      ),
  );

const serveEchoes = () =>
  serveRaw(({ method, params, http }) => {
    const headers = { ...http.headers };
    const echo = JSON.stringify({ headers, params });
    if (method === "tools/list")
      return {
        tools: ["echo", "TRIGGER_LIST", "TRIGGER_CONFIGURE"].map((name) => ({
          name,
          title: echo,
          description: `You are ${echo}`,
          inputSchema: { type: "object", properties: { [BEARER]: { default: KEY } } },
          annotations: headers,
        })),
      };
    if (params.name === "TRIGGER_LIST")
      return {
        content: [],
        structuredContent: { triggers: [{ type: "rain", description: echo, sample: headers }] },
      };
    return {
      isError: params.name === "TRIGGER_CONFIGURE",
      content: [
        { type: "text", text: echo },
        { type: "image", mimeType: "image/png", data: btoa(echo) },
      ],
      structuredContent: { headers, params },
    };
  });

it("masks credentials in results, in errors of tools, and in offers", async () => {
  const { url } = await serveEchoes();
  const connections = openConnections();
  const connection = await newConnection(url, credentials);
  const answer = await connections.callTool(connection, call, callOptions());
  expect(leaks(answer)).toEqual([]);
  expect(answer.structuredContent).toMatchObject({
    headers: { authorization: "Bearer •••", "x-api-key": "•••", "x-mesh-token": "•••" },
  });
  const rejected = await connections.callTool(connection, configure, callOptions());
  expect([rejected.isError, leaks(rejected)]).toEqual([true, []]);
  expect(JSON.stringify(rejected.structuredContent)).toContain('"callbackToken":"•••"');
  const offers = await connections.loadOffers(connection, callOptions());
  expect(leaks(offers)).toEqual([]);
  expect(offers.triggers).toMatchObject([{ type: "rain", sample: { "x-api-key": "•••" } }]);
  const result = await connections.request(connection, "events/poll", {}, callOptions());
  expect(leaks(result)).toEqual([]);
});

describe("errors", () => {
  it.each([250, 270, 275, 280, 285])(
    "of HTTP are masked before they are truncated, after %i other characters",
    async (length) => {
      const { url } = await listen((request, response) =>
        response
          .writeHead(401)
          .end(`${"x".repeat(length)} ${JSON.stringify(request.headers)} ${BEARER}`),
      );
      const withHeaderOnly = await listen((request, response) =>
        response.writeHead(401).end("x".repeat(length) + request.headers.authorization),
      );
      const connections = openConnections();
      for (const serverUrl of [url, withHeaderOnly.url]) {
        const connection = await newConnection(serverUrl, credentials);
        const error = await catchError(connections.callTool(connection, call, callOptions()));
        expect(error.code).toBe("unauthorized");
        expect(leaks(error)).toEqual([]);
        expect(error.message).not.toContain("bearer-");
        expect(error.cause).toBeUndefined();
      }
    },
  );

  it("of JSON-RPC, redirects and content types are masked", async () => {
    const connections = openConnections();
    const servers = [
      await serveRaw(({ id, http }, response) => {
        const message = JSON.stringify(http.headers);
        response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32_000, message } }));
      }),
      await listen((_, response) =>
        response.writeHead(307, { location: `https://other.test/${BEARER}` }).end(),
      ),
      await listen((_, response) =>
        response.writeHead(200, { "content-type": `text/${BEARER}` }).end("x"),
      ),
    ];
    for (const { url } of servers) {
      const connection = await newConnection(url, credentials);
      const error = await catchError(connections.callTool(connection, call, callOptions()));
      expect(leaks(error)).toEqual([]);
      expect(error.message).toContain("•••");
    }
  });
});

it("masks the OAuth client's secret and the access token", async () => {
  let isBroken = false;
  const auth = await listen(async (request, response) => {
    const echo = `${request.headers.authorization} ${await text(request)} ${SECRET}`;
    response
      .writeHead(isBroken ? 400 : 200, { "content-type": "application/json" })
      .end(
        JSON.stringify(
          isBroken
            ? { error: `invalid ${SECRET}`, error_description: echo }
            : { access_token: ACCESS, token_type: "bearer" },
        ),
      );
  });
  const { url } = await serveEchoes();
  const connections = openConnections();
  const client = {
    type: "oauth",
    client_id: "id",
    client_secret: SECRET,
    token_url: auth.url,
  } as const;
  const connection = await newConnection(url, { auth: client });
  const answer = await connections.callTool(connection, call, callOptions());
  expect(leaks(answer)).toEqual([]);
  expect(answer.structuredContent).toMatchObject({ headers: { authorization: "Bearer •••" } });
  isBroken = true;
  const broken = await newConnection(url, { auth: client });
  const error = await catchError(connections.callTool(broken, call, callOptions()));
  expect(leaks(error)).toEqual([]);
  expect(error.message).not.toContain(btoa(`id:${encodeURIComponent(SECRET)}`).slice(8));
  expect(error.message).toContain("answered invalid •••");
});

it("masks the environment of a command in results, and in what it wrote to stderr", async () => {
  const file = join(tempFolder(), "server.mjs");
  writeFileSync(
    file,
    `import { createInterface } from "node:readline";
    const send = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
    createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) return;
      if (method === "initialize")
        return send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: process.env.KEY, version: "1" } } });
      if (method !== "tools/call")
        return send({ id, error: { code: -32601, message: "Method not found" } });
      if (params.name === "end") {
        console.error("x".repeat(290) + process.env.KEY);
        process.exit(3);
      }
      send({ id, result: { content: [], structuredContent: { ...process.env } } });
    });`,
  );
  const connections = openConnections({ openCommand });
  const target = { command: process.execPath, args: [file] };
  const connection = await newConnection(target, { env: { KEY: "hidden-in-env" } });
  const { structuredContent } = await connections.callTool(connection, call, callOptions());
  expect(structuredContent).toMatchObject({ KEY: "•••", PATH: process.env.PATH });
  const endCall = { tool: "end", arguments: {} };
  const error = await catchError(connections.callTool(connection, endCall, callOptions()));
  expect(error.message).toMatch(/It wrote: x+•••$/);
  expect(leaks(error)).toEqual([]);
});
