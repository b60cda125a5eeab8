import type { IncomingMessage, ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { createBodyBudget } from "../../ingest/body-budget.ts";
import { rejection } from "../../ingest/ingest-outcome.ts";
import { BODY_ABORTED, createBodyReader } from "./read-body.ts";

function open(
  readBody: ReturnType<typeof createBodyReader>,
  { limit = 100, headers = {} as Record<string, string> } = {},
) {
  const stream = new PassThrough();
  let continued = false;
  const response = {
    writeContinue: () => {
      continued = true;
    },
  };
  const body = readBody(
    stream as unknown as IncomingMessage,
    response as unknown as ServerResponse,
    (name) => (headers[name] === undefined ? [] : [headers[name]]),
    limit,
  );
  return { stream, body, isContinued: () => continued };
}

it("returns all chunks, in order", async () => {
  const { stream, body, isContinued } = open(createBodyReader(createBodyBudget(1_000)));
  for (const chunk of ["one ", "two ", "three"]) stream.write(chunk);
  stream.end();
  expect(Buffer.from((await body) as Uint8Array).toString()).toBe("one two three");
  expect(isContinued()).toBe(false);
  const empty = open(createBodyReader(createBodyBudget(1_000)));
  empty.stream.end();
  expect(await empty.body).toHaveLength(0);
});

it("sends 100 Continue to a client that expects it", async () => {
  const { stream, body, isContinued } = open(createBodyReader(createBodyBudget(1_000)), {
    headers: { expect: "100-continue" },
  });
  expect(isContinued()).toBe(true);
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
  const { body, isContinued } = open(createBodyReader(createBodyBudget(1_000)), {
    headers: { "content-length": "101", expect: "100-continue" },
  });
  expect(await body).toMatchObject({ reason: "body_too_large" });
  expect(isContinued()).toBe(false);
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
