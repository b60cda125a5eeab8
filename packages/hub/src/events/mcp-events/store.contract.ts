import { expect } from "vitest";
import type { It } from "../../kernel/store/contract/subject.ts";
import type { Store } from "../../store.ts";
import type { NewStoredToken } from "../../tokens/model.ts";
import { START } from "../store/contract/sample.ts";
import type { DeliveryProgress, NewSubscription } from "./model.ts";

const token: NewStoredToken = {
  id: "ada",
  name: "Ada",
  hash: "hash",
  scopes: ["inbox:read"],
  tenants: ["acme"],
  created_at: START,
  expires_at: null,
};

const subscription = (id: string, overrides: Partial<NewSubscription> = {}): NewSubscription => ({
  id,
  principal: "ada",
  tenants: ["acme", "umbrella"],
  name: "github.issues",
  arguments: { number: 7, repo: "acme/web" },
  url: "https://example.com/hook",
  secret: "sealed",
  secret_hash: "hash of the secret",
  positions: { acme: 3, umbrella: 0 },
  expires_at: START + 1_000,
  ...overrides,
});

const terms = { now: START, limit: 10, formerUntil: START + 500 };
const lease = (by: string, now: number, limit = 10) => ({ by, now, until: now + 100, limit });
const find = (store: Store, id: string) => store.findSubscription(id);

const progress = (id: string, overrides: Partial<DeliveryProgress> = {}): DeliveryProgress => ({
  id,
  positions: { acme: 9, umbrella: 2 },
  gap: true,
  attempt: 4,
  failing_since: START + 1,
  next_at: START + 2,
  last_error: "500 Internal Server Error",
  delivered_at: START,
  ...overrides,
});

export function subscriptionsContract(it: It): void {
  it("returns a subscription after a restart", async ({ store, reopen }) => {
    const stored = await store.putSubscription(subscription("a"), terms);
    expect(stored).toEqual({
      ...subscription("a"),
      former_secret: null,
      former_until: null,
      gap: false,
      attempt: 0,
      failing_since: null,
      next_at: 0,
      last_error: null,
      delivered_at: null,
      leased_by: "",
      leased_until: 0,
      created_at: START,
      updated_at: START,
    });
    const reopened = await reopen();
    expect(await reopened.findSubscription("a")).toEqual(stored);
    expect(await reopened.findSubscription("b")).toBeUndefined();
  });

  it("keeps the progress of a renewed subscription, and its former secret for a limited time", async ({
    store,
  }) => {
    await store.putSubscription(subscription("a"), terms);
    const later = { ...terms, now: START + 5, formerUntil: START + 900 };
    const withSameSecret = subscription("a", {
      secret: "sealed again",
      positions: { acme: 0 },
      expires_at: START + 7,
    });
    expect(await store.putSubscription(withSameSecret, later)).toMatchObject({
      positions: { acme: 3, umbrella: 0 },
      secret: "sealed",
      former_secret: null,
      former_until: null,
      expires_at: START + 7,
      created_at: START,
      updated_at: START + 5,
    });
    const withNewSecret = subscription("a", { secret: "other", secret_hash: "hash of another" });
    expect(await store.putSubscription(withNewSecret, later)).toMatchObject({
      secret: "other",
      secret_hash: "hash of another",
      former_secret: "sealed",
      former_until: START + 900,
    });
    expect(
      await store.putSubscription(withNewSecret, { ...later, formerUntil: START + 999 }),
    ).toMatchObject({ secret: "other", former_secret: "sealed", former_until: START + 900 });
  });

  it("stores equal subscriptions of concurrent calls once", async ({ store, reopen }) => {
    await store.putToken(token);
    const other = await reopen();
    const put = (at: number) =>
      [store, other][at % 2]?.putSubscription(subscription("a"), { ...terms, limit: 1 });
    const all = await Promise.all(Array.from({ length: 8 }, (_, index) => put(index)));
    expect(all.map((stored) => stored?.id)).toEqual(Array.from({ length: 8 }, () => "a"));
    expect(await store.leaseSubscriptions(lease("me", START))).toEqual(["a"]);
  });

  it("limits the subscriptions of a principal exactly in concurrent calls", async ({
    store,
    reopen,
  }) => {
    await store.putToken(token);
    const other = await reopen();
    const put = (id: string, at: number) =>
      (at % 2 === 0 ? store : other).putSubscription(subscription(id), { ...terms, limit: 3 });
    const all = await Promise.all(["a", "b", "c", "d", "e", "f"].map(put));
    expect(all.filter((stored) => stored !== undefined)).toHaveLength(3);
    const storedId = all.find((stored) => stored !== undefined)?.id as string;
    expect(await put(storedId, 0)).toMatchObject({ id: storedId });
    expect(await put("g", 0)).toBeUndefined();
    expect(
      await store.putSubscription(subscription("h", { principal: "bob" }), { ...terms, limit: 3 }),
    ).toMatchObject({ id: "h" });
    expect(await store.removeSubscription(storedId)).toBe(true);
    expect(await store.removeSubscription(storedId)).toBe(false);
    expect(await put("g", 0)).toMatchObject({ id: "g" });
  });

  it("removes a subscription only if it has not been renewed since it was read, even in the same millisecond", async ({
    store,
  }) => {
    const read = await store.putSubscription(subscription("a"), terms);
    const renewed = await store.putSubscription(subscription("a"), terms);
    expect(await store.removeSubscription("a", read?.updated_at)).toBe(false);
    expect(await find(store, "a")).toEqual(renewed);
    // Progress does not change `updated_at`.
    await store.leaseSubscriptions(lease("me", START));
    await store.recordProgress("me", [progress("a")]);
    expect(await store.removeSubscription("a", renewed?.updated_at)).toBe(true);
    expect(await store.removeSubscription("a", renewed?.updated_at)).toBe(false);
  });

  it("counts the subscriptions of a principal", async ({ store }) => {
    for (const id of ["a", "b"]) await store.putSubscription(subscription(id), terms);
    await store.putSubscription(subscription("c", { principal: "bob" }), terms);
    expect(await store.countSubscriptions("ada")).toBe(2);
    expect(await store.countSubscriptions("nobody")).toBe(0);
  });

  it("leases each subscription to one process at a time", async ({ store }) => {
    const all = ["a", "b", "c"];
    for (const id of all) await store.putSubscription(subscription(id), terms);
    const mine = await store.leaseSubscriptions(lease("me", START, 2));
    expect(mine).toHaveLength(2);
    const yours = await store.leaseSubscriptions(lease("you", START + 1));
    expect([...mine, ...yours].sort()).toEqual(all);
    // One process renews its leases. The lease of the other one expires.
    expect((await store.leaseSubscriptions(lease("me", START + 90))).sort()).toEqual(mine.sort());
    expect((await store.leaseSubscriptions(lease("me", START + 150))).sort()).toEqual(all);
    expect(await store.leaseSubscriptions(lease("you", START + 151))).toEqual([]);
    await store.releaseSubscriptions("you");
    expect(await store.leaseSubscriptions(lease("you", START + 152))).toEqual([]);
    await store.releaseSubscriptions("me");
    expect((await store.leaseSubscriptions(lease("you", START + 153))).sort()).toEqual(all);
    expect(await find(store, "a")).toMatchObject({ leased_by: "you", leased_until: START + 253 });
  });

  it("leases each subscription once in concurrent calls", async ({ store, reopen }) => {
    const other = await reopen();
    for (let index = 0; index < 20; index += 1)
      await store.putSubscription(subscription(`s${index}`), { ...terms, limit: 99 });
    const leased = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        (index % 2 === 0 ? store : other).leaseSubscriptions(lease(`replica ${index}`, START, 5)),
      ),
    );
    expect(new Set(leased.flat()).size).toBe(leased.flat().length);
  });

  it("records progress only for the process that holds the lease", async ({ store }) => {
    for (const id of ["a", "b"]) await store.putSubscription(subscription(id), terms);
    await store.leaseSubscriptions(lease("me", START));
    const all = [progress("b"), progress("gone"), progress("a", { gap: false, last_error: null })];
    expect((await store.recordProgress("me", all)).sort()).toEqual(["a", "b"]);
    expect(await find(store, "b")).toMatchObject(progress("b"));
    expect(await find(store, "a")).toMatchObject({ gap: false, last_error: null, attempt: 4 });
    expect(await store.recordProgress("you", [progress("a", { attempt: 9 })])).toEqual([]);
    expect(await find(store, "a")).toMatchObject({ attempt: 4 });
    // Renewing the subscription does not reset its progress.
    expect(await store.putSubscription(subscription("b"), terms)).toMatchObject(progress("b"));
  });

  it("stores the verified URLs of a principal", async ({ store }) => {
    expect(await store.isVerified("ada", "https://example.com/")).toBe(false);
    await store.putVerification("ada", "https://example.com/", START);
    await store.putVerification("ada", "https://example.com/", START + 1);
    expect(await store.isVerified("ada", "https://example.com/")).toBe(true);
    expect(await store.isVerified("ada", "https://example.com/x")).toBe(false);
    expect(await store.isVerified("bob", "https://example.com/")).toBe(false);
  });

  it("removes the verification of a URL with its last subscription", async ({ store }) => {
    const { url } = subscription("a");
    for (const principal of ["ada", "bob"]) await store.putVerification(principal, url, START);
    for (const id of ["a", "b"]) await store.putSubscription(subscription(id), terms);
    await store.removeSubscription("a");
    await store.removeSubscription("b", START - 1);
    expect(await store.isVerified("ada", url)).toBe(true);
    await store.removeSubscription("b");
    expect(await store.isVerified("ada", url)).toBe(false);
    expect(await store.isVerified("bob", url)).toBe(true);
  });
}
