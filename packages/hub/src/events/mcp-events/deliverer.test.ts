/** Tests deliveries with a real log, a manual clock and fake endpoints. */
import { OutboundError, type OutboundResponse } from "@signalbox/rules/flows/outbound.ts";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import type { GrantedToken, Role } from "../../kernel/access/scopes.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import type { Store } from "../../store.ts";
import { storeDefinition } from "../../store.ts";
import { createFeed } from "../live/feed.ts";
import type { NewEvent } from "../model.ts";
import {
  appendEvents,
  appendInChunks,
  DAY,
  SECOND,
  START,
  sampleEvent,
} from "../store/contract/sample.ts";
import { createDeliverer, type DelivererOptions } from "./deliverer.ts";
import type { NewSubscription } from "./model.ts";
import type { PostWebhook } from "./webhook.ts";

/** Progress is saved within this time. */
const RECORD_DELAY_MS = 20;

type Message = Parameters<PostWebhook>[1];
type Respond = (message: Message, signal: AbortSignal | undefined) => Promise<number> | number;

/** A clock that only `advance` moves. */
function createClock(at = START) {
  let timers: { at: number; work: () => void }[] = [];
  let offset = 0;
  const clock = {
    now: () => at + offset,
    monotonic: () => at,
    /** Changes the wall clock, but not the monotonic clock. */
    step(ms: number) {
      offset += ms;
    },
    after(ms: number, work: () => void) {
      const timer = { at: at + ms, work };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    /** Runs due timers in order, and lets the work that they start settle. */
    async advance(ms: number) {
      const end = at + ms;
      for (;;) {
        await settle();
        const due = timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
        if (!due) break;
        timers = timers.filter((timer) => timer !== due);
        at = Math.max(at, due.at);
        due.work();
      }
      at = end;
      await settle();
    },
  };
  return clock;
}

/** Waits for work without timers. A few rounds are enough, because SQLite is synchronous. */
async function settle(): Promise<void> {
  for (let round = 0; round < 8; round += 1) await new Promise((resolve) => setImmediate(resolve));
}

function setup() {
  const file = `${tempFolder()}/hub.db`;
  const store = openSqlite(storeDefinition, file);
  const feed = createFeed(store);
  const started: { close(): Promise<void> }[] = [];
  onTestFinished(async () => {
    for (const deliverer of started) await deliverer.close();
    feed.close();
    await store.close();
  });
  const calls: {
    url: string;
    subscription: string;
    message: Message;
    secrets: readonly string[];
  }[] = [];
  const responders = new Map<string, Respond>();
  const respond = (url: string, responder: Respond) => void responders.set(url, responder);
  const post: PostWebhook = async ({ url, subscription, secrets }, message, signal) => {
    calls.push({ url, subscription, message, secrets });
    const status = await (responders.get(url) ?? (() => 200))(message, signal);
    return {
      status,
      headers: new Headers(status === 429 ? { "retry-after": "60" } : {}),
      body: new Uint8Array(),
      url,
    } satisfies OutboundResponse;
  };
  const errors: unknown[] = [];
  const start = (
    by: string,
    clock: ReturnType<typeof createClock>,
    options: Partial<DelivererOptions> = {},
  ) => {
    const deliverer = createDeliverer({
      store,
      tokens: store,
      feed,
      post,
      unseal: async (sealed) => sealed,
      by,
      now: clock.now,
      monotonic: clock.monotonic,
      after: clock.after,
      random: () => 1,
      onOutcome: () => {},
      onError: (error) => errors.push(error),
      ...options,
    });
    deliverer.wake();
    return deliverer;
  };
  /** Starts a deliverer that is closed when the test ends. */
  const deliver: typeof start = (...args) => {
    const deliverer = start(...args);
    started.push(deliverer);
    return deliverer;
  };
  return { store, feed, calls, respond, start, deliver, errors };
}

async function subscribe(store: Store, fields: Partial<NewSubscription> = {}, now = START) {
  const subscription: NewSubscription = {
    id: "sub",
    principal: "ada",
    tenants: ["acme"],
    name: "github.issues",
    arguments: {},
    url: "https://a.example/",
    secret: "whsec_now",
    secret_hash: "hash",
    positions: { acme: 0 },
    expires_at: START + 365 * DAY,
    ...fields,
  };
  await store.putToken({
    id: "ada",
    name: "Ada",
    hash: "hash",
    scopes: ["inbox:read"],
    tenants: ["acme"],
    created_at: START,
    expires_at: null,
  });
  await store.putSubscription(subscription, { now, limit: 99, formerUntil: now + 60 * SECOND });
}

const event = (eventId: string, fields: Partial<NewEvent> = {}) =>
  sampleEvent({ external_id: eventId, ...fields });
/** The ids of events, and the types of other messages. */
const sent = (calls: { message: Message }[]) =>
  calls.map(({ message }) => ("eventId" in message ? message.eventId : message.type));
const progressOf = (store: Store, id = "sub") => store.findSubscription(id);

describe("a subscription", () => {
  it("gets the events after its position in order, and stores its progress", async () => {
    const { store, calls, deliver } = setup();
    const clock = createClock();
    await appendEvents(store, [event("old"), event("a"), event("push", { type: "push" })]);
    await subscribe(store, { positions: { acme: 1 } });
    const first = deliver("first", clock);
    await appendEvents(store, [event("b")]);
    await clock.advance(0);
    expect(sent(calls)).toEqual(["a", "b"]);
    expect(calls.map(({ message }) => ("eventId" in message ? message.cursor : ""))).toEqual([
      expect.stringMatching(/^2@/),
      expect.stringMatching(/^4@/),
    ]);
    await clock.advance(RECORD_DELAY_MS);
    expect(await progressOf(store)).toMatchObject({ positions: { acme: 4 }, delivered_at: START });

    await first.close();
    await appendEvents(store, [event("c")]);
    deliver("second", clock);
    await clock.advance(0);
    expect(sent(calls)).toEqual(["a", "b", "c"]);
  });

  it("gets all events of a long backlog", async () => {
    const { store, calls, deliver } = setup();
    const clock = createClock();
    await subscribe(store);
    const names = Array.from({ length: 1_500 }, (_, index) => `e${index}`);
    await appendInChunks(
      store,
      names.map((name) => event(name)),
    );
    deliver("first", clock);
    await vi.waitFor(() => expect(calls.length).toBe(1_500), 60_000);
    expect(sent(calls)).toEqual(names);
  });

  it("retries if its secret cannot be decrypted, and ends when it expires", async () => {
    const { store, calls, deliver, errors } = setup();
    const clock = createClock();
    await subscribe(store, { expires_at: START + 60 * SECOND });
    deliver("first", clock, { unseal: () => Promise.reject(new Error("another key")) });
    await appendEvents(store, [event("a")]);
    await clock.advance(30 * SECOND);
    expect(await progressOf(store)).toMatchObject({ attempt: 5, positions: { acme: 0 } });
    expect(errors).toHaveLength(5);
    await clock.advance(60 * SECOND);
    expect(calls).toEqual([]);
    expect(await progressOf(store)).toBeUndefined();
  });

  it("retries an event with backoff, and continues after a success", async () => {
    const { store, calls, respond, deliver } = setup();
    const clock = createClock();
    let isDown = true;
    respond("https://a.example/", () => {
      if (isDown) throw new OutboundError("connection_refused", "connection refused");
      return 200;
    });
    await subscribe(store);
    deliver("first", clock);
    await appendEvents(store, [event("a"), event("b")]);
    await clock.advance(0);
    for (const [seconds, attempts] of [
      [1, 2],
      [2, 3],
      [4, 4],
      [8, 5],
    ] as const) {
      await clock.advance(seconds * SECOND - 1);
      expect(sent(calls)).toHaveLength(attempts - 1);
      await clock.advance(1);
      expect(sent(calls)).toEqual(Array.from({ length: attempts }, () => "a"));
    }
    expect(await progressOf(store)).toMatchObject({
      attempt: 5,
      failing_since: START,
      last_error: "connection refused",
      positions: { acme: 0 },
    });
    isDown = false;
    await clock.advance(16 * SECOND);
    expect(sent(calls).slice(5)).toEqual(["a", "b"]);
    await clock.advance(RECORD_DELAY_MS);
    expect(await progressOf(store)).toMatchObject({
      attempt: 0,
      failing_since: null,
      last_error: null,
      positions: { acme: 2 },
    });
  });

  it("is retried on time even if the wall clock is set back", async () => {
    const { store, calls, respond, deliver } = setup();
    const clock = createClock();
    respond("https://a.example/", () => 500);
    await subscribe(store);
    deliver("first", clock);
    await appendEvents(store, [event("a")]);
    await clock.advance(0);
    clock.step(-3_600 * SECOND);
    await clock.advance(SECOND);
    expect(sent(calls)).toEqual(["a", "a"]);
  });

  it("respects Retry-After", async () => {
    const { store, calls, respond, deliver } = setup();
    const clock = createClock();
    respond("https://a.example/", () => 429);
    await subscribe(store);
    deliver("first", clock);
    await appendEvents(store, [event("a")]);
    await clock.advance(60 * SECOND - 1);
    expect(calls).toHaveLength(1);
    await clock.advance(1);
    expect(calls).toHaveLength(2);
  });

  it("continues its backoff after a restart", async () => {
    const { store, calls, respond, deliver } = setup();
    const clock = createClock();
    respond("https://a.example/", () => 500);
    await subscribe(store);
    const first = deliver("first", clock);
    await appendEvents(store, [event("a")]);
    await clock.advance(3 * SECOND);
    expect(calls).toHaveLength(3);
    await first.close();
    deliver("second", clock);
    await clock.advance(4 * SECOND - 1);
    expect(calls).toHaveLength(3);
    await clock.advance(1);
    expect(calls).toHaveLength(4);
  });

  it("skips an event after the retry period, and gets a gap message before the next one", async () => {
    const { store, calls, respond, deliver } = setup();
    const clock = createClock();
    let status = 500;
    respond("https://a.example/", () => status);
    await subscribe(store);
    deliver("first", clock, { retryPeriodMs: 30 * SECOND });
    await appendEvents(store, [event("a")]);
    await clock.advance(25 * SECOND);
    await appendEvents(store, [event("b", { received_at: clock.now() })]);
    expect(await progressOf(store)).toMatchObject({ positions: { acme: 0 }, gap: false });
    await clock.advance(10 * SECOND);
    // The newer event has its own retry period.
    expect(await progressOf(store)).toMatchObject({ positions: { acme: 1 }, gap: true });
    const attempts = calls.length;
    status = 200;
    await clock.advance(60 * SECOND);
    expect(sent(calls).slice(0, attempts)).toEqual(Array.from({ length: attempts }, () => "a"));
    expect(sent(calls).slice(attempts)).toEqual(["gap", "b"]);
    expect(calls.at(-2)?.message).toMatchObject({
      type: "gap",
      cursor: expect.stringMatching(/^1@/),
    });
    expect(await progressOf(store)).toMatchObject({ positions: { acme: 2 }, gap: false });
  });

  it("skips an event that the endpoint rejects as too large", async () => {
    const { store, calls, respond, deliver } = setup();
    const clock = createClock();
    respond("https://a.example/", (message) =>
      "eventId" in message && message.eventId === "large" ? 413 : 200,
    );
    await subscribe(store);
    deliver("first", clock);
    await appendEvents(store, [event("large")]);
    await clock.advance(RECORD_DELAY_MS);
    expect(await progressOf(store)).toMatchObject({ positions: { acme: 1 }, delivered_at: null });
    await appendEvents(store, [event("b")]);
    await clock.advance(RECORD_DELAY_MS);
    expect(sent(calls)).toEqual(["large", "gap", "b"]);
    expect(await progressOf(store)).toMatchObject({
      gap: false,
      delivered_at: clock.now() - RECORD_DELAY_MS,
    });
  });

  it("gets a gap message if retention has removed undelivered events", async () => {
    const { store, calls, deliver } = setup();
    const clock = createClock();
    const [removed, kept] = [event("removed"), event("kept")];
    await appendEvents(store, [removed, kept]);
    await subscribe(store);
    await store.markProcessed("acme", [removed.id], START, null);
    await store.sweep({
      now: START + DAY,
      processedFor: 0,
      pendingFor: 9 * DAY,
      maxBytes: 1e9,
      limit: 9,
    });
    deliver("first", clock);
    await clock.advance(0);
    expect(sent(calls)).toEqual(["gap", "kept"]);
  });

  it("ends when the person of its token loses access to a tenant", async () => {
    const { store, calls, deliver } = setup();
    const clock = createClock();
    await subscribe(store);
    const roles = new Map<string, Role>([["acme", "member"]]);
    const getToken = async (id: string) => {
      const token = await store.getToken(id);
      return token && { ...token, person: "github:7", roles };
    };
    deliver("first", clock, { tokens: { getToken } });
    await appendEvents(store, [event("a")]);
    await clock.advance(0);
    roles.delete("acme");
    await appendEvents(store, [event("b")]);
    await clock.advance(SECOND);
    expect(sent(calls)).toEqual(["a", "terminated"]);
  });

  it("pauses while GitHub does not confirm the memberships of its person, and loses no events", async () => {
    const { store, calls, respond, deliver } = setup();
    const clock = createClock();
    await subscribe(store, { expires_at: START + 900 * SECOND });
    const confirmed: NonNullable<GrantedToken["roles"]> = new Map([["acme", "member"]]);
    let roles: NonNullable<GrantedToken["roles"]> = confirmed;
    let lookups = 0;
    const getToken = async (id: string) => {
      lookups += 1;
      const token = await store.getToken(id);
      const tenants = roles === "unconfirmed" ? [] : ["acme"];
      return token && { ...token, person: "github:7", tenants, roles };
    };
    deliver("first", clock, { tokens: { getToken }, retryPeriodMs: 300 * SECOND });
    respond("https://a.example/", () => 500);
    await appendEvents(store, [event("a")]);
    await clock.advance(0);
    roles = "unconfirmed";
    respond("https://a.example/", () => 200);
    await appendEvents(store, [event("b"), event("c")]);
    await clock.advance(60 * SECOND);
    expect(sent(calls)).toEqual(["a"]);
    lookups = 0;
    // Longer than the retry period, but no event is skipped.
    await clock.advance(600 * SECOND);
    expect(lookups).toBeLessThan(100);
    expect(sent(calls)).toEqual(["a"]);
    roles = confirmed;
    respond("https://a.example/", () => (calls.length === 2 ? 500 : 200));
    await clock.advance(120 * SECOND);
    expect(sent(calls)).toEqual(["a", "a", "a", "b", "c"]);

    // The subscription does not expire before the confirmation, because its client cannot refresh it.
    roles = "unconfirmed";
    await clock.advance(600 * SECOND);
    expect(calls).toHaveLength(5);
    roles = confirmed;
    await clock.advance(60 * SECOND);
    expect(calls.slice(5).map(({ message }) => message)).toMatchObject([
      { type: "terminated", reason: "expired" },
    ]);
  });

  it("ends while it is paused if its token is revoked or has expired", async () => {
    for (const end of ["revoked_at", "expires_at"] as const) {
      const { store, calls, deliver } = setup();
      const clock = createClock();
      await subscribe(store);
      let tokenEnd = {};
      const getToken = async (id: string) => {
        const token = await store.getToken(id);
        const unconfirmed = { person: "github:7", tenants: [], roles: "unconfirmed" as const };
        return token && { ...token, ...unconfirmed, ...tokenEnd };
      };
      deliver("first", clock, { tokens: { getToken } });
      await appendEvents(store, [event("a")]);
      await clock.advance(60 * SECOND);
      expect(calls).toEqual([]);
      tokenEnd = { [end]: START + 60 * SECOND };
      await clock.advance(60 * SECOND);
      expect(calls.map(({ message }) => message)).toMatchObject([
        { type: "terminated", reason: "forbidden" },
      ]);
    }
  });

  it("ends with a terminated message when it expires or its token is no longer valid", async () => {
    for (const end of ["expired", "forbidden"]) {
      const { store, calls, deliver } = setup();
      const clock = createClock();
      await subscribe(store, end === "expired" ? { expires_at: START + 10 * SECOND } : {});
      deliver("first", clock);
      await clock.advance(0);
      if (end === "forbidden") await store.revokeToken("ada", START);
      await clock.advance(20 * SECOND);
      expect(calls.map(({ message }) => message)).toMatchObject([
        { type: "terminated", reason: end },
      ]);
      expect(await progressOf(store)).toBeUndefined();
      await appendEvents(store, [event("late")]);
      await clock.advance(20 * SECOND);
      expect(calls).toHaveLength(1);
    }
  });

  it("continues if it is refreshed while it is being terminated or removed", async () => {
    const { store, calls, respond, deliver } = setup();
    const clock = createClock();
    const short = { expires_at: START + 10 * SECOND };
    await subscribe(store, { id: "ending", ...short });
    await subscribe(store, { id: "refreshed", url: "https://b.example/", ...short });
    await subscribe(store, { id: "gone", url: "https://c.example/" });
    const pendingTerminated: (() => void)[] = [];
    respond("https://a.example/", (message) =>
      "type" in message ? new Promise((done) => pendingTerminated.push(() => done(200))) : 200,
    );
    let status = 410;
    respond("https://c.example/", async () => {
      if (status === 410) await subscribe(store, { id: "gone", url: "https://c.example/" });
      return status;
    });
    const { removeSubscription } = store;
    let isRefreshed = false;
    store.removeSubscription = async (id, ...since) => {
      // The subscription is refreshed after it was read and before it is removed.
      if (id === "refreshed" && !isRefreshed) {
        isRefreshed = true;
        await subscribe(store, { id, url: "https://b.example/" });
      }
      return removeSubscription(id, ...since);
    };
    deliver("first", clock);
    await appendEvents(store, [event("a", { type: "push" })]);
    await clock.advance(20 * SECOND);
    expect(calls.map(({ subscription }) => subscription)).toEqual(["ending"]);
    expect(await progressOf(store, "refreshed")).toMatchObject({ leased_by: "first" });

    // Subscribing again while `terminated` is sent creates a new subscription, which must not be removed.
    expect(await progressOf(store, "ending")).toBeUndefined();
    await subscribe(store, { id: "ending", positions: { acme: 0 } });
    await appendEvents(store, [event("b")]);
    await clock.advance(20 * SECOND);
    const of = (id: string) => sent(calls.filter(({ subscription }) => subscription === id));
    expect(of("ending")).toEqual(["terminated"]);
    expect(await progressOf(store, "ending")).toMatchObject({ positions: { acme: 0 } });
    pendingTerminated[0]?.();
    await clock.advance(5 * SECOND);
    expect(of("ending")).toEqual(["terminated", "b"]);
    expect(of("refreshed")).toEqual(["b"]);

    expect(await progressOf(store, "gone")).toMatchObject({
      last_error: "The endpoint returned 410.",
    });
    status = 200;
    await clock.advance(60 * 60 * SECOND);
    expect(of("gone").at(-1)).toBe("b");
    expect(await progressOf(store, "gone")).toMatchObject({ attempt: 0, positions: { acme: 2 } });
  });

  it("gets nothing after it was removed or its endpoint returned 410", async () => {
    const { store, calls, respond, deliver } = setup();
    const clock = createClock();
    await subscribe(store, { id: "removed" });
    await subscribe(store, { id: "gone", url: "https://b.example/" });
    respond("https://a.example/", () => 500);
    respond("https://b.example/", () => 410);
    deliver("first", clock);
    await appendEvents(store, [event("a")]);
    await clock.advance(0);
    expect(sent(calls)).toEqual(["a", "a"]);
    expect(await progressOf(store, "gone")).toBeUndefined();
    await store.removeSubscription("removed");
    await appendEvents(store, [event("b")]);
    await clock.advance(60 * SECOND);
    expect(calls).toHaveLength(2);
  });

  it("signs with the former secret too, until it expires", async () => {
    const { store, calls, deliver } = setup();
    const clock = createClock();
    await subscribe(store);
    await subscribe(store, { secret: "whsec_new", secret_hash: "other" });
    deliver("first", clock);
    await appendEvents(store, [event("a")]);
    await clock.advance(60 * SECOND);
    await appendEvents(store, [event("b")]);
    await clock.advance(0);
    expect(calls.map(({ secrets }) => secrets)).toEqual([
      ["whsec_new", "whsec_now"],
      ["whsec_new"],
    ]);
  });

  it("advances past events that do not match, so that retention causes no gap", async () => {
    const { store, calls, deliver } = setup();
    const clock = createClock();
    await subscribe(store, { arguments: { repo: "acme/other" } });
    deliver("first", clock);
    await appendEvents(store, [event("a"), event("b", { type: "push" })]);
    await clock.advance(20 * SECOND);
    expect(calls).toEqual([]);
    expect(await progressOf(store)).toMatchObject({ positions: { acme: 2 } });
  });

  it("continues after the database was unavailable", async () => {
    const { store, calls, deliver, errors } = setup();
    const clock = createClock();
    await subscribe(store);
    let isBroken = false;
    const failure = () =>
      isBroken ? Promise.reject<never>(new Error("the database is unavailable")) : undefined;
    const flaky: Store = {
      ...store,
      findSubscription: (id) => failure() ?? store.findSubscription(id),
      leaseSubscriptions: (lease) => failure() ?? store.leaseSubscriptions(lease),
      recordProgress: (by, all) => failure() ?? store.recordProgress(by, all),
    };
    deliver("first", clock, { store: flaky });
    await clock.advance(0);
    isBroken = true;
    await appendEvents(store, [event("a")]);
    await clock.advance(5 * SECOND);
    expect(calls).toEqual([]);
    isBroken = false;
    await clock.advance(5 * SECOND);
    expect(sent(calls)).toEqual(["a"]);
    expect(errors.length).toBeGreaterThan(0);
  });
});

describe("several subscriptions", () => {
  it("do not wait for slow endpoints of other subscriptions", async () => {
    const { store, calls, respond, deliver } = setup();
    const clock = createClock();
    await subscribe(store, { id: "slow", url: "https://slow.example/" });
    await subscribe(store, { id: "quick" });
    respond(
      "https://slow.example/",
      (_, signal) => new Promise((_, reject) => signal?.addEventListener("abort", reject)),
    );
    deliver("first", clock);
    for (const name of ["a", "b", "c"]) await appendEvents(store, [event(name)]);
    await clock.advance(0);
    const of = (id: string) => sent(calls.filter(({ subscription }) => subscription === id));
    expect([of("slow"), of("quick")]).toEqual([["a"], ["a", "b", "c"]]);
  });

  it("of one principal share a limit on concurrent requests", async () => {
    const { store, calls, respond, deliver } = setup();
    const clock = createClock();
    const releases: (() => void)[] = [];
    for (const id of ["1", "2", "3", "4", "5"]) {
      await subscribe(store, { id, url: `https://${id}.example/` });
      respond(
        `https://${id}.example/`,
        () => new Promise((resolve) => releases.push(() => resolve(200))),
      );
    }
    deliver("first", clock, { concurrency: 2 });
    await appendEvents(store, [event("a")]);
    await clock.advance(0);
    expect(calls).toHaveLength(2);
    releases.shift()?.();
    await clock.advance(0);
    expect(calls).toHaveLength(3);
    for (let round = 0; round < 4; round += 1) {
      releases.shift()?.();
      await clock.advance(0);
    }
    expect(new Set(calls.map(({ url }) => url)).size).toBe(5);
  });
});

describe("several processes", () => {
  it("deliver each subscription in one process, and continue the deliveries of a crashed process", async () => {
    const { store, calls, respond, deliver } = setup();
    const [firstClock, secondClock] = [createClock(), createClock()];
    await subscribe(store);
    const hanging: ((status: number) => void)[] = [];
    respond("https://a.example/", () => new Promise((resolve) => hanging.push(resolve)));
    deliver("first", firstClock);
    await firstClock.advance(0);
    deliver("second", secondClock);
    await appendEvents(store, [event("a")]);
    await firstClock.advance(0);
    await secondClock.advance(9 * SECOND);
    expect(calls).toHaveLength(1);

    // The first process stops renewing its lease while its request is still in progress.
    respond("https://a.example/", () => 200);
    await secondClock.advance(6 * SECOND);
    expect(sent(calls)).toEqual(["a", "a"]);
    await appendEvents(store, [event("b")]);
    await vi.waitFor(() => expect(sent(calls)).toEqual(["a", "a", "b"]), 60_000);
    await secondClock.advance(0);
    // The request of the first process ends after its lease: the process must neither write nor send.
    hanging[0]?.(200);
    await firstClock.advance(0);
    expect(await progressOf(store)).toMatchObject({ positions: { acme: 2 }, leased_by: "second" });
    await appendEvents(store, [event("c")]);
    await firstClock.advance(0);
    await secondClock.advance(0);
    expect(sent(calls)).toEqual(["a", "a", "b", "c"]);
  });

  it("do not deliver after another process has acquired the lease, even before their next tick", async () => {
    const { store, calls, deliver } = setup();
    const [firstClock, secondClock] = [createClock(), createClock()];
    await subscribe(store);
    deliver("first", firstClock);
    await firstClock.advance(0);
    deliver("second", secondClock);
    await secondClock.advance(15 * SECOND);
    expect(await progressOf(store)).toMatchObject({ leased_by: "second" });
    // Both processes follow the log.
    await appendEvents(store, [event("a")]);
    await firstClock.advance(0);
    await secondClock.advance(0);
    expect(sent(calls)).toEqual(["a"]);
  });

  it("release their leases when they stop, even with a request in progress", async () => {
    const { store, calls, respond, deliver } = setup();
    const clock = createClock();
    await subscribe(store);
    respond(
      "https://a.example/",
      (_, signal) => new Promise((_, reject) => signal?.addEventListener("abort", reject)),
    );
    const first = deliver("first", clock);
    await appendEvents(store, [event("a")]);
    await clock.advance(0);
    await first.close();
    expect(await progressOf(store)).toMatchObject({ attempt: 0, leased_by: "" });
    respond("https://a.example/", () => 200);
    deliver("second", clock);
    await clock.advance(0);
    expect(sent(calls)).toEqual(["a", "a"]);
  });
});

/** `event` appends a matching event, `other` another one. `fail` makes the next two attempts fail. */
type Step = { do: "event" | "other" | "fail" | "crash" | "stop" } | { do: "wait"; seconds: number };

it("delivers every event in order through failures, crashes and restarts", {
  timeout: 60_000,
}, async () => {
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom<Step>({ do: "event" }, { do: "other" }) },
    {
      weight: 2,
      arbitrary: fc.constantFrom<Step>({ do: "fail" }, { do: "crash" }, { do: "stop" }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const), seconds: fc.nat(20) }) },
  );
  const { store, respond, start: startDeliverer } = setup();
  const clock = createClock();
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      run += 1;
      const [id, tenant, url] = [`sub ${run}`, `tenant ${run}`, `https://${run}.example/`];
      const expected: string[] = [];
      const received: string[] = [];
      let failures = 0;
      await subscribe(store, {
        id,
        url,
        tenants: [tenant],
        principal: `p ${run}`,
        positions: { [tenant]: 0 },
      });
      await store.putToken({
        id: `p ${run}`,
        name: "p",
        hash: `p ${run}`,
        scopes: ["inbox:read"],
        tenants: [tenant],
        created_at: START,
        expires_at: null,
      });
      respond(url, (message) => {
        if (failures > 0) {
          failures -= 1;
          return 503;
        }
        if ("eventId" in message) received.push(message.eventId);
        return 200;
      });
      let lastProcess = 0;
      const crashed = new Set<number>();
      /** The timers and store calls of a crashed process do nothing; its lease expires. */
      const startProcess = () => {
        lastProcess += 1;
        const process = lastProcess;
        const isAlive = () => !crashed.has(process);
        return startDeliverer(
          `${run} ${process}`,
          { ...clock, after: (ms, work) => clock.after(ms, () => isAlive() && work()) },
          {
            store: new Proxy(store, {
              get: (target, name) =>
                isAlive() ? Reflect.get(target, name) : () => new Promise(() => {}),
            }),
          },
        );
      };
      let deliverer = startProcess();
      for (const step of steps)
        if (step.do === "event") {
          expected.push(`${run}-${expected.length}`);
          await appendEvents(store, [event(expected.at(-1) ?? "")], tenant);
        } else if (step.do === "other")
          await appendEvents(store, [sampleEvent({ type: "push" })], tenant);
        else if (step.do === "fail") failures += 2;
        else if (step.do === "wait") await clock.advance(step.seconds * SECOND);
        else {
          if (step.do === "stop") await deliverer.close();
          else crashed.add(lastProcess);
          deliverer = startProcess();
        }
      await clock.advance(10 * 60 * SECOND);
      expect([...new Set(received)]).toEqual(expected);
      crashed.clear();
      await deliverer.close();
      await store.removeSubscription(id);
    }),
    { numRuns: 20 },
  );
});
