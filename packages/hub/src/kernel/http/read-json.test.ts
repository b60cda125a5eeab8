import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RequestError } from "../lib/request-error.ts";
import { readJson, TOO_LARGE } from "./read-json.ts";

const stream = (...chunks: (string | Uint8Array)[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks)
        controller.enqueue(typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk);
      controller.close();
    },
  });

describe("a body", () => {
  it("is parsed from any number of chunks; an empty body is an empty object", async () => {
    const bytes = new TextEncoder().encode('{"a":"ü"}');
    expect(await readJson(stream(bytes.slice(0, 7), bytes.slice(7)))).toEqual({ a: "ü" });
    expect(await readJson(null)).toEqual({});
    expect(await readJson(stream())).toEqual({});
  });

  it("above the limit is read to its end but not buffered", async () => {
    const megabyte = "x".repeat(1024 * 1024);
    let chunks = 0;
    const large = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode(megabyte));
        if (++chunks === 3) controller.close();
      },
    });
    expect(await readJson(large)).toBe(TOO_LARGE);
    expect(chunks).toBe(3);
    const fits = JSON.stringify("x".repeat(1024 * 1024 - 2));
    expect(await readJson(stream(fits))).toHaveLength(fits.length - 2);
    expect(await readJson(stream(fits, " "))).toBe(TOO_LARGE);
  });

  it("that does not end is cancelled after a limit", async () => {
    let isCancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024)),
      cancel() {
        isCancelled = true;
      },
    });
    expect(await readJson(endless)).toBe(TOO_LARGE);
    expect(isCancelled).toBe(true);
  });

  it("with random bytes is parsed or rejected with a RequestError", async () => {
    const bytes = fc.oneof(
      fc.uint8Array(),
      fc.json().map((text) => new TextEncoder().encode(text)),
    );
    await fc.assert(
      fc.asyncProperty(bytes, async (body) => {
        try {
          await readJson(stream(body));
        } catch (error) {
          expect(error).toBeInstanceOf(RequestError);
        }
      }),
    );
  });
});
