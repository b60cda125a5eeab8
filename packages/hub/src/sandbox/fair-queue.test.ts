import fc from "fast-check";
import { expect, test } from "vitest";
import { createFairQueue } from "./fair-queue.ts";

test("does not delay a key with one job behind a key with many jobs", () => {
  const queue = createFairQueue<string>();
  for (let index = 0; index < 1000; index++) queue.add("acme", `acme ${index}`);
  queue.add("umbrella", "umbrella 0");
  const order = Array.from({ length: 1001 }, () => queue.next());
  expect(order.slice(0, 4)).toEqual(["acme 0", "umbrella 0", "acme 1", "acme 2"]);
  expect(order.at(-1)).toBe("acme 999");
  expect(queue.next()).toBeUndefined();
});

test("takes the next job of one key, if it is wanted", () => {
  const queue = createFairQueue<string>();
  for (const job of ["a1", "a2", "b1"]) queue.add(job.slice(0, 1), job);
  expect(queue.nextOf("a", (job) => job !== "a1")).toBeUndefined();
  expect(queue.nextOf("none", () => true)).toBeUndefined();
  expect(queue.nextOf("a", () => true)).toBe("a1");
  expect([queue.next(), queue.next(), queue.next()]).toEqual(["a2", "b1", undefined]);
  expect(queue.nextOf("a", () => true)).toBeUndefined();
  queue.add("a", "a2");
  queue.add("a", "a1", "first");
  expect([queue.next(), queue.next()]).toEqual(["a1", "a2"]);
});

test("serves keys round robin and the jobs of a key in order, while jobs are added and removed", () => {
  const tenant = fc.constantFrom("a", "b", "c");
  const operations = fc.array(
    fc.oneof(
      { weight: 2, arbitrary: fc.record({ add: tenant }) },
      { weight: 1, arbitrary: fc.record({ remove: fc.nat(9) }) },
      { weight: 1, arbitrary: fc.constant({ next: true as const }) },
    ),
    { maxLength: 80, size: "max" },
  );
  fc.assert(
    fc.property(operations, (sequence) => {
      const queue = createFairQueue<object>();
      const added: { job: object; remove(): void }[] = [];
      // A simple model: the tenants in round-robin order, with their queued jobs.
      let model: { tenant: string; jobs: object[] }[] = [];
      const takeNext = () => {
        const [first, ...others] = model;
        expect(queue.next()).toBe(first?.jobs.shift());
        model = first?.jobs.length ? [...others, first] : others;
      };
      for (const operation of sequence) {
        if ("add" in operation) {
          const { add: tenant } = operation;
          const job = { tenant, index: added.length };
          added.push({ job, remove: queue.add(tenant, job) });
          const existing = model.find((entry) => entry.tenant === tenant);
          if (existing) existing.jobs.push(job);
          else model.push({ tenant, jobs: [job] });
        } else if ("remove" in operation) {
          // The job may have been removed or taken already.
          const removed = added.at(-1 - operation.remove);
          removed?.remove();
          for (const entry of model) entry.jobs = entry.jobs.filter((job) => job !== removed?.job);
        } else {
          takeNext();
        }
        model = model.filter(({ jobs }) => jobs.length > 0);
      }
      while (model.length > 0) takeNext();
      expect(queue.next()).toBeUndefined();
    }),
  );
});

test("returns the number of jobs by key", () => {
  const queue = createFairQueue<string>();
  const [remove] = ["a1", "a2", "b1"].map((job) => queue.add(job.slice(0, 1), job));
  expect([...queue.sizes()]).toEqual([
    ["a", 2],
    ["b", 1],
  ]);
  remove?.();
  queue.nextOf("b", () => true);
  expect([...queue.sizes()]).toEqual([["a", 1]]);
});
