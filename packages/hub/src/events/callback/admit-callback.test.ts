/** The checks of callbacks, their order, and the event that they return. */
import { describe, expect, it } from "vitest";
import { testRunJob } from "../../flows/test-run-job.ts";
import { isRejection, rejection, toAnswer } from "../../kernel/http/ingest-outcome.ts";
import { createRateLimit, REQUESTS_PER_FAILURE, UNLIMITED } from "../../kernel/http/rate-limit.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import type { CallbackRequest } from "../admit/receive-request.ts";
import { type AdmitCallbackOptions, createAdmitCallback } from "./admit-callback.ts";
import type { CallbackToken } from "./callback-token-cache.ts";

const TOKEN: CallbackToken = {
  hash: "hash",
  tenant: "acme",
  connection: "weather-7kq2xv",
  subscription: "subscription-1",
  expires_at: null,
  isGone: false,
};
const TOKENS: Record<string, CallbackToken> = {
  known: TOKEN,
  gone: { ...TOKEN, hash: "gone", isGone: true },
};

interface TestCallback {
  token?: string | null;
  body?: unknown;
  headers?: Record<string, string | string[]>;
  request?: Partial<CallbackRequest>;
}

function setUp(options: Partial<AdmitCallbackOptions> = {}) {
  const calls: string[] = [];
  const admit = createAdmitCallback({
    callbackTokens: {
      find(secret) {
        calls.push("token");
        return TOKENS[secret];
      },
    },
    rateLimit: {
      admit() {
        calls.push("address");
        return "admitted";
      },
      fail: () => void calls.push("fail"),
    },
    tokenRateLimit: {
      admit(hash) {
        calls.push(`rate of ${hash}`);
        return "admitted";
      },
      fail: () => {},
    },
    runJob: testRunJob,
    newId: () => "id-1",
    now: () => 1_000,
    ...options,
  });
  const send = ({
    token = "known",
    body = { type: "sun" },
    headers = {},
    request,
  }: TestCallback = {}) => {
    const allHeaders: Record<string, string | string[]> = {
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...headers,
    };
    return admit({
      method: "POST",
      address: "203.0.113.7",
      header: (name) => [allHeaders[name] ?? []].flat(),
      body() {
        calls.push("body");
        return utf8(typeof body === "string" ? body : JSON.stringify(body));
      },
      ...request,
    });
  };
  const event = async (callback: TestCallback) => {
    const admitted = await send(callback);
    if (admitted.outcome !== "accepted") throw new Error(admitted.detail);
    return admitted.appendRequest.events[0];
  };
  return { send, event, calls };
}

it("returns an event with the connection as its source and data as its payload", async () => {
  const { send, calls } = setUp();
  const data = { title: "Sunny", url: "https://weather.test/1", action: "rise", repo: "sky/blue" };
  const body = { type: "sun", data, id: "7", timestamp: "2026-01-05T09:30:00Z" };
  expect(await send({ body })).toEqual({
    outcome: "accepted",
    emptyResponse: false,
    callback: { type: "sun" },
    appendRequest: {
      tenant: "acme",
      data: [data],
      events: [
        {
          id: "id-1",
          source: "weather-7kq2xv",
          source_id: "weather-7kq2xv",
          external_id: "7",
          type: "sun",
          received_at: 1_000,
          action: "rise",
          repo: "sky/blue",
          sender: null,
          number: null,
          title: "Sunny",
          url: "https://weather.test/1",
          check_result: null,
          content_type: "application/json",
          headers: {
            "signalbox-subscription": "subscription-1",
            "signalbox-timestamp": "2026-01-05T09:30:00Z",
          },
          body: utf8(JSON.stringify(data)),
        },
      ],
    },
  });
  expect(calls).toEqual(["address", "body", "token", "rate of hash"]);
});

it.each([
  [{ repo: { full_name: "a/b" } }, "a/b"],
  [{ repository: "a/b" }, "a/b"],
  [{ repository: { full_name: "a/b" } }, "a/b"],
  [{ repo: 7 }, null],
])("reads the repository of %j", async (data, repo) => {
  expect(await setUp().event({ body: { type: "x", data } })).toMatchObject({ repo });
});

describe("the id", () => {
  const headers = { "idempotency-key": "key", "webhook-id": "webhook" };
  it.each([
    ["the field id", { id: "field" }, headers, "field"],
    ["Idempotency-Key", {}, headers, "key"],
    ["Idempotency-Key, if the field is empty", { id: "" }, headers, "key"],
    ["webhook-id", {}, { "webhook-id": "webhook" }, "webhook"],
    ["nothing, if there is none", {}, {}, null],
  ])("is taken from %s", async (_, fields, headers, expected) => {
    const { event } = setUp();
    expect(await event({ body: { type: "x", ...fields }, headers })).toMatchObject({
      external_id: expected,
    });
  });

  it.each([
    ["is too long", "k".repeat(501), "invalid_header"],
    ["has control characters", "a\u0001", "invalid_header"],
    ["is repeated", ["a", "b"], "duplicate_header"],
  ])("is rejected if its header %s", async (_, value, reason) => {
    const { send } = setUp();
    expect(await send({ headers: { "webhook-id": value } })).toMatchObject({ reason });
  });
});

describe("the checks, in their order", () => {
  const tooLarge = rejection("body_too_large", "too large");
  const cases: [string, TestCallback, number, string[]][] = [
    ["another method", { request: { method: "GET" }, token: null }, 405, []],
    [
      "a body above the limit",
      { request: { body: () => tooLarge }, token: null },
      413,
      ["address", "fail"],
    ],
    ["no token", { token: null, body: "{" }, 401, ["address", "body", "fail"]],
    [
      "two tokens",
      { headers: { authorization: ["Bearer known", "Bearer known"] } },
      401,
      ["address", "body", "fail"],
    ],
    [
      "another scheme",
      { headers: { authorization: "Basic a25vd24=" } },
      401,
      ["address", "body", "fail"],
    ],
    ["an unknown token", { token: "?", body: "{" }, 401, ["address", "body", "token", "fail"]],
    ["a body without type", { token: "gone", body: {} }, 400, ["address", "body", "token"]],
    [
      "a compressed body",
      { headers: { "content-encoding": "gzip" } },
      415,
      ["address", "body", "token"],
    ],
    ["a token of a removed trigger", { token: "gone" }, 410, ["address", "body", "token"]],
  ];
  it.each(cases)("reject %s", async (_, callback, status, expected) => {
    const { send, calls } = setUp();
    const rejected = await send(callback);
    if (!isRejection(rejected)) throw new Error("accepted");
    const answer = toAnswer(rejected);
    const { headers } = answer;
    expect(answer.status).toBe(status);
    expect(calls).toEqual(expected);
    expect("www-authenticate" in headers).toBe(status === 401);
    expect(headers.allow).toBe(status === 405 ? "POST" : undefined);
  });

  it("read at most 1 MiB of the body", async () => {
    const limits: number[] = [];
    await setUp().send({
      request: {
        body(limit) {
          limits.push(limit);
          return utf8('{"type":"x"}');
        },
      },
    });
    expect(limits).toEqual([1024 * 1024]);
  });

  it("do not count a failure of the client if the hub is busy", async () => {
    const { send, calls } = setUp();
    const request = { body: () => rejection("busy", "busy") };
    expect(await send({ request })).toMatchObject({ reason: "busy" });
    expect(calls).toEqual(["address"]);
  });
});

it("names the limit if the token is too long, and does not look it up", async () => {
  const { send, calls } = setUp();
  expect(await send({ token: "x".repeat(513) })).toMatchObject({
    reason: "token_unknown",
    detail: "The token exceeds the limit of 512 characters.",
  });
  expect(calls).not.toContain("token");
});

describe("the rate limits", () => {
  const limit = () => createRateLimit({ failuresPerWindow: 2, now: () => 1_000 });

  it("apply to failures per address, but not to valid tokens", async () => {
    const { send } = setUp({ rateLimit: limit() });
    const reasons = [];
    for (const token of ["?", "?", "?", null]) reasons.push(await send({ token }));
    expect(reasons).toMatchObject([
      { reason: "token_unknown" },
      { reason: "token_unknown" },
      { reason: "rate_limited", retryAfter: 1 },
      { reason: "rate_limited" },
    ]);
    expect(await send()).toMatchObject({ outcome: "accepted" });
  });

  it("apply to callbacks per token, with Retry-After", async () => {
    const { send } = setUp({ rateLimit: UNLIMITED, tokenRateLimit: limit() });
    for (let at = 0; at < 2 * REQUESTS_PER_FAILURE; at += 1)
      expect((await send()).outcome).toBe("accepted");
    expect(await send()).toMatchObject({ reason: "rate_limited", retryAfter: 1 });
    expect(await send({ token: "gone" })).toMatchObject({ reason: "token_gone" });
  });

  it("apply to all requests per address", async () => {
    const { send } = setUp({ rateLimit: limit() });
    for (let at = 0; at < 2 * REQUESTS_PER_FAILURE; at += 1) await send();
    expect(await send()).toMatchObject({ reason: "rate_limited", retryAfter: 1 });
  });
});
