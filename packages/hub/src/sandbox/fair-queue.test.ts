import fc from "fast-check";
import { expect, test } from "vitest";
import { createFairQueue } from "./fair-queue.ts";

test("who asks for one is not kept waiting by who asks for many", () => {
  const queue = createFairQueue<string>();
  for (let at = 0; at < 1000; at++) queue.add("acme", `acme ${at}`);
  queue.add("umbrella", "umbrella 0");
  const order = Array.from({ length: 1001 }, () => queue.next());
  expect(order.slice(0, 4)).toEqual(["acme 0", "umbrella 0", "acme 1", "acme 2"]);
  expect(order.at(-1)).toBe("acme 999");
  expect(queue.next()).toBeUndefined();
});

test("goes round, first in first out for each, whoever comes and goes", () => {
  const tenant = fc.constantFrom("a", "b", "c");
  const deeds = fc.array(
    fc.oneof(
      { weight: 2, arbitrary: fc.record({ add: tenant }) },
      { weight: 1, arbitrary: fc.record({ leave: fc.nat(9) }) },
      { weight: 1, arbitrary: fc.constant({ next: true as const }) },
    ),
    { maxLength: 80, size: "max" },
  );
  fc.assert(
    fc.property(deeds, (all) => {
      const queue = createFairQueue<object>();
      const leavers: { job: object; leave(): void }[] = [];
      // Tenants in the order of their turns, each with what waits; slow, and plain to see.
      let model: { tenant: string; jobs: object[] }[] = [];
      const takeNext = () => {
        const [first, ...others] = model;
        expect(queue.next()).toBe(first?.jobs.shift());
        model = first?.jobs.length ? [...others, first] : others;
      };
      for (const deed of all) {
        if ("add" in deed) {
          const job = { tenant: deed.add, at: leavers.length };
          leavers.push({ job, leave: queue.add(deed.add, job) });
          const own = model.find(({ tenant }) => tenant === deed.add);
          if (own) own.jobs.push(job);
          else model.push({ tenant: deed.add, jobs: [job] });
        } else if ("leave" in deed) {
          // Also of those that have left already, or have had their turn.
          const leaver = leavers.at(-1 - deed.leave);
          leaver?.leave();
          for (const one of model) one.jobs = one.jobs.filter((job) => job !== leaver?.job);
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
