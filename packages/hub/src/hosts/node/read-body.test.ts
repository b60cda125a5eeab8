import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { createBodyBudget } from "../../kernel/http/byte-budgets.ts";
import { rejection } from "../../kernel/http/ingest-outcome.ts";
import { BODY_ABORTED } from "./http-server.ts";
import { createBodyReader } from "./receive.ts";

function open(
  readBody: ReturnType<typeof createBodyReader>,
  { limit = 100, headers = {} as Record<string, string> } = {},
) {
  const stream = new PassThrough();
  let hasSentContinue = false;
  const response = Object.assign(new EventEmitter(), {
    destroyed: false,
    writeContinue: () => {
      hasSentContinue = true;
    },
  });
  let release: (() => void) | undefined;
  const body = readBody(
    stream as unknown as IncomingMessage,
    response as unknown as ServerResponse,
    (name) => (headers[name] === undefined ? [] : [headers[name]]),
    limit,
    (releaseBody) => {
      release = releaseBody;
    },
  );
  return {
    stream,
    body,
    response,
    release: () => release?.(),
    sentContinue: () => hasSentContinue,
  };
}

it("returns all chunks, in order", async () => {
  const { stream, body, sentContinue } = open(createBodyReader(createBodyBudget(1_000)));
  for (const chunk of ["one ", "two ", "three"]) stream.write(chunk);
  stream.end();
  expect(Buffer.from((await body) as Uint8Array).toString()).toBe("one two three");
  expect(sentContinue()).toBe(false);
  const empty = open(createBodyReader(createBodyBudget(1_000)));
  empty.stream.end();
  expect(await empty.body).toHaveLength(0);
});

it("sends 100 Continue to a client that expects it", async () => {
  const { stream, body, sentContinue } = open(createBodyReader(createBodyBudget(1_000)), {
    headers: { expect: "100-continue" },
  });
  expect(sentContinue()).toBe(true);
  stream.end("x");
  expect(await body).toHaveLength(1);
});

it("accepts a body of exactly the limit, and rejects one byte more", async () => {
  const readBody = createBodyReader(createBodyBudget(1_000));
  const fits = open(readBody);
  fits.stream.end("x".repeat(100));
  expect(await fits.body).toHaveLength(100);
  const over = open(readBody);
  over.stream.write("x".repeat(60));
  over.stream.write("x".repeat(41));
  expect(await over.body).toMatchObject({ reason: "body_too_large" });
});

it("rejects a Content-Length above the limit before it reads the body or sends 100 Continue", async () => {
  const { body, sentContinue } = open(createBodyReader(createBodyBudget(1_000)), {
    headers: { "content-length": "101", expect: "100-continue" },
  });
  expect(await body).toMatchObject({ reason: "body_too_large" });
  expect(sentContinue()).toBe(false);
});

it("rejects bodies above the shared budget, and releases the bytes of finished ones", async () => {
  const readBody = createBodyReader(createBodyBudget(150));
  const first = open(readBody);
  first.stream.write("x".repeat(90));
  await new Promise((resolve) => setImmediate(resolve));
  const second = open(readBody);
  second.stream.write("x".repeat(61));
  expect(await second.body).toMatchObject({ reason: "busy", retryAfter: 1 });
  first.stream.end();
  expect(await first.body).toHaveLength(90);
  const third = open(readBody, { limit: 200 });
  third.stream.end("x".repeat(150));
  expect(await third.body).toHaveLength(150);
});

it("releases the bytes of a broken connection", async () => {
  const readBody = createBodyReader(createBodyBudget(100));
  const broken = open(readBody);
  broken.stream.write("x".repeat(90));
  await new Promise((resolve) => setImmediate(resolve));
  broken.stream.destroy();
  expect(await broken.body).toMatchObject({ reason: "body_incomplete" });
  const next = open(readBody);
  next.stream.end("x".repeat(100));
  expect(await next.body).toHaveLength(100);
});

it("returns the rejection of an aborted body", async () => {
  const { stream, body } = open(createBodyReader(createBodyBudget(100)));
  stream.write("x");
  stream.emit(BODY_ABORTED, rejection("request_timeout", "Too slow."));
  expect(await body).toMatchObject({ reason: "request_timeout" });
});

it("joins large bodies, whatever their chunks and their announced length", async () => {
  const readBody = createBodyReader(createBodyBudget(10_000_000));
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, at) => at % 251));
  for (const headers of [{}, { "content-length": "300000" }]) {
    const { stream, body } = open(readBody, { limit: 1_000_000, headers });
    for (let at = 0; at < bytes.length; at += 70_001) stream.write(bytes.subarray(at, at + 70_001));
    stream.end();
    expect(bytes.equals((await body) as Uint8Array)).toBe(true);
  }
});

const afterData = () => new Promise((resolve) => setImmediate(resolve));

it("keeps the bytes of a large body reserved until it was processed, even if its sender disconnects", async () => {
  const budget = createBodyBudget(200_000);
  const readBody = createBodyReader(budget);
  const { stream, body, response, release } = open(readBody, { limit: 200_000 });
  stream.end("x".repeat(150_000));
  expect(await body).toHaveLength(150_000);
  response.emit("close");
  expect(budget.reserve(60_000, 0)).toMatchObject({ reason: "busy" });
  release();
  expect(budget.reserve(200_000, 0)).toBeUndefined();
});

it("releases the bytes of a rejected body", async () => {
  const budget = createBodyBudget(150_000);
  const readBody = createBodyReader(budget);
  const { stream, body } = open(readBody, { limit: 1_000_000 });
  stream.write("x".repeat(100_000));
  await afterData();
  stream.write("x".repeat(100_000));
  expect(await body).toMatchObject({ reason: "busy" });
  expect(budget.reserve(150_000, 0)).toBeUndefined();
});

it("keeps a part of the budget for small bodies", () => {
  const budget = createBodyBudget(8_000_000);
  expect(budget.reserve(7_000_000, 0)).toBeUndefined();
  expect(budget.reserve(300_000, 0)).toMatchObject({ reason: "busy" });
  expect(budget.reserve(100_000, 300_000)).toMatchObject({ reason: "busy" });
  expect(budget.reserve(200_000, 0)).toBeUndefined();
});

it("takes memory for the bytes that have arrived, not for the announced length", async () => {
  const readBody = createBodyReader(createBodyBudget(1_000_000_000));
  const before = process.memoryUsage().arrayBuffers;
  const opened = Array.from({ length: 50 }, () =>
    open(readBody, { limit: 25_000_000, headers: { "content-length": "25000000" } }),
  );
  for (const { stream } of opened) stream.write(Buffer.alloc(1_000));
  await afterData();
  for (const { stream } of opened) stream.write(Buffer.alloc(1_000));
  await afterData();
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(5_000_000);
  for (const { stream } of opened) stream.destroy();
});
