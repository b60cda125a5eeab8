/** Connections and failures of the hub's HTTP server, in this process and with short time limits. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import type { Logger } from "../../packages/hub/src/hosts/node/log.ts";
import {
  type RunningHub,
  type StartOptions,
  startHub,
} from "../../packages/hub/src/hosts/node/start-hub.ts";
import { openSqlite } from "../../packages/hub/src/kernel/backends/sqlite.ts";
import { connect as connectSqlite } from "../../packages/hub/src/kernel/backends/sqlite-file.ts";
import { sha256Hex } from "../../packages/hub/src/kernel/lib/hmac.ts";
import { readSettings } from "../../packages/hub/src/settings.ts";
import { storeDefinition } from "../../packages/hub/src/store.ts";
import { deliver, issueOpened, rawExchange, SECRET, signature } from "../support/deliver.ts";
import { createDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";

type LogLine = Record<string, unknown> & { msg: string };

interface StartedHub extends RunningHub {
  lines: LogLine[];
  data: string;
}

async function startInProcess(
  env: Record<string, string> = {},
  options: Partial<StartOptions> = {},
): Promise<StartedHub> {
  const data = env.SIGNALBOX_DATA ?? tempFolder();
  const lines: LogLine[] = [];
  const settings = readSettings({
    flags: {},
    env: {
      PORT: "0",
      SIGNALBOX_DATA: data,
      SIGNALBOX_RATE_LIMIT: "0",
      GITHUB_WEBHOOK_SECRET: SECRET,
      ...env,
    },
    file: {},
  });
  const record = (facts: object, msg: string) => void lines.push({ ...facts, msg });
  const log = { info: record, warn: record, error: record } as unknown as Logger;
  const hub = await startHub({ settings, log, version: "test", lingerMs: 300, ...options });
  onTestFinished(() => hub.stop().catch(() => {}));
  return Object.assign(hub, { lines, data });
}

const readMetrics = async (hub: RunningHub) => (await fetch(`${hub.url}/metrics`)).text();
const countRejections = async (hub: RunningHub, reason: string, source = "unknown") =>
  Number(
    new RegExp(
      `signalbox_webhooks_total\\{source="${source}",outcome="refused",reason="${reason}"\\} (\\d+)`,
    ).exec(await readMetrics(hub))?.[1] ?? 0,
  );

interface Connection {
  socket: Socket;
  received(): string;
  /** Resolves when the connection is closed, with everything that was received. */
  ended: Promise<string>;
}

function openConnection(hub: RunningHub, ...pieces: string[]): Connection {
  const { hostname, port } = new URL(hub.url);
  let received = "";
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  socket.on("data", (chunk) => {
    received += chunk;
  });
  socket.on("error", () => {});
  for (const piece of pieces) socket.write(piece);
  // The client continues to send after the response. This fails if the hub has closed the connection.
  let keepSending: NodeJS.Timeout;
  socket.on("end", () => {
    keepSending = setInterval(() => socket.write("x"), 20);
  });
  onTestFinished(() => void socket.destroy());
  const ended = new Promise<string>((resolve) => {
    socket.on("close", () => {
      clearInterval(keepSending);
      resolve(received);
    });
  });
  return { socket, received: () => received, ended };
}

const body = JSON.stringify(issueOpened);
const requestHead = (extraHeaders = "", path = "/webhooks/github") =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-GitHub-Event: issues\r\nX-GitHub-Delivery: ${Math.random()}\r\nX-Hub-Signature-256: ${signature(body)}\r\n${extraHeaders}`;
const contentLength = `Content-Length: ${body.length}\r\n`;

/** Returns the status, the code of the problem document, and whether the hub closes the connection. */
const parseResponse = (response: string) => {
  const [statusLine = "", ...otherLines] = response.split("\r\n");
  return {
    status: Number(statusLine.split(" ")[1]),
    isProblem: /^content-type: application\/problem\+json$/im.test(response),
    code: (JSON.parse(otherLines.at(-1) || "{}") as { code?: string }).code,
    isClosing: /^connection: close$/im.test(response),
  };
};
const rejection = (status: number, code: string) => ({
  status,
  code,
  isProblem: true,
  isClosing: true,
});

describe("the HTTP server", () => {
  it.each([
    ["a text that is not HTTP", "hello\r\n\r\n", 400, "invalid_http"],
    ["a request without Host", "GET /healthz HTTP/1.1\r\n\r\n", 400, "invalid_http"],
    [
      "a request with two Hosts",
      "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
      400,
      "invalid_http",
    ],
    ["an invalid Host", "GET /healthz HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, "invalid_http"],
    ["a target that is not a path", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 400, "invalid_http"],
    ["CONNECT", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 400, "invalid_http"],
    [
      "headers of 20 KB",
      `GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
      431,
      "headers_too_large",
    ],
    [
      "an expectation that cannot be met",
      `${requestHead(`Expect: a miracle\r\n${contentLength}`)}\r\n`,
      417,
      "expectation_failed",
    ],
    [
      "an invalid chunk",
      `${requestHead("Transfer-Encoding: chunked\r\n")}\r\nnonsense\r\n`,
      400,
      "invalid_http",
    ],
  ])(
    "rejects %s with a problem document, and counts and logs it",
    async (_, bytes, status, code) => {
      const hub = await startInProcess();
      const response = await rawExchange(hub.url, bytes);
      expect(parseResponse(response)).toEqual(rejection(status, code));
      await expect
        .poll(
          async () =>
            (await countRejections(hub, code)) + (await countRejections(hub, code, "github")),
        )
        .toBe(1);
      await expect
        .poll(() => hub.lines.filter(({ msg }) => msg === "refused"))
        .toMatchObject([{ reason: code, address: "127.0.0.1" }]);
    },
  );

  it("continues to serve after the client resets a rejected tunnel", async () => {
    const hub = await startInProcess();
    for (const bytes of [
      "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
      "GET /events HTTP/1.1\r\nHost: a/b\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    ]) {
      const { socket } = openConnection(hub, bytes);
      await expect.poll(() => countRejections(hub, "invalid_http")).toBeGreaterThan(0);
      socket.resetAndDestroy();
    }
    await expect.poll(() => countRejections(hub, "invalid_http")).toBe(2);
    expect((await fetch(`${hub.url}/healthz`)).status).toBe(200);
  });

  it("accepts HTTP/1.0 without Host, and an absolute URL as the target", async () => {
    const hub = await startInProcess();
    expect(parseResponse(await rawExchange(hub.url, "GET /healthz HTTP/1.0\r\n\r\n")).status).toBe(
      200,
    );
    for (const target of ["http://hub.example/webhooks/github", "HTTPS://x:8/webhooks/github?a=b"])
      expect(
        await rawExchange(
          hub.url,
          `${requestHead(`${contentLength}Connection: close\r\n`, target)}\r\n${body}`,
        ),
      ).toMatch(/^HTTP\/1.1 202 /);
    expect(
      await rawExchange(
        hub.url,
        "GET http://hub.example HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
      ),
    ).toMatch(/^HTTP\/1.1 200 /);
  });

  it("ignores an Upgrade header that it does not support", async () => {
    const hub = await startInProcess();
    const h2cHeaders =
      "Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n";
    const webSocketHeaders = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    expect(
      await rawExchange(hub.url, `${requestHead(`${contentLength}${h2cHeaders}`)}\r\n${body}`),
    ).toMatch(/^HTTP\/1.1 202 /);
    for (const [target, status] of [
      ["/healthz", 200],
      ["/nowhere", 404],
    ] as const)
      for (const headers of [h2cHeaders, `${webSocketHeaders}Connection: close\r\n`])
        expect(
          parseResponse(
            await rawExchange(
              hub.url,
              `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}\r\n`,
            ),
          ).status,
        ).toBe(status);
    const withAbsoluteTarget = `GET ${hub.url}/events HTTP/1.1\r\nHost: ${new URL(hub.url).host}\r\n${webSocketHeaders}\r\n`;
    expect(parseResponse(await rawExchange(hub.url, withAbsoluteTarget)).status).toBe(401);
  });

  it("responds to a valid request that is followed by an invalid one", async () => {
    const hub = await startInProcess();
    const response = await rawExchange(
      hub.url,
      `${requestHead(contentLength)}\r\n${body}garbage\r\n\r\n`,
    );
    expect(response).toMatch(/^HTTP\/1.1 202 /);
  });
});

describe("a slow client", () => {
  it("gets 408 for incomplete headers, and is disconnected", async () => {
    const hub = await startInProcess({}, { requestTimeoutMs: 200 });
    const slow = openConnection(hub, "POST /webhooks/github HTTP/1.1\r\nHost: x\r\nX-");
    const ended = await slow.ended;
    expect(parseResponse(ended)).toEqual(rejection(408, "request_timeout"));
    expect(await countRejections(hub, "request_timeout")).toBe(1);
  });

  it("gets 408 for an incomplete body, also on a reused connection, and is disconnected", async () => {
    const hub = await startInProcess({}, { requestTimeoutMs: 200 });
    const slow = openConnection(hub, `${requestHead(contentLength)}\r\n${body}`);
    await expect.poll(slow.received).toContain("202");
    const firstLength = slow.received().length;
    slow.socket.write(`${requestHead(contentLength)}\r\n${body.slice(0, 10)}`);
    const ended = await slow.ended;
    expect(parseResponse(ended.slice(firstLength))).toEqual(rejection(408, "request_timeout"));
    expect(await countRejections(hub, "request_timeout", "github")).toBe(1);
    expect(await countRejections(hub, "body_incomplete", "github")).toBe(0);
  });

  it("gets 400 if it ends the connection before the end of the body", async () => {
    const hub = await startInProcess();
    const { socket, ended } = openConnection(
      hub,
      `${requestHead(contentLength)}\r\n${body.slice(0, 10)}`,
    );
    socket.end();
    expect(parseResponse(await ended)).toEqual(rejection(400, "body_incomplete"));
    expect(await countRejections(hub, "body_incomplete", "github")).toBe(1);
  });

  it("gets 100 Continue only if its headers are accepted", async () => {
    const hub = await startInProcess();
    const expectContinue = `Expect: 100-continue\r\n${contentLength}`;
    const accepted = openConnection(hub, `${requestHead(expectContinue)}\r\n`);
    await expect.poll(accepted.received).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    accepted.socket.write(body);
    await expect.poll(accepted.received).toContain("HTTP/1.1 202 ");
    const rejectedEarly = openConnection(
      hub,
      `${requestHead(expectContinue, "/webhooks/unknown")}\r\n`,
    );
    expect(parseResponse(await rejectedEarly.ended)).toEqual(rejection(404, "unknown_source"));
  });
});

describe("a rejected body", () => {
  it("is not read to its end: a client that keeps sending is disconnected", async () => {
    const hub = await startInProcess();
    for (const framing of ["Content-Length: 1000000000\r\n", "Transfer-Encoding: chunked\r\n"]) {
      const { socket, received, ended } = openConnection(
        hub,
        `${requestHead(framing, "/webhooks/unknown")}\r\n`,
      );
      const bytes = Buffer.alloc(16 * 1024, "x");
      const chunk = framing.startsWith("T")
        ? Buffer.concat([Buffer.from("4000\r\n"), bytes, Buffer.from("\r\n")])
        : bytes;
      let sent = 0;
      const send = () => {
        while (!socket.destroyed && socket.write(chunk)) sent += chunk.length;
      };
      socket.on("drain", send);
      send();
      await ended;
      expect(parseResponse(received())).toEqual(rejection(404, "unknown_source"));
      // Most of these bytes are in socket buffers, and the hub has not read them.
      expect(sent).toBeLessThan(16 * 1024 * 1024);
    }
    expect(await countRejections(hub, "unknown_source")).toBe(2);
  });

  it("is not read to its end from a slow client either", async () => {
    const hub = await startInProcess();
    const { socket, ended } = openConnection(
      hub,
      `${requestHead("Content-Length: 1000000000\r\n", "/webhooks/unknown")}\r\n`,
    );
    const trickle = setInterval(() => socket.write("x"), 20);
    onTestFinished(() => clearInterval(trickle));
    expect(parseResponse(await ended)).toEqual(rejection(404, "unknown_source"));
  });

  it("of up to a megabyte can be sent completely before the response is read", async () => {
    const hub = await startInProcess({}, { lingerMs: 10_000 });
    const size = 1024 * 1024 - 1024;
    const { socket, received } = openConnection(
      hub,
      `${requestHead(`Content-Length: ${size}\r\n`, "/webhooks/unknown")}\r\n`,
    );
    socket.pause();
    const sent = new Promise((resolve) => socket.write(Buffer.alloc(size, "x"), resolve));
    await sent;
    socket.resume();
    await once(socket, "end");
    expect(parseResponse(received())).toEqual(rejection(404, "unknown_source"));
  });

  it("that has arrived completely does not close the connection", async () => {
    const hub = await startInProcess();
    const { socket, received } = openConnection(
      hub,
      `${requestHead(contentLength, "/webhooks/unknown")}\r\n${body}`,
    );
    await expect.poll(received).toContain("404");
    socket.write(`${requestHead(contentLength)}\r\n${body}`);
    await expect.poll(received).toContain("202");
  });

  it("gets 503 if it exceeds the memory budget together with concurrent bodies", async () => {
    const hub = await startInProcess({}, { bodyBudgetBytes: 100_000 });
    const large = JSON.stringify({ ...issueOpened, filler: "x".repeat(90_000) });
    const first = openConnection(
      hub,
      `${requestHead(`Content-Length: ${large.length}\r\n`)}\r\n${large.slice(0, 80_000)}`,
    );
    await once(first.socket, "connect");
    await expect.poll(async () => (await deliver(hub.url, { body: large })).status).toBe(503);
    expect(await countRejections(hub, "busy", "github")).toBeGreaterThan(0);
    first.socket.destroy();
    await expect.poll(async () => (await deliver(hub.url, { body: large })).status).toBe(202);
  });
});

describe("a hub", () => {
  it("creates a valid admin token on the first start", async () => {
    const hub = await startInProcess();
    const token = await hub.store.findToken(await sha256Hex(hub.adminToken ?? ""));
    expect(token).toMatchObject({ scopes: ["admin"], tenants: ["*"], revoked_at: null });
    expect(token?.expires_at ?? Number.POSITIVE_INFINITY).toBeGreaterThan(Date.now());
  });

  it("creates the admin token after it listens, so that a failed start does not lose it", async () => {
    const data = tempFolder();
    const otherServer = createServer().listen(0, "127.0.0.1");
    await once(otherServer, "listening");
    onTestFinished(() => void otherServer.close());
    const PORT = String((otherServer.address() as AddressInfo).port);
    await expect(startInProcess({ SIGNALBOX_DATA: data, PORT })).rejects.toThrow(/is in use/);
    const hub = await startInProcess({ SIGNALBOX_DATA: data });
    expect(hub.adminToken).toMatch(/^sbx_/);
  });

  it("accepts webhooks only from GitHub's addresses by default if it is public", async () => {
    const hub = await startInProcess({
      SIGNALBOX_PUBLIC_URL: "https://hub.example",
      GITHUB_API_URL: "http://127.0.0.1:1",
    });
    const response = await deliver(hub.url);
    expect([response.status, await response.json()]).toEqual([
      403,
      expect.objectContaining({ code: "address_not_allowed" }),
    ]);
    const localHub = await startInProcess();
    expect((await deliver(localHub.url)).status).toBe(202);
  });

  it("reports at /api/hub whether it accepts unsigned webhooks", async () => {
    for (const secret of [SECRET, ""]) {
      const hub = await startInProcess({ GITHUB_WEBHOOK_SECRET: secret });
      expect(hub.acceptsUnsigned).toBe(secret === "");
      const headers = { authorization: `Bearer ${hub.adminToken}` };
      const info = await (await fetch(`${hub.url}/api/hub`, { headers })).json();
      expect(info).toMatchObject({ accepts_unsigned: hub.acceptsUnsigned });
    }
  });

  it("logs each rejection with reason, source and address, and concurrent rejections in one line", async () => {
    const hub = await startInProcess();
    await deliver(hub.url, { secret: "wrong" });
    const lines = () => hub.lines.filter(({ reason }) => reason === "signature_mismatch");
    await expect.poll(lines).toMatchObject([{ source: "github", address: "127.0.0.1" }]);
    await Promise.all(Array.from({ length: 50 }, () => deliver(hub.url, { secret: "wrong" })));
    const countLogged = () =>
      lines().reduce((sum, { count }) => sum + ((count as number | undefined) ?? 1), 0);
    await expect.poll(countLogged).toBe(51);
    for (const line of lines()) expect(line.address).toBe("127.0.0.1");
  });

  it("counts commits, and measures the time of stored events", async () => {
    const hub = await startInProcess();
    await deliver(hub.url);
    const text = await readMetrics(hub);
    expect(text).toMatch(/signalbox_commit_arrivals_count 1\n/);
    expect(text).toMatch(/signalbox_webhook_seconds_count\{outcome="stored"\} 1\n/);
    expect(text).toMatch(/source="github",outcome="stored",reason=""\} 1\n/);
  });
});

describe("retention", () => {
  const KEEP = { SIGNALBOX_KEEP_PROCESSED_DAYS: "3", SIGNALBOX_KEEP_PENDING_DAYS: "90" };
  const readSeqs = async (hub: RunningHub) =>
    (await hub.store.listEvents({ tenant: "local", limit: 10 })).items.map(({ seq }) => seq);

  it.each([
    ["expired", { ...KEEP, SIGNALBOX_KEEP_PENDING_DAYS: "0.0000001" }, [1]],
    ["processed", { ...KEEP, SIGNALBOX_KEEP_PROCESSED_DAYS: "0.0000001" }, [2]],
  ])("deletes only %s events", async (why, env, remaining) => {
    const data = tempFolder();
    const firstHub = await startInProcess({ ...KEEP, SIGNALBOX_DATA: data }, { sweepEveryMs: 20 });
    const { id } = (await (await deliver(firstHub.url)).json()) as { id: string };
    await deliver(firstHub.url);
    await firstHub.store.markProcessed("local", [id], Date.now(), null);
    expect(await readSeqs(firstHub)).toEqual([2, 1]);
    await firstHub.stop();

    const hub = await startInProcess({ ...env, SIGNALBOX_DATA: data }, { sweepEveryMs: 20 });
    await expect.poll(() => readSeqs(hub)).toEqual(remaining);
    expect(await readMetrics(hub)).toContain(`signalbox_swept_events_total{why="${why}"} 1\n`);
    const hasWarning = () => hub.lines.some(({ msg }) => msg.includes("pending events exceeded"));
    await expect.poll(hasWarning).toBe(why === "expired");
  });
});

describe("a hub that cannot write to its database", () => {
  it("responds while another process locks the database, and stores the event when it is unlocked", async () => {
    const hub = await startInProcess();
    const otherConnection = connectSqlite(`${hub.data}/signalbox.db`);
    onTestFinished(() => void otherConnection.close());
    otherConnection.exec("BEGIN IMMEDIATE");
    let isStored = false;
    const delivery = deliver(hub.url).then(({ status }) => {
      isStored = true;
      return status;
    });
    for (let count = 0; count < 50; count += 1)
      expect((await fetch(`${hub.url}/healthz`)).status).toBe(200);
    expect(isStored).toBe(false);
    otherConnection.exec("ROLLBACK");
    expect(await delivery).toBe(202);
  });

  it("is not ready while events cannot be stored, although a small write succeeds", async () => {
    const hub = await startInProcess();
    expect((await fetch(`${hub.url}/readyz`)).status).toBe(200);
    const otherConnection = connectSqlite(`${hub.data}/signalbox.db`);
    onTestFinished(() => void otherConnection.close());
    otherConnection.exec(
      "CREATE TRIGGER full BEFORE INSERT ON packs BEGIN SELECT RAISE(FAIL, 'disk full'); END",
    );
    // The store reports an error of a SQL trigger as a data error. Here it must count as an outage.
    hub.store.isDataError = () => false;
    expect((await deliver(hub.url)).status).toBe(503);
    const response = await fetch(`${hub.url}/readyz`);
    expect([response.status, await response.json()]).toEqual([
      503,
      expect.objectContaining({
        code: "storage_unavailable",
        detail: expect.stringContaining("disk full"),
      }),
    ]);
    otherConnection.exec("DROP TRIGGER full");
    expect((await deliver(hub.url)).status).toBe(202);
    expect((await fetch(`${hub.url}/readyz`)).status).toBe(200);
  });
});

describe("a stopping hub", () => {
  it("rejects requests on open connections, also at /readyz, and logs a rejected webhook", async () => {
    const hub = await startInProcess();
    const [busy, probe, late] = [1, 2, 3].map(() => openConnection(hub)) as [
      Connection,
      Connection,
      Connection,
    ];
    // Each connection has an incomplete request, so that stopping does not close it.
    busy.socket.write(`${requestHead(contentLength)}\r\n${body.slice(0, 10)}`);
    probe.socket.write("GET /readyz HTTP/1.1\r\n");
    late.socket.write(requestHead(contentLength));
    await deliver(hub.url);
    const stopped = hub.stop();
    probe.socket.write("Host: 127.0.0.1\r\n\r\n");
    expect(parseResponse(await probe.ended)).toMatchObject({ status: 503, code: "stopping" });
    late.socket.write(`\r\n${body}`);
    expect(parseResponse(await late.ended)).toEqual(rejection(503, "stopping"));
    busy.socket.write(body.slice(10));
    expect(await busy.ended).toMatch(/^HTTP\/1.1 202 /);
    await stopped;
    expect(hub.lines.filter(({ reason }) => reason === "stopping")).toMatchObject([
      { msg: "refused", address: "127.0.0.1" },
    ]);
  });

  it("disconnects slow clients, and stores the events of the others", async () => {
    // With the default time limit: a busy machine needs it to store the events before the hub stops.
    const hub = await startInProcess();
    const slow = openConnection(hub, `${requestHead(contentLength)}\r\n${body.slice(0, 10)}`);
    await deliver(hub.url);
    const otherConnection = connectSqlite(`${hub.data}/signalbox.db`);
    otherConnection.exec("BEGIN IMMEDIATE");
    const waiting = openConnection(hub, `${requestHead(contentLength)}\r\n${body}`);
    for (let count = 0; count < 3; count += 1) await fetch(`${hub.url}/healthz`);
    const stopped = hub.stop();
    await slow.ended;
    otherConnection.exec("ROLLBACK");
    otherConnection.close();
    await stopped;
    await waiting.ended;
    const store = openSqlite(storeDefinition, `${hub.data}/signalbox.db`);
    onTestFinished(() => store.close());
    expect(await store.pendingStatus("local")).toMatchObject({ pending_count: 2 });
  });

  it("stops with an error if the database does not respond in time", async () => {
    const database = new URL(await createDatabase(inject("postgresUrl")));
    const port = Number(database.port);
    const sockets = new Set<Socket>();
    const proxy = createServer((client) => {
      const upstream = connect(port, database.hostname);
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        sockets.add(from);
        from.on("error", () => {}).on("close", () => to.destroy());
        from.pipe(to);
      }
    }).listen(0, "127.0.0.1");
    await once(proxy, "listening");
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    });
    database.port = String((proxy.address() as AddressInfo).port);
    const hub = await startInProcess({ DATABASE_URL: database.href }, { stopTimeoutMs: 500 });
    expect((await deliver(hub.url)).status).toBe(202);
    for (const socket of sockets) socket.unpipe().pause();
    const pending = deliver(hub.url).catch(() => "disconnected");
    for (let count = 0; count < 3; count += 1) await fetch(`${hub.url}/healthz`);
    await expect(hub.stop()).rejects.toThrow(/in time/);
    expect(await pending).toBe("disconnected");
  });
});
