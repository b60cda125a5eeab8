import { expect, it } from "vitest";
import type { EventRow } from "../../events/model.ts";
import { createSharedPayloads } from "./shared-payloads.ts";

const event = (id: string, size: number, tenant = "acme") => ({ id, size, tenant }) as EventRow;

it("caches the latest payloads up to the size limit, but always at least one", async () => {
  const reads: string[] = [];
  const { read } = createSharedPayloads(async ({ id }) => {
    reads.push(id);
    return id;
  }, 100);
  for (const [id, size] of [
    ["a", 60],
    ["b", 40],
    ["a", 60],
    ["c", 10], // evicts a
    ["b", 40],
    ["a", 60],
    ["d", 500],
    ["d", 500],
  ] as const)
    expect(await read(event(id, size))).toBe(id);
  expect(reads).toEqual(["a", "b", "c", "a", "d"]);
});

it("reads one payload per tenant at a time, and continues after a failed read", async () => {
  const reads: { id: string; done: PromiseWithResolvers<string> }[] = [];
  const { read } = createSharedPayloads(({ id }) => {
    const done = Promise.withResolvers<string>();
    reads.push({ id, done });
    return done.promise;
  });
  const expectReads = () => expect.poll(() => reads.map(({ id }) => id));
  const first = expect(read(event("a", 1))).rejects.toThrow("unreadable");
  const second = read(event("b", 1));
  await expectReads().toEqual(["a"]);
  reads[0]?.done.reject(new Error("unreadable"));
  await first;
  await expectReads().toEqual(["a", "b"]);
  reads[1]?.done.resolve("b");
  expect(await second).toBe("b");
  void read(event("a", 1));
  await expectReads().toEqual(["a", "b", "a"]);
});

it("does not delay the reads of one tenant by those of another", async () => {
  const slow = Promise.withResolvers<void>();
  const { read } = createSharedPayloads(async ({ id, tenant }) => {
    if (tenant === "acme") await slow.promise;
    return id;
  });
  const waiting = read(event("a", 1));
  expect(await read(event("b", 1, "umbrella"))).toBe("b");
  slow.resolve();
  expect(await waiting).toBe("a");
});
