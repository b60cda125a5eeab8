/** The contract of `TriggerStorage`, as a test suite that runs for every implementation. */
import { describe, expect, it } from "vitest";
import type { Credentials, NewDelivery, StoredSubscription, TriggerStorage } from "./storage.ts";
import { keyOf } from "./storage.ts";

type Row = Omit<StoredSubscription, keyof Credentials>;

const credentials = (name: string): Credentials => ({
  callbackUrl: `https://hub.test/${name}`,
  callbackToken: `token-${name}`,
});
const row = (id: string | null, change: Partial<Row> = {}): Row => ({
  connectionId: "c",
  key: keyOf(id, "push"),
  subscriptionId: id,
  type: "push",
  params: { repo: "a/b", nested: { n: 1 } },
  isReady: true,
  ...change,
});
const delivery = (id: string, subscription = "id:s"): NewDelivery => ({
  connectionId: "c",
  subscription,
  id,
  type: "push",
  body: `{"id":"${id}"}`,
  createdAt: 100,
});
const idsOf = (list: readonly { id: string }[] | undefined) => list?.map(({ id }) => id);

/** `withStorage` passes a new storage to `body`, and a function that opens it again if it is durable. */
export function storageContract(
  name: string,
  withStorage: (
    body: (storage: TriggerStorage, reopen?: () => Promise<TriggerStorage>) => Promise<void>,
  ) => Promise<void>,
): void {
  const test = (title: string, body: Parameters<typeof withStorage>[0]) =>
    it(title, () => withStorage(body));

  describe(`storage in ${name}`, () => {
    test("returns subscriptions with their credentials", async (storage) => {
      expect(await storage.saveSubscription(row("s"), credentials("1"), 0)).toBe(true);
      const saved = { ...row("s"), ...credentials("1") };
      expect(await storage.getSubscription("c", "id:s")).toEqual(saved);
      expect(await storage.listSubscriptions("c")).toEqual([saved]);
      expect(await storage.listSubscriptions()).toEqual([saved]);
      expect(await storage.listSubscriptions("other")).toEqual([]);
      expect(await storage.getSubscription("other", "id:s")).toBeUndefined();
    });

    test("replaces a subscription, and keeps former credentials", async (storage) => {
      await storage.saveSubscription(row("s"), credentials("1"), 0);
      const changed = row("s", { params: {}, type: "tag", isReady: false });
      expect(await storage.saveSubscription(changed, undefined, 0)).toBe(true);
      expect(await storage.listSubscriptions("c")).toEqual([{ ...changed, ...credentials("1") }]);
      await storage.saveSubscription(changed, credentials("2"), 0);
      expect(await storage.listSubscriptions("c")).toEqual([{ ...changed, ...credentials("2") }]);
    });

    test("stores no subscription without credentials", async (storage) => {
      expect(await storage.saveSubscription(row("s"), undefined, 0)).toBe(false);
      expect(await storage.listSubscriptions()).toEqual([]);
    });

    test("shares the latest credentials among subscriptions without ids", async (storage) => {
      const tag = row(null, { type: "tag", key: "type:tag" });
      await storage.saveSubscription(row(null), credentials("1"), 0);
      await storage.saveSubscription(tag, credentials("2"), 0);
      await storage.saveSubscription(row("s"), credentials("3"), 0);
      const tokens = async () =>
        (await storage.listSubscriptions("c")).map(({ key, callbackToken }) => [
          key,
          callbackToken,
        ]);
      expect(await tokens()).toEqual([
        ["type:push", "token-2"],
        ["type:tag", "token-2"],
        ["id:s", "token-3"],
      ]);
      await storage.removeSubscription("c", "type:tag");
      expect(await tokens()).toEqual([
        ["type:push", "token-2"],
        ["id:s", "token-3"],
      ]);
      expect(await storage.saveSubscription(row("new"), undefined, 0)).toBe(true);
      expect((await storage.getSubscription("c", "id:new"))?.callbackToken).toBe("token-2");
    });

    test("removes the credentials with the last subscription that uses them", async (storage) => {
      await storage.saveSubscription(row(null), credentials("1"), 0);
      await storage.saveSubscription(row("s"), credentials("2"), 0);
      expect(await storage.removeSubscription("c", "type:push")).toEqual({
        ...row(null),
        ...credentials("1"),
      });
      expect(await storage.saveSubscription(row(null), undefined, 0)).toBe(false);
      await storage.removeSubscription("c", "id:s");
      expect(await storage.saveSubscription(row("s"), undefined, 0)).toBe(false);
      expect(await storage.removeSubscription("c", "id:s")).toBeUndefined();
    });

    test("removes a subscription only if it still has the given token", async (storage) => {
      await storage.saveSubscription(row("s"), credentials("2"), 0);
      expect(await storage.removeSubscription("c", "id:s", "token-1")).toBeUndefined();
      expect(await storage.listSubscriptions()).toHaveLength(1);
      expect(await storage.removeSubscription("c", "id:s", "token-2")).toBeDefined();
      expect(await storage.listSubscriptions()).toEqual([]);
    });

    test("claims the oldest delivery of each subscription if it is due", async (storage) => {
      for (const id of ["s", "t"]) await storage.saveSubscription(row(id), credentials(id), 0);
      await storage.enqueue([delivery("1"), delivery("1", "id:t")], 99);
      await storage.enqueue([delivery("2")], 99);
      const claim = { now: 100, until: 200, limit: 9, delivered: [] };
      expect(await storage.claimDue({ ...claim, now: 99 })).toEqual([]);
      expect(await storage.claimDue({ ...claim, limit: 1 })).toEqual([
        { ...delivery("1"), attempt: 0, seq: expect.any(Number) },
      ]);
      const [second] = await storage.claimDue(claim);
      expect(second).toMatchObject(delivery("1", "id:t"));
      expect(await storage.claimDue(claim)).toEqual([]);
      expect(await storage.pending()).toEqual({ count: 3, nextAt: 200 });
      await storage.removeDelivery(second?.seq ?? 0);
      expect(
        idsOf(await storage.claimDue({ now: 200, until: 300, limit: 9, delivered: [] })),
      ).toEqual(["1"]);
      expect(await storage.pending()).toEqual({ count: 2, nextAt: 300 });
    });

    test("removes completed deliveries before it claims the next ones", async (storage) => {
      await storage.saveSubscription(row("s"), credentials("1"), 0);
      await storage.enqueue([delivery("1"), delivery("2")], 99);
      const claim = { now: 100, until: 200, limit: 9 };
      const [first] = await storage.claimDue({ ...claim, delivered: [] });
      const next = await storage.claimDue({ ...claim, delivered: [first?.seq ?? 0, 999] });
      expect(idsOf(next)).toEqual(["2"]);
      expect((await storage.pending()).count).toBe(1);
    });

    test("postpones a delivery and the later ones of its subscription", async (storage) => {
      await storage.saveSubscription(row("s"), credentials("1"), 0);
      await storage.enqueue([delivery("1"), delivery("2")], 99);
      const [first] = await storage.claimDue({ now: 100, until: 999, limit: 9, delivered: [] });
      await storage.postpone(first?.seq ?? 0, 3, 500);
      expect(await storage.claimDue({ now: 499, until: 999, limit: 9, delivered: [] })).toEqual([]);
      expect(await storage.pending()).toEqual({ count: 2, nextAt: 500 });
      expect(
        await storage.claimDue({ now: 500, until: 999, limit: 9, delivered: [] }),
      ).toMatchObject([{ id: "1", attempt: 3 }]);
    });

    test("makes postponed deliveries due when new credentials arrive", async (storage) => {
      const tag = row(null, { type: "tag", key: "type:tag" });
      await storage.saveSubscription(row(null), credentials("1"), 0);
      await storage.saveSubscription(row("s"), credentials("1"), 0);
      await storage.enqueue([delivery("1", "type:push"), delivery("1")], 99);
      for (const { seq } of await storage.claimDue({
        now: 100,
        until: 999,
        limit: 9,
        delivered: [],
      }))
        await storage.postpone(seq, 1, 5000);
      await storage.saveSubscription(row("s"), undefined, 200);
      expect((await storage.pending()).nextAt).toBe(5000);
      // `tag` shares its credentials with `type:push`.
      await storage.saveSubscription(tag, credentials("2"), 300);
      expect((await storage.pending()).nextAt).toBe(300);
      expect(
        await storage.claimDue({ now: 300, until: 999, limit: 9, delivered: [] }),
      ).toMatchObject([{ subscription: "type:push" }]);
    });

    test("adds no delivery twice, and none whose subscription does not exist", async (storage) => {
      await storage.saveSubscription(row("s"), credentials("1"), 0);
      expect(idsOf(await storage.enqueue([delivery("1"), delivery("x", "id:gone")], 99))).toEqual([
        "1",
      ]);
      expect(idsOf(await storage.enqueue([delivery("1"), delivery("2")], 99))).toEqual(["1", "2"]);
      expect((await storage.pending()).count).toBe(2);
    });

    test("adds no deliveries if they would exceed the limit", async (storage) => {
      await storage.saveSubscription(row("s"), credentials("1"), 0);
      await storage.enqueue([delivery("1")], 2);
      expect(await storage.enqueue([delivery("2"), delivery("3")], 2)).toBeUndefined();
      expect((await storage.pending()).count).toBe(1);
      expect(await storage.enqueue([delivery("1"), delivery("2")], 2)).toHaveLength(2);
    });

    test("removes the deliveries of a removed subscription", async (storage) => {
      for (const id of ["s", "t"]) await storage.saveSubscription(row(id), credentials(id), 0);
      await storage.enqueue([delivery("1"), delivery("1", "id:t")], 99);
      await storage.removeSubscription("c", "id:s");
      expect((await storage.pending()).count).toBe(1);
      expect(
        await storage.claimDue({ now: 100, until: 200, limit: 9, delivered: [] }),
      ).toMatchObject([{ subscription: "id:t" }]);
    });

    test("has the same content after it was opened again, if it is durable", async (storage, reopen) => {
      expect(storage.isDurable).toBe(reopen !== undefined);
      if (!reopen) return;
      await storage.saveSubscription(row("s"), credentials("1"), 0);
      await storage.enqueue([delivery("1"), delivery("2")], 99);
      const [first] = await storage.claimDue({ now: 100, until: 200, limit: 1, delivered: [] });
      await storage.claimDue({ now: 0, until: 200, limit: 1, delivered: [first?.seq ?? 0] });
      const reopened = await reopen();
      expect(await reopened.listSubscriptions()).toEqual([{ ...row("s"), ...credentials("1") }]);
      expect(
        await reopened.claimDue({ now: 100, until: 200, limit: 9, delivered: [] }),
      ).toMatchObject([{ id: "2", attempt: 0 }]);
      await reopened.enqueue([delivery("3")], 99);
      expect((await reopened.pending()).count).toBe(2);
    });
  });
}
