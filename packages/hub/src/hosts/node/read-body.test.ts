import type { IncomingMessage, ServerResponse } from "node:http";
import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { rejection } from "../../ingest/ingest-outcome.ts";
import { CUT_SHORT, createBodyReader } from "./read-body.ts";

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

it("gives back all pieces, in order", async () => {
  const { stream, body, isContinued } = open(createBodyReader(1_000));
  for (const piece of ["one ", "two ", "three"]) stream.write(piece);
  stream.end();
  expect(Buffer.from((await body) as Uint8Array).toString()).toBe("one two three");
  expect(isContinued()).toBe(false);
  const empty = open(createBodyReader(1_000));
  empty.stream.end();
  expect(await empty.body).toHaveLength(0);
});

it("asks for the body where the sender waits to be asked", async () => {
  const { stream, body, isContinued } = open(createBodyReader(1_000), {
    headers: { expect: "100-continue" },
  });
  expect(isContinued()).toBe(true);
  stream.end("x");
  expect(await body).toHaveLength(1);
});

it("takes what is exactly as large as it may be, and not a byte more", async () => {
  const readBody = createBodyReader(1_000);
  const fits = open(readBody);
  fits.stream.end("x".repeat(100));
  expect(await fits.body).toHaveLength(100);
  const over = open(readBody);
  over.stream.write("x".repeat(60));
  over.stream.write("x".repeat(41));
  expect(await over.body).toMatchObject({ reason: "body_too_large" });
});

it("refuses a length that is too large before it reads, or asks for, anything", async () => {
  const { body, isContinued } = open(createBodyReader(1_000), {
    headers: { "content-length": "101", expect: "100-continue" },
  });
  expect(await body).toMatchObject({ reason: "body_too_large" });
  expect(isContinued()).toBe(false);
});

it("lets all bodies together hold no more than the budget, and gives back what is done", async () => {
  const readBody = createBodyReader(150);
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

it("gives back what a broken connection held", async () => {
  const readBody = createBodyReader(100);
  const broken = open(readBody);
  broken.stream.write("x".repeat(90));
  await new Promise((resolve) => setImmediate(resolve));
  broken.stream.destroy();
  expect(await broken.body).toMatchObject({ reason: "body_incomplete" });
  const next = open(readBody);
  next.stream.end("x".repeat(100));
  expect(await next.body).toHaveLength(100);
});

it("ends with the reason for which a body is cut short", async () => {
  const { stream, body } = open(createBodyReader(100));
  stream.write("x");
  stream.emit(CUT_SHORT, rejection("request_timeout", "Too slow."));
  expect(await body).toMatchObject({ reason: "request_timeout" });
});
