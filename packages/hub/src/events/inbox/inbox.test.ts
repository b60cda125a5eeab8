import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { testRunJob } from "../../flows/test-run-job.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import type { Store } from "../../store.ts";
import { storeDefinition } from "../../store.ts";
import { appendRequest, sampleEvents } from "../store/contract/sample.ts";
import { createInbox } from "./inbox.ts";

/** Stores this number of events for each tenant. Returns a function that claims events, and returns their tenants. */
async function setUpClaims(counts: Record<string, number>, random = Math.random) {
  const store = openSqlite(storeDefinition, `${tempFolder()}/x.db`);
  onTestFinished(() => store.close());
  for (const [tenant, count] of Object.entries(counts))
    if (count > 0) await store.appendEvents([appendRequest(sampleEvents(count), tenant)], null);
  const inbox = createInbox({ store, now: Date.now, random, runJob: testRunJob });
  return async (limit: number) => {
    const claimed = await inbox.claim(Object.keys(counts), "ada", { limit, leaseMs: 60_000 });
    return claimed.map(({ tenant }) => tenant);
  };
}

it("claims an equal share of each tenant, and more of the others if a tenant has fewer events", async () => {
  const claim = await setUpClaims({ acme: 100, umbrella: 2, idle: 0 });
  expect((await claim(10)).sort()).toEqual([...Array(8).fill("acme"), "umbrella", "umbrella"]);
});

it("starts each claim with a random tenant", async () => {
  let random = 0;
  const claim = await setUpClaims({ acme: 100, umbrella: 100, idle: 0 }, () => random);
  expect(await claim(1)).toEqual(["acme"]);
  random = 0.5;
  expect(await claim(1)).toEqual(["umbrella"]);
  random = 0.999;
  expect(await claim(1)).toEqual(["acme"]);
});

it("claims all pending events if there are fewer than the limit", async () => {
  const claim = await setUpClaims({ acme: 3, umbrella: 5, idle: 0 });
  expect(await claim(100)).toHaveLength(8);
  expect(await claim(100)).toHaveLength(0);
});

it("returns the claimed events of all tenants in the order of arrival", async () => {
  const store = openSqlite(storeDefinition, `${tempFolder()}/x.db`);
  onTestFinished(() => store.close());
  const events = sampleEvents(6).map((event, index) => ({
    ...event,
    received_at: 1_000 + index,
  }));
  for (const [index, event] of events.entries())
    await store.appendEvents([appendRequest([event], index % 2 === 0 ? "acme" : "umbrella")], null);
  const inbox = createInbox({ store, now: Date.now, runJob: testRunJob });
  const claimed = await inbox.claim(["acme", "umbrella"], "ada", { limit: 6, leaseMs: 60_000 });
  expect(claimed.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
});

it("reserves bytes before it returns summaries", async () => {
  const store = openSqlite(storeDefinition, `${tempFolder()}/x.db`);
  onTestFinished(() => store.close());
  const title = "x".repeat(300);
  const events = sampleEvents(10).map((event) => ({ ...event, title }));
  await store.appendEvents([appendRequest(events)], null);
  const inbox = createInbox({ store, now: Date.now, runJob: testRunJob });
  const reserved: number[] = [];
  const reserveBytes = async (bytes: number) => void reserved.push(bytes);
  const listed = await inbox.listSummaries(["acme"], { limit: 100 }, reserveBytes);
  await inbox.search(["acme"], { limit: 100 }, reserveBytes);
  for (const bytes of reserved) expect(bytes).toBeGreaterThan(JSON.stringify(listed.events).length);
  expect(reserved).toHaveLength(2);
});

it("fills a page with matching events that are far apart in the log", async () => {
  const store = openSqlite(storeDefinition, `${tempFolder()}/x.db`);
  onTestFinished(() => store.close());
  const events = sampleEvents(10_600).map((event, index) => ({
    ...event,
    body: new Uint8Array(0),
    repo: index % 5_000 === 0 ? "acme/rare" : "acme/web",
  }));
  for (let start = 0; start < events.length; start += 1_060)
    await store.appendEvents([appendRequest(events.slice(start, start + 1_060), "acme")], null);
  const inbox = createInbox({ store, now: Date.now, runJob: testRunJob });
  const list = async (limit: number, cursor?: string) => {
    const filter = { limit, cursor, repo: "acme/rare", pending: true };
    const page = await inbox.listSummaries(["acme"], filter);
    return { ids: page.events.map(({ id }) => id), next: page.next_cursor };
  };
  const rare = [10_000, 5_000, 0].map((index) => events[index]?.id);
  expect(await list(5)).toEqual({ ids: rare, next: null });
  const { ids, next } = await list(2);
  expect(ids).toEqual(rare.slice(0, 2));
  expect(await list(2, next ?? "")).toEqual({ ids: rare.slice(2), next: null });

  // Each of the two scans reads 5,000 events.
  const filter = { limit: 5, repo: "acme/none", maxScans: 2 };
  const firstPage = await inbox.list(["acme"], filter);
  expect(firstPage).toEqual({ events: [], next_cursor: String(events.length - 10_000 + 1) });
  const cursor = firstPage.next_cursor ?? "";
  const secondPage = await inbox.list(["acme"], { ...filter, cursor });
  expect(secondPage).toEqual({ events: [], next_cursor: null });
});

it("counts the pending events of all tenants in total, and by type for the 1,000 most frequent types", async () => {
  const typesOf = (tenant: string) =>
    Object.fromEntries(
      Array.from({ length: 1_000 }, (_, index) => [`${tenant} ${index}`, index === 999 ? 7 : 1]),
    );
  const store = {
    pendingStatus: async (tenant: string) => ({
      pending_count: 1_006,
      latest_received_at: 0,
      types: { ...typesOf(tenant), push: 2 },
    }),
  } as unknown as Store;
  const inbox = createInbox({ store, now: Date.now, runJob: testRunJob });
  const { pending_count, types } = await inbox.status(["acme", "umbrella"]);
  expect(pending_count).toBe(2_012);
  expect(Object.keys(types)).toHaveLength(1_000);
  expect(types).toMatchObject({ "acme 999": 7, "umbrella 999": 7, push: 4 });
});
