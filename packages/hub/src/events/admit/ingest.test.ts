/** The checks of ingest, their order, and the ports that they call. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { testRunJob } from "../../flows/test-run-job.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import { rejection } from "../../kernel/http/ingest-outcome.ts";
import { createRateLimit, REQUESTS_PER_FAILURE } from "../../kernel/http/rate-limit.ts";
import type { JobRequest, RunJob } from "../../kernel/jobs/job.ts";
import { toBase64, utf8 } from "../../kernel/lib/bytes.ts";
import { type MakeHmacKey, webHmacKey } from "../../kernel/lib/hmac.ts";
import { createIds } from "../../kernel/lib/ids.ts";
import type { Store } from "../../store.ts";
import { storeDefinition } from "../../store.ts";
import { sources } from "../sources/index.ts";
import { signSample } from "../sources/signed-sample.ts";
import { createEndpoints } from "./endpoints.ts";
import { createIngest, type IngestOptions } from "./ingest.ts";
import type { WebhookToRead } from "./read-webhook.ts";
import type { IncomingRequest } from "./receive-request.ts";
import { makeSigningKey } from "./signatures.ts";
import type { SourceDefinition } from "./source.ts";

const START = Date.UTC(2026, 0, 5);
const SECRET = `whsec_${toBase64(utf8("a secret of thirty-two bytes, ok"))}`;
const OTHER_SECRET = `whsec_${toBase64(utf8("another one of thirty-two bytes!"))}`;
const KEY = "0123456789abcdefghi_-X";
const UNKNOWN_KEY = "x".repeat(22);

let folder: string;
let store: Store;
let now: number;
/** The ports that were called, in order. */
let calls: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-ingest-"));
  store = openSqlite(storeDefinition, join(folder, "hub.db"));
  now = START;
  calls = [];
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

interface TestOptions extends Partial<IngestOptions> {
  secrets?: Record<string, string[]>;
  tenant?: string | undefined;
  makeHmacKey?: MakeHmacKey;
}

function ingest({ secrets = { github: [SECRET] }, ...options }: TestOptions = {}) {
  return createIngest({
    endpoints: createEndpoints({
      sources,
      store: {
        findSource(key) {
          calls.push("look-up");
          return store.findSource(key);
        },
      },
      secrets,
      tenant: "tenant" in options ? options.tenant : "local",
      unseal: async (sealed) => sealed,
      makeHmacKey: options.makeHmacKey ?? webHmacKey,
      now: () => now,
    }),
    runJob: testRunJob,
    maxValues: 1_000_000,
    tenancy: undefined,
    isGithubAddress(address) {
      calls.push("address");
      return address !== "203.0.113.9";
    },
    rateLimit: {
      admit(address) {
        calls.push("rate");
        return address === "203.0.113.8" ? "rejected" : "admitted";
      },
      fail: () => void calls.push("fail"),
    },
    allowUnsigned: false,
    newId: createIds(),
    now: () => now,
    ...options,
  });
}

const sourceOf = (id: string) => sources.find((source) => source.id === id) as SourceDefinition;

interface Request extends Partial<Pick<IncomingRequest, "method" | "key" | "address" | "source">> {
  headers?: Record<string, string | undefined>;
  body?: Uint8Array;
}

function incoming({ headers = {}, body = utf8("{}"), ...fields }: Request = {}): IncomingRequest {
  return {
    method: "POST",
    source: "github",
    key: undefined,
    address: "203.0.113.7",
    header: (name) => (headers[name] === undefined ? [] : [headers[name]]),
    headerNames: () => Object.keys(headers),
    body() {
      calls.push("body");
      return body;
    },
    ...fields,
  };
}

async function signed(id: string, secret = SECRET, body?: JsonObject) {
  const source = sourceOf(id);
  const sample = source.sample("delivery-1", { now });
  if (!sample) throw new Error("no sample");
  const { headers, body: bytes } = await signSample(
    source,
    body ? { ...sample, body } : sample,
    secret,
    { now, id: "delivery-1" },
  );
  return { source: id, headers: { host: "127.0.0.1:4747", ...headers }, body: bytes };
}

async function addEndpoint(kind: string, secrets: [sealed: string, expires: number | null][]) {
  await store.putSource({
    id: "endpoint",
    tenant: "acme",
    kind,
    name: "",
    key: KEY,
    config: {},
    created_at: START,
  });
  for (const [at, [sealed, expires_at]] of secrets.entries())
    await store.addSourceSecret("endpoint", {
      id: `secret ${at}`,
      sealed,
      created_at: START + at,
      expires_at,
    });
}

describe("checks", () => {
  const json = { "content-type": "application/json" };
  it.each([
    ["an unknown source", { source: "unknown", key: UNKNOWN_KEY }, "unknown_source", []],
    [
      "an address outside the allowlist",
      { address: "203.0.113.9", key: UNKNOWN_KEY },
      "address_not_allowed",
      ["address"],
    ],
    [
      "an address above the rate limit",
      { address: "203.0.113.8", key: UNKNOWN_KEY },
      "rate_limited",
      ["address", "rate"],
    ],
    [
      "a key with an invalid format",
      { key: "nokey" },
      "unknown_source",
      ["address", "rate", "fail"],
    ],
    [
      "an unknown key",
      { key: UNKNOWN_KEY },
      "unknown_source",
      ["address", "rate", "look-up", "fail"],
    ],
    [
      "a method other than POST",
      { method: "PUT" },
      "method_not_allowed",
      ["address", "rate", "fail"],
    ],
    [
      "an unsupported content type",
      { headers: { "content-type": "text/plain" } },
      "unsupported_media_type",
      ["address", "rate", "fail"],
    ],
    [
      "a compressed body",
      { headers: { ...json, "content-encoding": "gzip" } },
      "unsupported_media_type",
      ["address", "rate", "fail"],
    ],
    [
      "a source without a secret",
      { source: "stripe", headers: json },
      "no_secret",
      ["rate", "fail"],
    ],
    ["an unsigned request", { headers: json }, "signature_missing", ["address", "rate", "fail"]],
    [
      "a forged request",
      { headers: { ...json, "x-hub-signature-256": `sha256=${"0".repeat(64)}` } },
      "signature_mismatch",
      ["address", "rate", "body", "fail"],
    ],
    [
      "a source without a secret, before its body is read and without a check of its address",
      { source: "stripe", address: "203.0.113.9", headers: json },
      "no_secret",
      ["rate", "fail"],
    ],
  ] as [string, Request, string, string[]][])("reject %s", async (_, request, reason, expected) => {
    expect(await ingest()(incoming(request))).toMatchObject({ outcome: "rejected", reason });
    expect(calls).toEqual(expected);
  });

  it("read the body once, after all other checks", async () => {
    expect(await ingest()(incoming(await signed("github")))).toMatchObject({ outcome: "accepted" });
    expect(calls).toEqual(["address", "rate", "body"]);
  });

  it("name an unsupported encoding and accept identity", async () => {
    const good = await signed("github");
    const encoded = (value: string) =>
      incoming({ ...good, headers: { ...good.headers, "content-encoding": value } });
    expect(await ingest()(encoded("br"))).toMatchObject({
      detail: expect.stringContaining('"br"'),
    });
    expect(await ingest()(encoded("Identity"))).toMatchObject({ outcome: "accepted" });
  });

  it("require an endpoint with a key on a hub with several tenants", async () => {
    const shared = ingest({ tenant: undefined });
    expect(await shared(incoming({ source: "stripe" }))).toMatchObject({
      reason: "unknown_source",
      detail: expect.stringContaining("signalbox source add stripe --tenant"),
    });
    expect(await shared(incoming({ source: "unknown" }))).toMatchObject({
      detail: expect.not.stringContaining("source add"),
    });
  });
});

describe("a hub that allows unsigned webhooks", () => {
  const open = () => ingest({ secrets: {}, allowUnsigned: true });
  const unsigned = async (headers: Record<string, string | undefined> = {}) => {
    const wire = await signed("standard-webhooks");
    const all = { ...wire.headers, "webhook-signature": undefined, ...headers };
    return incoming({ ...wire, headers: all });
  };

  it.each([
    { host: "localhost" },
    { host: "LOCALHOST:4747" },
    { host: "127.0.0.1" },
    { host: "127.8.8.8:80" },
    { host: "[::1]:4747" },
    { "sec-fetch-site": "none" },
    { "sec-fetch-site": "same-origin" },
  ])("accepts a request from this machine that no other web page has sent: %j", async (headers) => {
    expect(await open()(await unsigned(headers))).toMatchObject({ outcome: "accepted" });
  });

  it.each([
    { origin: "https://evil.example" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { "x-forwarded-for": "203.0.113.7" },
    { "x-forwarded-host": "hub.example" },
    { forwarded: "for=203.0.113.7" },
    { host: "evil.example" },
    { host: "evil.example:4747" },
    { host: "127.0.0.1.evil.example" },
    { host: "localhost.evil.example" },
    { host: "localhost@evil.example" },
    { host: "192.0.2.1:4747" },
    { host: "[2001:db8::1]:4747" },
    { host: "" },
    { host: undefined },
  ])("rejects a request from a browser or a tunnel: %j", async (headers) => {
    expect(await open()(await unsigned(headers))).toMatchObject({
      outcome: "rejected",
      reason: "browser_origin",
      detail: expect.stringContaining("STANDARD_WEBHOOKS_WEBHOOK_SECRET"),
    });
    expect(calls).toEqual(["rate", "fail"]);
  });

  it("rejects a second Host header", async () => {
    const request = await unsigned();
    const header = (name: string) =>
      name === "host" ? ["127.0.0.1", "evil.example"] : request.header(name);
    expect(await open()({ ...request, header })).toMatchObject({ reason: "browser_origin" });
  });

  it("accepts a signed request from any origin", async () => {
    const wire = await signed("github");
    const headers = { ...wire.headers, origin: "https://x.example", host: "hub.example" };
    const request = incoming({ ...wire, headers });
    expect(await ingest({ allowUnsigned: true })(request)).toMatchObject({ outcome: "accepted" });
  });
});

describe("secrets", () => {
  it("verify requests until they expire", async () => {
    await addEndpoint("github", [
      [SECRET, START + 1_000],
      [OTHER_SECRET, null],
    ]);
    const accept = ingest();
    const by = async (secret: string) =>
      accept(incoming({ ...(await signed("github", secret)), key: KEY }));
    expect(await by(SECRET)).toMatchObject({ outcome: "accepted" });
    now = START + 1_000;
    expect(await by(SECRET)).toMatchObject({ reason: "signature_mismatch" });
    expect(await by(OTHER_SECRET)).toMatchObject({ outcome: "accepted" });
  });

  it("reject the request if all have expired", async () => {
    await addEndpoint("github", [[SECRET, START]]);
    const accept = ingest({ allowUnsigned: true });
    expect(await accept(incoming({ ...(await signed("github")), key: KEY }))).toMatchObject({
      reason: "signature_mismatch",
    });
  });

  it.each([
    ["last", [SECRET, "the token"]],
    ["first", ["the token", SECRET]],
  ])("are all tried if the valid one is the %s", async (_, secrets) => {
    const accept = ingest({ secrets: { gitlab: secrets } });
    const wire = await signed("gitlab");
    // The signature has expired, but the token is valid.
    now = START + 3_600_000;
    const headers = { ...wire.headers, "x-gitlab-token": "the token" };
    expect(await accept(incoming({ ...wire, headers }))).toMatchObject({ outcome: "accepted" });
    const wrong = { ...wire.headers, "x-gitlab-token": "a guess" };
    expect(await accept(incoming({ ...wire, headers: wrong }))).toMatchObject({
      reason: "signature_expired",
    });
  });

  it("report a missing or expired time instead of the mismatch of another secret", async () => {
    const accept = ingest({ secrets: { linear: [OTHER_SECRET, SECRET, OTHER_SECRET] } });
    expect(await accept(incoming(await signed("linear", SECRET, { type: "Issue" })))).toMatchObject(
      {
        reason: "signature_malformed",
      },
    );
    const old = await signed("linear");
    now = START + 3_600_000;
    expect(await accept(incoming(old))).toMatchObject({ reason: "signature_expired" });
  });

  it.each(sources.map(({ id }) => [id]))(
    "are not stored with an event of %s, but its signature is",
    async (id) => {
      const source = sourceOf(id);
      const scheme = source.signature(source.config?.parse({}) ?? {});
      const accepted = await ingest({ secrets: { [id]: [SECRET] } })(incoming(await signed(id)));
      if (accepted.outcome !== "accepted") throw new Error(JSON.stringify(accepted));
      const [event] = accepted.appendRequest.events;
      if (!event) throw new Error("no event");
      const status = await scheme.verify(
        { header: (name) => event.headers[name], body: event.body, now: event.received_at },
        makeSigningKey(scheme, SECRET, webHmacKey),
      );
      // A token is the secret itself and is never stored.
      expect(status).toBe(scheme.covers === "body" ? "valid" : "missing");
      expect(JSON.stringify(event.headers)).not.toContain(SECRET);
    },
  );
});

describe("the rate limit", () => {
  const limited = (failuresPerWindow: number, options: TestOptions = {}) =>
    ingest({ rateLimit: createRateLimit({ failuresPerWindow, now: () => now }), ...options });
  const reasons = async (received: ReturnType<ReturnType<typeof ingest>>[]) =>
    (await Promise.all(received)).map((result) =>
      "reason" in result ? result.reason : result.outcome,
    );

  it("does not count signed requests as failures, even if their content is invalid", async () => {
    const receive = limited(2);
    const good = await signed("github");
    const noType = { ...good, headers: { ...good.headers, "x-github-event": undefined } };
    const sendMany = (request: Request) =>
      reasons(Array.from({ length: 50 }, () => receive(incoming(request))));
    expect(await sendMany(good)).toEqual(Array(50).fill("accepted"));
    expect(await sendMany(noType)).toEqual(Array(50).fill("missing_header"));
  });

  const forgeUntilSuspect = async (receive: ReturnType<typeof ingest>, failures: number) => {
    const forged = await signed("github", OTHER_SECRET);
    for (let sent = 0; sent < failures; sent += 1)
      expect(await receive(incoming(forged))).toMatchObject({ reason: "signature_mismatch" });
    calls = [];
  };

  it("above the failure limit, rejects requests that cannot be valid, without a query", async () => {
    const receive = limited(3);
    await forgeUntilSuspect(receive, 3);
    const good = await signed("github");
    const unsigned = { headers: { "content-type": "application/json" } };
    expect(await receive(incoming(unsigned))).toMatchObject({
      reason: "rate_limited",
      retryAfter: 1,
      detail: expect.stringContaining("signature check"),
    });
    expect(
      await reasons(
        [
          { ...good, method: "GET" },
          { ...good, headers: { ...good.headers, "content-type": "text/plain" } },
          { key: UNKNOWN_KEY },
          { ...good, key: "nokey" },
        ].map((request) => receive(incoming(request))),
      ),
    ).toEqual(Array(4).fill("rate_limited"));
    expect(calls).toEqual(Array(5).fill("address"));
    expect(await reasons([receive(incoming({ ...good, key: UNKNOWN_KEY }))])).toEqual([
      "rate_limited",
    ]);
    now += 2_000;
    expect(await receive(incoming(unsigned))).toMatchObject({ reason: "signature_missing" });
  });

  it("above the failure limit, accepts signed requests of the same address", async () => {
    await addEndpoint("generic", [[SECRET, null]]);
    const receive = limited(3);
    await forgeUntilSuspect(receive, 3);
    expect(await receive(incoming(await signed("github")))).toMatchObject({ outcome: "accepted" });
    const generic = await signed("generic");
    expect(await receive(incoming({ ...generic, key: KEY }))).toMatchObject({
      outcome: "accepted",
    });
    const forged = await signed("github", OTHER_SECRET);
    expect(await receive(incoming(forged))).toMatchObject({ reason: "signature_mismatch" });
  });

  it.each([
    ["a wrong method", { method: "GET" }],
    ["an invalid key", { key: "nokey" }],
    ["a missing signature", { headers: { "content-type": "application/json" } }],
  ] as [string, Request][])("accepts signed requests after many with %s", async (_, stray) => {
    const receive = limited(2);
    await Promise.all(Array.from({ length: 20 }, () => receive(incoming(stray))));
    expect(await receive(incoming(await signed("github")))).toMatchObject({
      outcome: "accepted",
    });
  });

  it("accepts every signed request among concurrent forged ones", async () => {
    const receive = limited(20);
    const good = await signed("github");
    const forged = await signed("github", OTHER_SECRET);
    const requests = Array.from({ length: 500 }, (_, index) => (index % 5 === 0 ? good : forged));
    for (let wave = 0; wave < 3; wave += 1)
      expect(await reasons(requests.map((request) => receive(incoming(request))))).toEqual(
        requests.map((request) => (request === good ? "accepted" : "signature_mismatch")),
      );
  });

  it("accepts unsigned requests from programs on this machine after failures of a browser", async () => {
    const receive = limited(2, { secrets: {}, allowUnsigned: true });
    const local = { host: "127.0.0.1:4747", "content-type": "application/json" };
    const good = { ...(await signed("github")) };
    const send = (headers: Record<string, string>) =>
      receive(incoming({ ...good, headers: { ...good.headers, ...headers } }));
    for (let sent = 0; sent < 2; sent += 1)
      expect(await send({ ...local, origin: "https://example.com" })).toMatchObject({
        reason: "browser_origin",
      });
    expect(await send({ ...local, origin: "https://example.com" })).toMatchObject({
      reason: "rate_limited",
    });
    expect(await send(local)).toMatchObject({ outcome: "accepted" });
  });

  it("limits the signatures that are computed for forged requests", async () => {
    let computed = 0;
    const makeHmacKey: MakeHmacKey = () => ({
      sign() {
        computed += 1;
        return new Uint8Array(32);
      },
    });
    const receive = limited(1, { makeHmacKey });
    const forged = await signed("github");
    const received = Array.from({ length: 150 }, () => receive(incoming(forged)));
    expect(await reasons(received)).toEqual([
      ...Array(REQUESTS_PER_FAILURE).fill("signature_mismatch"),
      ...Array(50).fill("rate_limited"),
    ]);
    expect(computed).toBe(REQUESTS_PER_FAILURE);
  });

  it("counts an incomplete or too large body as a failure, but not a rejection by a busy hub", async () => {
    const good = await signed("github");
    for (const [reason, next] of [
      ["body_incomplete", "rate_limited"],
      ["body_too_large", "rate_limited"],
      ["busy", "method_not_allowed"],
    ] as const) {
      const receive = limited(1);
      const rejected = { ...incoming(good), body: () => rejection(reason, "") };
      expect(await reasons([receive(rejected)])).toEqual([reason]);
      expect(await reasons([receive(incoming({ method: "GET" }))])).toEqual([next]);
    }
  });

  it("counts an old signed time as a failure", async () => {
    const receive = limited(1, { secrets: { linear: [SECRET] } });
    const old = await signed("linear");
    now += 3_600_000;
    expect(await receive(incoming(old))).toMatchObject({ reason: "signature_expired" });
    expect(await receive(incoming({ source: "linear" }))).toMatchObject({
      reason: "rate_limited",
    });
  });
});

describe("the headers of Svix", () => {
  const secrets = { "standard-webhooks": [SECRET] };
  const renamed = (headers: Record<string, string | undefined>) =>
    Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.replace(/^webhook-/, "svix-"), value]),
    );
  const receive = (wire: Request, headers: Record<string, string | undefined> = {}) =>
    ingest({ secrets })(incoming({ ...wire, headers: { ...wire.headers, ...headers } }));
  const svix = async () => {
    const wire = await signed("standard-webhooks");
    return { ...wire, headers: renamed(wire.headers) };
  };
  const externalId = async (accepted: ReturnType<typeof receive>) => {
    const result = await accepted;
    return result.outcome === "accepted" ? result.appendRequest.events[0]?.external_id : result;
  };

  it("are verified like those of Standard Webhooks", async () => {
    const wire = await svix();
    expect(await externalId(receive(wire))).toBe("delivery-1");
    const list = `v1,AAAA ${wire.headers["svix-signature"]}`;
    expect(await externalId(receive(wire, { "svix-signature": list }))).toBe("delivery-1");
    expect(await receive({ ...wire, body: utf8("{}") })).toMatchObject({
      reason: "signature_mismatch",
    });
    expect(await receive(wire, { "svix-id": "other" })).toMatchObject({
      reason: "signature_mismatch",
    });
    expect(await receive(wire, { "svix-timestamp": undefined })).toMatchObject({
      reason: "signature_missing",
      detail: expect.stringContaining("webhook-signature or svix-id"),
    });
    now = START + 301_000;
    expect(await receive(wire)).toMatchObject({ reason: "signature_expired" });
  });

  it("are ignored if the headers of Standard Webhooks are complete", async () => {
    const standard = await signed("standard-webhooks");
    const wire = await svix();
    expect(await externalId(receive(wire, standard.headers))).toBe("delivery-1");
    expect(await externalId(receive(standard, { "svix-signature": "v1,AAAA" }))).toBe("delivery-1");
    const forged = { ...standard.headers, "webhook-signature": "v1,AAAA" };
    expect(await receive(wire, forged)).toMatchObject({ reason: "signature_mismatch" });
  });

  it("do not let a replay change its delivery id", async () => {
    expect(await externalId(receive(await svix(), { "webhook-id": "new" }))).toBe("delivery-1");
  });

  it("are not read for GitLab, which uses only the standard headers", async () => {
    const wire = await signed("gitlab");
    const headers = { ...renamed(wire.headers), "webhook-id": "new" };
    const received = ingest({ secrets: { gitlab: [SECRET] } })(incoming({ ...wire, headers }));
    expect(await received).toMatchObject({ reason: "signature_missing" });
  });
});

describe("the quota", () => {
  const installation = {
    action: "created",
    installation: { id: 7, account: { id: 100, login: "acme" } },
  };
  const skipsQuota = async (
    type: string,
    body: JsonObject,
    options: TestOptions = {},
    key?: string,
  ) => {
    const wire = await signed("github", SECRET, body);
    const headers = { ...wire.headers, "x-github-event": type };
    const accepted = await ingest(options)(incoming({ ...wire, headers, key }));
    return accepted.outcome === "accepted" ? accepted.appendRequest.skipQuota : accepted;
  };

  it("does not apply to installation events, identified by header and body", async () => {
    expect(await skipsQuota("installation", installation)).toBe(true);
    expect(await skipsQuota("installation_repositories", installation)).toBe(true);
    expect(await skipsQuota("issues", installation)).toBe(false);
    expect(await skipsQuota("installation", { action: "opened", issue: {} })).toBe(false);
    expect(await skipsQuota("installation", { installation: { id: 7 } })).toBe(false);
  });

  it("applies to an endpoint with a key, whose tenant could forge installation events", async () => {
    await addEndpoint("github", [[SECRET, null]]);
    expect(await skipsQuota("installation", installation, {}, KEY)).toBe(false);
  });
});

describe("a large body", () => {
  const large = (id: string, body: JsonObject = {}) =>
    signed(id, SECRET, { ...sourceOf(id).sample("1", { now })?.body, ...body, long: LONG });
  const LONG = "x".repeat(LARGE_BYTES);
  const recordRequests = () => {
    const requests: (JobRequest & Partial<WebhookToRead>)[] = [];
    const callers: string[] = [];
    const runJob: RunJob = (request, caller) => {
      requests.push(request);
      callers.push(caller.tenant);
      return testRunJob(request, caller);
    };
    return { requests, callers, runJob };
  };

  it("is read by a job, after its signature was verified", async () => {
    const { requests, callers, runJob } = recordRequests();
    const request = await large("github");
    const admitted = await ingest({ runJob })(incoming(request));
    if (admitted.outcome !== "accepted") throw new Error(JSON.stringify(admitted));
    const { events, data } = admitted.appendRequest;
    expect(events).toMatchObject([{ type: "issues", repo: expect.any(String) }]);
    expect([events[0]?.body, data]).toEqual([request.body, undefined]);
    expect(requests).toMatchObject([{ job: "webhook", data: request.body }]);
    expect(callers).toEqual(["local"]);
    const forged = {
      ...request,
      headers: { ...request.headers, "x-hub-signature-256": "sha256=00" },
    };
    expect(await ingest({ runJob })(incoming(forged))).toMatchObject({ outcome: "rejected" });
    expect(requests).toHaveLength(1);
  });

  it.each([
    ["cloudevents", "authorization"],
    ["gitlab", "x-gitlab-token"],
  ])("of %s is read without the secret in its header", async (id, header) => {
    const { requests, runJob } = recordRequests();
    const request = await large(id);
    const headers = { ...request.headers, [header]: id === "gitlab" ? SECRET : `Bearer ${SECRET}` };
    const options = { runJob, secrets: { [id]: [SECRET] } };
    const sent = incoming({ ...request, headers: { ...headers, cookie: "a=b" } });
    expect(await ingest(options)(sent)).toMatchObject({ outcome: "accepted" });
    const [read] = requests;
    if (read?.job !== "webhook") throw new Error("not read by a job");
    const { data: _, ...webhook } = read;
    expect(Object.keys(webhook.headers ?? {})).toContain("content-type");
    expect(JSON.stringify(webhook)).not.toMatch(/whsec_|a=b/);
  });

  it("counts as a failure if its signed time is old, and is not accepted if the job fails", async () => {
    const old = await large("linear", { webhookTimestamp: START - 3_600_000 });
    expect(await ingest({ secrets: { linear: [SECRET] } })(incoming(old))).toMatchObject({
      reason: "signature_expired",
    });
    expect(calls).toContain("fail");
    const runJob: RunJob = () => Promise.reject(new Error("the worker has ended"));
    const request = incoming(await large("github"));
    await expect(ingest({ runJob })(request)).rejects.toThrow("the worker has ended");
  });
});

describe("errors in the body", () => {
  const linear = async (body: string) => {
    const wire = await signed("linear");
    const scheme = sourceOf("linear").signature({});
    const bytes = utf8(body);
    const signature = await scheme.sign(
      { body: bytes, now, id: "" },
      makeSigningKey(scheme, SECRET, webHmacKey),
    );
    return ingest({ secrets: { linear: [SECRET] } })(
      incoming({ ...wire, headers: { ...wire.headers, ...signature }, body: bytes }),
    );
  };

  it.each([
    ["", "empty_body"],
    ["hello", "invalid_json"],
    ["[]", "not_an_object"],
    ["null", "not_an_object"],
    ["{}", "signature_malformed"],
  ])("are reported for the body %j", async (body, reason) => {
    expect(await linear(body)).toMatchObject({ reason });
  });

  it("distinguish an invalid field from an invalid header", async () => {
    const long = "x".repeat(1_000);
    const stripe = async (fields: JsonObject) =>
      ingest({ secrets: { stripe: [SECRET] } })(incoming(await signed("stripe", SECRET, fields)));
    expect(await stripe({ id: long, type: "a" })).toMatchObject({ reason: "invalid_field" });
    expect(await stripe({ id: "1", type: long })).toMatchObject({ reason: "invalid_field" });
    expect(await stripe({ id: "1\n", type: "a" })).toMatchObject({ reason: "invalid_field" });
    const wire = await signed("github");
    for (const name of ["x-github-delivery", "x-github-event"])
      expect(
        await ingest()(incoming({ ...wire, headers: { ...wire.headers, [name]: long } })),
      ).toMatchObject({ reason: "invalid_header" });
  });
});
