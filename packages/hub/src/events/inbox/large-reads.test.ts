import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { expect, it } from "vitest";
import { createLargeReads } from "./large-reads.ts";

/** Two such payloads exceed the limit of a tenant, and three the limit of all tenants. */
const SIZE = 25 * 1024 * 1024;

/** `read` starts a read that ends when the test resolves or rejects its entry in `work`. */
function setUp(maxWaitMs?: number) {
  const largeReads = createLargeReads(maxWaitMs);
  const started: string[] = [];
  const work: PromiseWithResolvers<string>[] = [];
  return {
    started,
    work,
    read: (tenant: string, size = SIZE) =>
      largeReads({ tenant, size }, () => {
        started.push(tenant);
        const read = Promise.withResolvers<string>();
        work.push(read);
        return read.promise;
      }),
  };
}

it("counts large payloads towards the limits of the tenant and of all tenants until the work has settled", async () => {
  const { read, started, work } = setUp();
  const reads = ["acme", "acme", "umbrella", "wayne"].map((tenant) => read(tenant));
  const failed = expect(reads[0]).rejects.toThrow("disk");
  await expect.poll(() => started).toEqual(["acme", "umbrella"]);
  const small = read("acme", LARGE_BYTES);
  expect(started).toEqual(["acme", "umbrella", "acme"]);
  work[2]?.resolve("small");
  expect(await small).toBe("small");
  expect(started).toHaveLength(3);
  work[0]?.reject(new Error("disk"));
  await failed;
  await expect.poll(() => started.slice(3)).toEqual(["wayne"]);
  work[1]?.resolve("");
  await expect.poll(() => started.slice(4)).toEqual(["acme"]);
  for (const { resolve } of work) resolve("");
  await Promise.all(reads.slice(1));
});

it("rejects as busy a read that has waited too long, and does not start it later", async () => {
  const { read, started, work } = setUp(10);
  const first = read("acme");
  await expect(read("acme")).rejects.toMatchObject({ code: "busy", field: "payload" });
  work[0]?.resolve("");
  await first;
  expect(started).toEqual(["acme"]);
  const next = read("acme");
  await expect.poll(() => work.length).toBe(2);
  work[1]?.resolve("next");
  expect(await next).toBe("next");
});
