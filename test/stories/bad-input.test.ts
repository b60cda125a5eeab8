/** Invalid requests get a 4xx problem document that names the problem, and nothing is stored. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LOCAL_TENANT } from "../../packages/hub/src/kernel/access/scopes.ts";
import { openSqlite } from "../../packages/hub/src/kernel/backends/sqlite.ts";
import type { Store } from "../../packages/hub/src/store.ts";
import { storeDefinition } from "../../packages/hub/src/store.ts";
import { deliver, issueOpened, rawExchange, SECRET, signature } from "../support/deliver.ts";
import { type HubProcess, startHubProcess } from "../support/hub-process.ts";

const data = mkdtempSync(join(tmpdir(), "signalbox-bad-"));
let hub: HubProcess;
let store: Store;
beforeAll(async () => {
  hub = await startHubProcess({ data, env: { GITHUB_WEBHOOK_SECRET: SECRET } });
  store = openSqlite(storeDefinition, join(data, "signalbox.db"));
});
afterAll(async () => {
  await hub.stop();
  await store.close();
  rmSync(data, { recursive: true, force: true });
});

/** Returns the number of stored events, read from the database. */
const storedCount = async () => (await store.getTenant(LOCAL_TENANT))?.seq;

async function expectRejection(
  responsePromise: Promise<Response>,
  status: number,
  code: string,
  detail: RegExp,
) {
  const before = await storedCount();
  const response = await responsePromise;
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  expect(await response.json()).toMatchObject({
    status,
    code,
    title: expect.any(String),
    type: `urn:signalbox:problem:${code}`,
    detail: expect.stringMatching(detail),
  });
  expect(response.status).toBe(status);
  expect(await storedCount()).toBe(before);
}

describe("the hub rejects", () => {
  it.each([
    ["an empty body", { body: "" }, 400, "empty_body", /no body/],
    ["a body that is not JSON", { body: "hello" }, 400, "invalid_json", /not valid JSON/],
    ["a body that is an array", { body: "[]" }, 400, "not_an_object", /an array/],
    ["a body that is null", { body: "null" }, 400, "not_an_object", /null/],
    ["a body that is a string", { body: '"x"' }, 400, "not_an_object", /a string/],
    [
      "a body with 100,000 levels of nesting",
      { body: `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}` },
      400,
      "too_deep",
      /128 levels/,
    ],
    [
      "a body with invalid UTF-8",
      { body: Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d) },
      400,
      "invalid_utf8",
      /UTF-8/,
    ],
    [
      "a wrong content type",
      { headers: { "content-type": "text/plain" } },
      415,
      "unsupported_media_type",
      /text\/plain/,
    ],
    [
      "a delivery id of 10,000 characters",
      { id: "x".repeat(10_000) },
      400,
      "invalid_header",
      /id is longer than/,
    ],
    [
      "an event type of 10,000 characters",
      { type: "x".repeat(10_000) },
      400,
      "invalid_header",
      /type is longer than/,
    ],
    [
      "a compressed body",
      { headers: { "content-encoding": "gzip" } },
      415,
      "unsupported_media_type",
      /encoded as "gzip"/,
    ],
    [
      "a signature that was made with another secret",
      { secret: "guess" },
      403,
      "signature_mismatch",
      /does not match the body/,
    ],
    [
      "a malformed signature",
      { headers: { "x-hub-signature-256": "sha256=zz" } },
      403,
      "signature_malformed",
      /does not have the format/,
    ],
    [
      "a SHA-1 signature",
      { headers: { "x-hub-signature-256": `sha1=${"0".repeat(40)}` } },
      403,
      "signature_malformed",
      /does not have the format/,
    ],
    [
      "a webhook of an unknown source",
      { path: "/webhooks/nobody" },
      404,
      "unknown_source",
      /webhooks\/nobody/,
    ],
    ["a malformed key", { path: "/webhooks/github/nokey" }, 404, "unknown_source", /key/],
    [
      "an unknown key",
      { path: `/webhooks/github/${"x".repeat(22)}` },
      404,
      "unknown_source",
      /key/,
    ],
    [
      "a source that has no secret",
      { path: "/webhooks/generic" },
      403,
      "no_secret",
      /GENERIC_WEBHOOK_SECRET/,
    ],
    [
      "a path with too many segments",
      { path: "/webhooks/github/a/b" },
      404,
      "unknown_source",
      /no webhook endpoint/,
    ],
    [
      "a path with an encoded ..",
      { path: "/webhooks/%2e%2e%2fgithub" },
      404,
      "unknown_source",
      /no webhook endpoint/,
    ],
    [
      "a form whose payload is not an object",
      { body: "payload=1", headers: { "content-type": "application/x-www-form-urlencoded" } },
      400,
      "not_an_object",
      /a number/,
    ],
    [
      "a form without the field payload",
      { body: "action=opened", headers: { "content-type": "application/x-www-form-urlencoded" } },
      400,
      "missing_field",
      /field payload/,
    ],
  ] as const)("%s", async (_, delivery, status, code, detail) => {
    await expectRejection(deliver(hub.url, delivery), status, code, detail);
  });

  it("a body of 30 MB, with and without Content-Length", async () => {
    const body = Buffer.alloc(30 * 1024 * 1024, 0x20);
    await expectRejection(deliver(hub.url, { body }), 413, "body_too_large", /26214400 bytes/);
    const stream = new ReadableStream({
      start(controller) {
        for (let sent = 0; sent < 30; sent += 1) controller.enqueue(new Uint8Array(1024 * 1024));
        controller.close();
      },
    });
    const chunked = fetch(`${hub.url}/webhooks/github`, {
      method: "POST",
      body: stream,
      duplex: "half",
      headers: {
        "content-type": "application/json",
        "x-github-event": "issues",
        "x-github-delivery": "big",
        "x-hub-signature-256": "sha256=00",
      },
    } as RequestInit);
    await expectRejection(chunked, 413, "body_too_large", /26214400 bytes/);
  });

  it.each(["x-github-event", "x-github-delivery", "x-hub-signature-256"])(
    "a webhook without %s",
    async (missing) => {
      const body = JSON.stringify(issueOpened);
      const headers: Record<string, string> = {
        "content-type": "application/json",
        "x-github-event": "issues",
        "x-github-delivery": "1",
        "x-hub-signature-256": signature(body),
      };
      delete headers[missing];
      const response = fetch(`${hub.url}/webhooks/github`, { method: "POST", body, headers });
      if (missing.includes("signature"))
        await expectRejection(response, 403, "signature_missing", /x-hub-signature-256/);
      else await expectRejection(response, 400, "missing_header", new RegExp(missing, "i"));
    },
  );

  it.each(["GET", "PUT", "DELETE"])("a %s request", async (method) => {
    const response = await fetch(`${hub.url}/webhooks/github`, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST");
    expect(await response.json()).toMatchObject({ code: "method_not_allowed" });
  });

  it.each([
    "X-GitHub-Delivery: other",
    "X-GitHub-Event: push",
    "X-Hub-Signature-256: sha256=00",
    "Content-Type: text/plain",
  ])("a second header %s", async (second) => {
    const body = JSON.stringify(issueOpened);
    const response = await rawExchange(
      hub.url,
      `POST /webhooks/github HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nX-GitHub-Event: issues\r\nX-GitHub-Delivery: twice\r\nX-Hub-Signature-256: ${signature(body)}\r\n${second}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    expect(response).toMatch(/^HTTP\/1.1 400 /);
    expect(response).toContain('"code":"duplicate_header"');
    expect(response.toLowerCase()).toContain(
      `the header ${second.split(":")[0]?.toLowerCase()} occurs more than once`,
    );
  });

  it.each([
    ["a text that is not HTTP", "hello there\r\n\r\n", /^HTTP\/1.1 400 .*"code":"invalid_http"/s],
    [
      "headers of 40 KB",
      `POST /webhooks/github HTTP/1.1\r\nHost: x\r\nX: ${"y".repeat(40_000)}\r\n\r\n`,
      /^HTTP\/1.1 431 .*"code":"headers_too_large"/s,
    ],
    [
      "a Content-Length that is not a number",
      "POST /webhooks/github HTTP/1.1\r\nHost: x\r\nContent-Length: ten\r\n\r\n",
      /^HTTP\/1.1 400 /,
    ],
    [
      "both Content-Length and chunked encoding",
      "POST /webhooks/github HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      /^HTTP\/1.1 400 /,
    ],
  ])("%s", async (_, bytes, expected) => {
    expect(await rawExchange(hub.url, bytes)).toMatch(expected);
  });
});

describe("after these requests the hub", () => {
  it("stores a valid webhook, detects a duplicate, and responds to a ping", async () => {
    expect(await storedCount()).toBe(0);
    const first = await deliver(hub.url, { id: "good" });
    expect(first.status).toBe(202);
    const { outcome, id } = (await first.json()) as { outcome: string; id: string };
    expect(outcome).toBe("stored");
    const second = await deliver(hub.url, { id: "good" });
    expect(second.status).toBe(200);
    expect(await second.json()).toEqual({ outcome: "duplicate", id });
    const ping = await deliver(hub.url, { type: "ping", body: '{"zen":"Design for failure."}' });
    expect([ping.status, await ping.json()]).toEqual([200, { outcome: "pong" }]);
    expect(await storedCount()).toBe(1);
    expect(await store.pendingStatus(LOCAL_TENANT)).toMatchObject({ pending_count: 1 });
  });

  it("has counted rejections by reason, and uses no text of a request as a label", async () => {
    const text = await (await fetch(`${hub.url}/metrics`)).text();
    expect(text).toMatch(
      /signalbox_webhooks_total\{source="github",outcome="refused",reason="signature_mismatch"\} 1/,
    );
    expect(text).toMatch(
      /signalbox_webhooks_total\{source="unknown",outcome="refused",reason="unknown_source"\}/,
    );
    expect(text).not.toContain("nobody");
  });
});
