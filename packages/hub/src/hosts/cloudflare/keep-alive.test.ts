import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { keepAlive } from "./client-connection.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const stream = (body: ReadableStream<Uint8Array>) =>
  new Response(body, { status: 202, headers: { "content-type": "text/event-stream" } });

it("sends comments on an event stream until it ends or its client has disconnected", async () => {
  let source!: ReadableStreamDefaultController<Uint8Array>;
  const open = () =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        source = controller;
      },
    });
  const response = keepAlive(stream(open()), new AbortController().signal);
  expect(response.status).toBe(202);
  const text = response.text();
  await vi.advanceTimersByTimeAsync(5_000);
  source.enqueue(new TextEncoder().encode("data: 1\n\n"));
  await vi.advanceTimersByTimeAsync(5_000);
  source.close();
  expect(await text).toBe(": keep-alive\n\ndata: 1\n\n: keep-alive\n\n");
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(0));

  const client = new AbortController();
  keepAlive(stream(open()), client.signal);
  expect(vi.getTimerCount()).toBe(1);
  client.abort();
  expect(vi.getTimerCount()).toBe(0);
});

it("does not change other responses", () => {
  const response = Response.json({});
  expect(keepAlive(response, new AbortController().signal)).toBe(response);
});
