import { expect, test } from "vitest";
import { measureByTenant } from "./queued-by-tenant.ts";

const measure = (flows: { tenant: string; queued: number; since: number }[]) =>
  measureByTenant({ measureQueues: async () => flows }, 1_000);

test("adds up the flows of a tenant, the tenant that has waited longest first", async () => {
  expect(
    await measure([
      { tenant: "a", queued: 2, since: 900 },
      { tenant: "b", queued: 1, since: 500 },
      { tenant: "a", queued: 3, since: 800 },
    ]),
  ).toEqual([
    { tenant: "b", queued: 1, oldestMs: 500 },
    { tenant: "a", queued: 5, oldestMs: 200 },
  ]);
});

test("counts the tenants after the first 20 together", async () => {
  const flows = Array.from({ length: 25 }, (_, index) => ({
    tenant: `t${index}`,
    queued: 1,
    since: index,
  }));
  const tenants = await measure(flows);
  expect(tenants).toHaveLength(21);
  expect(tenants[0]).toEqual({ tenant: "t0", queued: 1, oldestMs: 1_000 });
  expect(tenants.at(-1)).toEqual({ tenant: "other", queued: 5, oldestMs: 980 });
});
