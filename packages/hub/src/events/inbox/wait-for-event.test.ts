import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { testRunJob } from "../../flows/test-run-job.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { storeDefinition } from "../../store.ts";
import { createFeed } from "../live/feed.ts";
import type { EventRow } from "../model.ts";
import { appendRequest, sampleEvent } from "../store/contract/sample.ts";
import { createInbox } from "./inbox.ts";
import { createLargeReads } from "./large-reads.ts";
import { createWaits, type Wait, type WaitsOptions } from "./wait-for-event.ts";

const utf8 = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const largeReads = createLargeReads();
const numbered = (number: number) => sampleEvent({ number, body: utf8({ number }) });

async function setup(options: Partial<WaitsOptions> = {}) {
  const store = openSqlite(storeDefinition, `${tempFolder()}/x.db`);
  onTestFinished(() => store.close());
  const inbox = createInbox({ store, now: Date.now, runJob: testRunJob });
  const feed = createFeed(store);
  onTestFinished(feed.close);
  const reads: number[] = [];
  let reading = 0;
  let maxReading = 0;
  const openPayload = async (event: EventRow) => {
    reads.push(event.seq);
    reading += 1;
    maxReading = Math.max(maxReading, reading);
    await new Promise((resolve) => setImmediate(resolve));
    reading -= 1;
    return inbox.openPayload(event);
  };
  let followerCount = 0;
  const waits = createWaits({
    inbox: { openPayload, largeReads },
    feed: {
      async follow(request) {
        const follower = await feed.follow(request);
        followerCount += 1;
        return follower;
      },
    },
    authorizer: { recheck: async () => true, watch: () => () => {} },
    ...options,
  });
  onTestFinished(waits.close);
  const wait = (overrides: Partial<Wait> = {}, token = "ada", tenants = ["acme"]) =>
    waits.wait({
      timeoutMs: 20_000,
      access: { token, name: token, scopes: ["inbox:read"], tenants },
      signal: new AbortController().signal,
      progress() {},
      ...overrides,
    });
  return {
    waits,
    wait,
    reads,
    maxReading: () => maxReading,
    expectFollowers: (count: number) => expect.poll(() => followerCount).toBe(count),
    append: (numbers: number[], tenant = "acme") =>
      store.appendEvents([appendRequest(numbers.map(numbered), tenant)], null),
  };
}

it("returns the first matching event, and reads each payload once for all waits", async () => {
  const { wait, expectFollowers, append, reads, maxReading } = await setup();
  const waiting = Array.from({ length: 50 }, () => wait({ filter: { number: 7 } }));
  await expectFollowers(50);
  await append([1, 2, 3, 4]);
  await append([5, 6, 7, 7, 8]);
  for (const event of await Promise.all(waiting)) expect(event).toMatchObject({ seq: 7 });
  expect(reads).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(maxReading()).toBe(1);
});

it("reads no further payloads after the wait has ended", async () => {
  const { wait, expectFollowers, append, reads } = await setup();
  const client = new AbortController();
  const aborted = wait({ filter: { number: 100 }, signal: client.signal });
  await expectFollowers(1);
  await append(Array.from({ length: 50 }, (_, at) => at));
  await expect.poll(() => reads.length).toBeGreaterThan(0);
  client.abort();
  expect(await aborted).toBeUndefined();
  const before = reads.length;
  const next = wait({ filter: { number: 1 } });
  await expectFollowers(2);
  await append([1]);
  await next;
  expect(reads.length).toBeLessThanOrEqual(before + 1);
});

it("finds the event of one tenant without waiting for a busy tenant", async () => {
  const { wait, expectFollowers, append } = await setup();
  const waiting = wait({ filter: { number: 7 } }, "ada", ["acme", "umbrella"]);
  await expectFollowers(2);
  await append([...Array(500).fill(1), 7]);
  await append([7], "umbrella");
  expect(await waiting).toMatchObject({ tenant: "umbrella" });
});

it("ends immediately if the client has already disconnected", async () => {
  const { wait } = await setup();
  expect(await wait({ signal: AbortSignal.abort() })).toBeUndefined();
});

it("limits the concurrent waits of each token", async () => {
  const { wait, expectFollowers, append } = await setup({ maxPerToken: 2 });
  const waiting = [wait(), wait(), wait({}, "bob")];
  await expect(wait()).rejects.toMatchObject({
    code: "busy",
    field: "wait_for_event",
    message: expect.stringContaining("has 2 concurrent waits"),
  });
  await expectFollowers(3);
  await append([1]);
  await Promise.all(waiting);
  const again = wait();
  await expectFollowers(4);
  await append([2]);
  expect(await again).toMatchObject({ seq: 2 });
});

it("rejects the wait instead of returning an event if the token was revoked meanwhile", async () => {
  let isValid = true;
  const { wait, expectFollowers, append } = await setup({
    authorizer: { recheck: async () => isValid, watch: () => () => {} },
  });
  const waiting = wait();
  await expectFollowers(1);
  isValid = false;
  const ended = expect(waiting).rejects.toMatchObject({ code: "forbidden", field: "token" });
  await append([1]);
  await ended;
});

it("rejects an open wait when its token is revoked", async () => {
  let revoke = () => {};
  const { wait, expectFollowers } = await setup({
    authorizer: {
      recheck: async () => true,
      watch(_, onRevoked) {
        revoke = onRevoked;
        return () => {};
      },
    },
  });
  const waiting = wait();
  await expectFollowers(1);
  revoke();
  await expect(waiting).rejects.toMatchObject({ code: "forbidden", field: "token" });
});

it("rejects open and new waits when the hub stops", async () => {
  const { wait, waits } = await setup();
  const waiting = [wait(), wait({ filter: { number: 1 } }, "bob")].map((waiting) =>
    expect(waiting).rejects.toMatchObject({ message: "the hub is stopping; try again later" }),
  );
  await waits.close();
  await Promise.all(waiting);
  await expect(wait()).rejects.toMatchObject({ code: "busy" });
});

it("rejects the wait if a payload cannot be read", async () => {
  let broken = true;
  const { wait, expectFollowers, append } = await setup({
    inbox: {
      largeReads,
      async openPayload() {
        if (broken) throw new Error("the disk failed");
        return { matches: async () => true };
      },
    },
  });
  const failing = expect(wait({ filter: { number: 2 } })).rejects.toThrow("the disk failed");
  await expectFollowers(1);
  await append([1]);
  await failing;
  broken = false;
  const waiting = wait({ filter: { number: 2 } });
  await expectFollowers(2);
  await append([2]);
  expect(await waiting).toMatchObject({ seq: 2 });
});

it("checks an event again if the workers were busy, and skips one that takes too long", async () => {
  const checks: number[] = [];
  const { wait, expectFollowers, append } = await setup({
    inbox: {
      largeReads,
      openPayload: async ({ seq }) => ({
        async matches() {
          checks.push(seq);
          if (seq === 1) throw new RequestError("invalid", "payload", "is too large to be read");
          if (checks.length < 4) throw new RequestError("busy", "payload", "try again later");
          return true;
        },
      }),
    },
  });
  const waiting = wait({ filter: { number: 2 } });
  await expectFollowers(1);
  await append([1, 2]);
  expect(await waiting).toMatchObject({ seq: 2 });
  expect(checks).toEqual([1, 2, 2, 2]);
});

it("ends a wait of the tenant with the most waits if another tenant starts one at the limit", async () => {
  const { wait, expectFollowers, append } = await setup({ maxTotal: 3 });
  const many = ["a", "b", "c"].map((token) => wait({}, token).catch((error: unknown) => error));
  await expectFollowers(3);
  const other = wait({}, "eve", ["umbrella"]);
  expect(await many[0]).toMatchObject({
    code: "busy",
    message: expect.stringMatching(/other tenants have fewer waits/),
  });
  await expectFollowers(4);
  await expect(wait({}, "d")).rejects.toMatchObject({
    code: "busy",
    message: expect.stringMatching(/3 concurrent waits, which is the limit/),
  });
  await append([1], "umbrella");
  expect(await other).toMatchObject({ number: 1 });
  await append([2]);
  expect(await Promise.all(many.slice(1))).toMatchObject([{ number: 2 }, { number: 2 }]);
});
