import { expect, it } from "vitest";
import { createBatch } from "./batch.ts";

const contextOf = (signal = new AbortController().signal) => ({ mcpReq: { signal } }) as never;

it("handles one request at a time, in order, even after an error", async () => {
  const batch = createBatch();
  const log: string[] = [];
  const work = (name: string, error?: Error) => async () => {
    log.push(`${name} begins`);
    await new Promise((resolve) => setImmediate(resolve));
    log.push(`${name} ends`);
    if (error) throw error;
    return {};
  };
  const results = await Promise.allSettled([
    batch(contextOf(), work("a")),
    batch(contextOf(), work("b", new Error("wrong"))),
    batch(contextOf(), work("c")),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(log).toEqual(["a", "b", "c"].flatMap((name) => [`${name} begins`, `${name} ends`]));
});

it("rejects requests without handling them after the responses exceed the limit", async () => {
  const batch = createBatch(1_000);
  let handled = 0;
  const work = () => {
    handled += 1;
    return { text: "x".repeat(600) };
  };
  const results = await Promise.allSettled(
    Array.from({ length: 4 }, () => batch(contextOf(), work)),
  );
  expect(results.map(({ status }) => status)).toEqual([
    "fulfilled",
    "fulfilled",
    "rejected",
    "rejected",
  ]);
  expect(results[2]).toMatchObject({
    reason: { code: -32600, message: expect.stringMatching(/1000 bytes.*Send it without a batch/) },
  });
  expect(handled).toBe(2);
});

it("does not handle a request that was cancelled meanwhile", async () => {
  const batch = createBatch();
  const cancel = new AbortController();
  const first = batch(contextOf(), async () => {
    cancel.abort();
    return {};
  });
  let handled = false;
  const second = batch(contextOf(cancel.signal), () => {
    handled = true;
    return {};
  });
  await first;
  await expect(second).rejects.toMatchObject({ code: -32600 });
  expect(handled).toBe(false);
});
