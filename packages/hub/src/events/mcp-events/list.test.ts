import { describe, expect, it } from "vitest";
import { listEventTypes } from "./events-offer.ts";

type Types = Record<string, readonly string[]>;

/** Reads all pages after the declared types, of the types that each tenant has stored. */
async function listAll(typesByTenant: Types): Promise<string[]> {
  const store = {
    listEventTypes: async (tenant: string, after: string, limit: number) =>
      (typesByTenant[tenant] ?? [])
        .toSorted()
        .filter((type) => type > after)
        .slice(0, limit)
        .map((type) => ({ source: "lamp", type })),
  };
  const access = { tenants: Object.keys(typesByTenant) };
  const names: string[] = [];
  for (let cursor: string | undefined = "after:"; cursor !== undefined; ) {
    const page = await listEventTypes({ store } as never, access as never, { cursor });
    names.push(...page.events.map(({ name }) => name));
    cursor = page.nextCursor;
  }
  return names;
}

const numbered = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(3, "0")}`);

describe("events/list", () => {
  it.each<[string, Types]>([
    [
      "of tenants whose types fill more than one page together",
      { a: numbered("a", 60), b: numbered("b", 60) },
    ],
    [
      "of a tenant with several pages, beside a tenant with later types",
      { a: numbered("a", 250), b: ["z"] },
    ],
    ["of tenants with the same types", { a: numbered("a", 150), b: numbered("a", 150) }],
  ])("lists all types %s, sorted and each once", async (_, typesByTenant) => {
    const expected = [...new Set(Object.values(typesByTenant).flat())].sort();
    expect(await listAll(typesByTenant)).toEqual(expected.map((type) => `lamp.${type}`));
  });
});
