import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import type { Subscription, TriggerDefinition, TriggerStorage } from "./index.ts";
import { createTriggers, defineTrigger, type TriggersOptions } from "./index.ts";
import { memoryStorage } from "./memory-storage.ts";
import { configure, quickRetries } from "./test-support.ts";
import {
  type Callback,
  type CallbackReceiver,
  openCallbackReceiver,
} from "./testing/callback-receiver.ts";

let hub: CallbackReceiver;
const cleanups: (() => Promise<void>)[] = [];
beforeEach(async () => {
  hub = await openCallbackReceiver();
});
afterEach(async () => {
  await Promise.all(cleanups.splice(0).map((close) => close()));
  await hub.close();
});

const issue = defineTrigger({
  type: "issue",
  description: "A new issue.",
  params: z.object({ repo: z.string().optional(), number: z.number().optional() }),
  payload: z.object({
    repo: z.string(),
    number: z.number().default(0),
    labels: z.string().optional(),
  }),
});
const push = defineTrigger({ type: "push", description: "A push." });

/** A memory storage that claims to be durable, so that `notify` does not wait for the delivery. */
const durableMemoryStorage = (): TriggerStorage => ({ ...memoryStorage(), isDurable: true });

function openTriggers(options: Partial<TriggersOptions<readonly TriggerDefinition[]>> = {}) {
  const triggers = createTriggers({
    definitions: [issue, push],
    storage: durableMemoryStorage(),
    onError: (error) => errors.push(error),
    ...quickRetries,
    ...(options as object),
  });
  cleanups.push(() => triggers.close());
  return triggers;
}
const errors: unknown[] = [];
afterEach(() => {
  expect(errors.splice(0)).toEqual([]);
});

const callback = (token: string) => ({ callbackUrl: hub.url, callbackToken: token });
const subscriptionArgs = (id: string, changes: object = {}) => ({
  type: "issue",
  subscriptionId: id,
  ...callback(`token-${id}`),
  ...changes,
});
const until = (condition: () => void) => vi.waitFor(condition, { timeout: 60_000, interval: 5 });
const receivedTokens = () => hub.received.map(({ token }) => token);
const numberIn = (body: Callback["body"]) => (body?.data as { number: number } | undefined)?.number;
const receivedNumbers = () => hub.received.map(({ body }) => numberIn(body));

describe("notify", () => {
  it("posts the type, data, id and time of the event, with the token", async () => {
    const triggers = openTriggers({ now: () => Date.parse("2026-11-16T00:00:00Z") });
    await configure(triggers, subscriptionArgs("a"));
    expect(await triggers.notify("c", "issue", { repo: "a/b" }, { id: "evt-1" })).toEqual({
      id: "evt-1",
      subscriptions: 1,
    });
    await triggers.flush();
    expect(hub.received).toEqual([
      {
        method: "POST",
        contentType: "application/json",
        token: "token-a",
        body: {
          type: "issue",
          data: { repo: "a/b", number: 0 },
          id: "evt-1",
          timestamp: "2026-11-16T00:00:00.000Z",
        },
      },
    ]);
  });

  it("sends the event only to active subscriptions of the connection and type whose params match", async () => {
    const triggers = openTriggers();
    await configure(triggers, subscriptionArgs("any"));
    await configure(triggers, subscriptionArgs("repo", { params: { repo: "a/b" } }));
    await configure(triggers, subscriptionArgs("number", { params: { number: "7" } }));
    await configure(triggers, subscriptionArgs("other", { params: { repo: "x/y" } }));
    await configure(triggers, subscriptionArgs("push", { type: "push" }));
    await configure(triggers, subscriptionArgs("paused"));
    await configure(triggers, subscriptionArgs("paused", { enabled: false }));
    await configure(triggers, subscriptionArgs("foreign"), "another connection");
    const { subscriptions } = await triggers.notify("c", "issue", { repo: "a/b", number: 7 });
    await triggers.flush();
    expect(subscriptions).toBe(3);
    expect(receivedTokens().sort()).toEqual(["token-any", "token-number", "token-repo"]);
    expect(new Set(hub.received.map(({ body }) => body?.id)).size).toBe(1);
  });

  it("says whether its storage keeps the subscriptions when the process ends", async () => {
    const answerOf = async (storage: TriggerStorage) => {
      const [, tool] = openTriggers({ storage, connectionId: () => "c" }).tools();
      const args = { enabled: true, ...subscriptionArgs("a") };
      return (await tool?.handler(args, {}))?.structuredContent;
    };
    expect(await answerOf(durableMemoryStorage())).toEqual({ success: true, stored: true });
    expect(await answerOf(memoryStorage())).toEqual({ success: true });
  });

  it("does not filter by the default of a param that the client has omitted", async () => {
    const onSubscribe = vi.fn();
    const definition = defineTrigger({
      type: "change",
      description: "A change.",
      params: z.object({ area: z.enum(["ui", "api"]).default("ui") }),
      onSubscribe,
    });
    const triggers = openTriggers({ definitions: [definition] });
    await configure(triggers, subscriptionArgs("any", { type: "change", params: {} }));
    await configure(triggers, subscriptionArgs("ui", { type: "change", params: { area: "ui" } }));
    expect(onSubscribe.mock.calls.map(([{ params }]) => params)).toEqual([{}, { area: "ui" }]);
    for (const data of [{ area: "api" }, {}, { area: "ui" }])
      await triggers.notify("c", "change" as "push", data);
    await triggers.flush();
    expect(receivedTokens().sort()).toEqual(["token-any", "token-any", "token-any", "token-ui"]);
  });

  it("resolves if there is no subscription", async () => {
    expect(await openTriggers().notify("c", "push", {})).toMatchObject({ subscriptions: 0 });
    expect(hub.received).toEqual([]);
  });

  it("rejects data that does not match the payload, and types that are not declared", async () => {
    const triggers = openTriggers();
    await configure(triggers, subscriptionArgs("a"));
    const notifyWith = (type: string, data: unknown) =>
      triggers.notify("c", type as "push", data as object);
    await expect(notifyWith("issue", { number: 1 })).rejects.toMatchObject({
      code: "bad_data",
      message: expect.stringContaining("data.repo: "),
    });
    await expect(notifyWith("push", [])).rejects.toThrow('data of "push" must be an object');
    await expect(notifyWith("push", { big: 1n })).rejects.toThrow(
      'data of "push" cannot be sent as JSON',
    );
    await expect(notifyWith("nothing", {})).rejects.toMatchObject({ code: "unknown_type" });
    expect(await triggers.flush()).toEqual({ pending: 0, nextAt: undefined });
  });

  it("uses the function `matches` of the definition instead of comparing params", async () => {
    const definition = defineTrigger({
      ...issue,
      matches: (params, data) => data.number >= (params.number ?? 0),
    });
    const triggers = openTriggers({ definitions: [definition] });
    await configure(triggers, subscriptionArgs("a", { params: { number: 5 } }));
    for (const number of [4, 5, 6]) await triggers.notify("c", "issue", { repo: "r", number });
    await until(() => expect(receivedNumbers()).toEqual([5, 6]));
  });

  it("resolves only after the delivery if the storage is not durable", async () => {
    let accept = (_: number) => {};
    hub.answer = () =>
      new Promise((resolve) => {
        accept = resolve;
      });
    const triggers = openTriggers({ storage: memoryStorage() });
    await configure(triggers, subscriptionArgs("a"));
    let isDone = false;
    const notified = triggers.notify("c", "issue", { repo: "r" }).then(() => {
      isDone = true;
    });
    await until(() => expect(hub.received).toHaveLength(1));
    expect(isDone).toBe(false);
    hub.answer = () => 202;
    accept(500);
    await notified;
    expect(hub.received).toHaveLength(2);
  });

  it("rejects with a memory storage if the delivery fails, without an unhandled rejection", async () => {
    hub.answer = () => 400;
    const onDropped = vi.fn();
    const triggers = openTriggers({ storage: memoryStorage(), onDropped });
    await configure(triggers, subscriptionArgs("a"));
    await expect(triggers.notify("c", "issue", { repo: "r" })).rejects.toMatchObject({
      code: "not_delivered",
      message: expect.stringContaining("HTTP 400"),
    });
    void triggers.notify("c", "issue", { repo: "r" });
    await until(() => expect(onDropped).toHaveBeenCalledTimes(2));
    // When the subscription ends, `notify` no longer waits for the delivery.
    hub.answer = () => 500;
    const notified = triggers.notify("c", "issue", { repo: "r" });
    await until(() => expect(hub.received.length).toBeGreaterThan(2));
    await configure(triggers, subscriptionArgs("a", { enabled: false }));
    await notified;
  });

  it("rejects when the outbox is full", async () => {
    hub.answer = () => 503;
    const triggers = openTriggers({ maxPending: 2 });
    await configure(triggers, subscriptionArgs("a"));
    for (const number of [1, 2]) await triggers.notify("c", "issue", { repo: "r", number });
    await expect(triggers.notify("c", "issue", { repo: "r" })).rejects.toMatchObject({
      code: "outbox_full",
    });
  });

  it("rejects after close", async () => {
    const triggers = openTriggers();
    await triggers.close();
    await expect(triggers.notify("c", "push", {})).rejects.toMatchObject({ code: "closed" });
  });
});

describe("delivery", () => {
  it("is repeated with the same id while the hub is down, until the hub has accepted each event once", async () => {
    const accepted: unknown[] = [];
    let isDown = true;
    hub.answer = ({ body }) => {
      if (isDown) return 503;
      accepted.push(numberIn(body));
      return 202;
    };
    const triggers = openTriggers();
    await configure(triggers, subscriptionArgs("a"));
    const { callbackUrl } = callback("");
    for (let number = 1; number <= 20; number++)
      await triggers.notify("c", "issue", { repo: "r", number }, { id: `evt-${number}` });
    await until(() => expect(hub.received.length).toBeGreaterThan(3));
    expect(new Set(hub.received.map(({ body }) => body?.id))).toEqual(new Set(["evt-1"]));
    await hub.close();
    // A new receiver opens on the port of the closed one.
    const { answer } = hub;
    hub = await openCallbackReceiver({ port: Number(new URL(callbackUrl).port) });
    hub.answer = answer;
    isDown = false;
    await until(() => expect(accepted).toHaveLength(20));
    expect(accepted).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
    expect(await triggers.flush()).toEqual({ pending: 0, nextAt: undefined });
  });

  it("keeps the order within a subscription, and does not wait for a failing subscription", async () => {
    hub.answer = async ({ token, body }) => {
      if (token === "token-stuck") return 500;
      return numberIn(body) === 1 && hub.received.length < 4 ? 500 : 202;
    };
    const triggers = openTriggers();
    await configure(triggers, subscriptionArgs("stuck"));
    await configure(triggers, subscriptionArgs("a"));
    for (const number of [1, 2, 3]) await triggers.notify("c", "issue", { repo: "r", number });
    const receivedByA = () => hub.received.filter(({ token }) => token === "token-a");
    await until(() => expect(receivedByA().at(-1)?.body?.data).toMatchObject({ number: 3 }));
    const order = receivedByA().map(({ body }) => numberIn(body));
    expect(order).toEqual([...order].sort());
  });

  it("has at most `concurrency` requests in flight", async () => {
    let running = 0;
    let maxRunning = 0;
    hub.answer = async () => {
      maxRunning = Math.max(maxRunning, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
      return 202;
    };
    const triggers = openTriggers({ concurrency: 3 });
    for (let n = 0; n < 12; n++) await configure(triggers, subscriptionArgs(`s${n}`));
    await triggers.notify("c", "issue", { repo: "r" });
    await triggers.flush();
    expect(hub.received).toHaveLength(12);
    expect(maxRunning).toBe(3);
  });

  it("is repeated after the time of Retry-After", async () => {
    let clock = 1_000_000;
    hub.answer = () => ({ status: 429, headers: { "retry-after": "120" } });
    const triggers = openTriggers({ now: () => clock });
    await configure(triggers, subscriptionArgs("a"));
    await triggers.notify("c", "issue", { repo: "r" });
    expect((await triggers.flush()).nextAt).toEqual(new Date(clock + 120_000));
    hub.answer = () => 202;
    clock += 119_999;
    expect(await triggers.flush()).toMatchObject({ pending: 1 });
    expect(hub.received).toHaveLength(1);
    clock += 1;
    expect(await triggers.flush()).toMatchObject({ pending: 0 });
    expect(hub.received).toHaveLength(2);
  });

  it("is repeated after delays that double up to a limit", async () => {
    let clock = 1_000_000;
    hub.answer = () => 500;
    const delays: number[] = [];
    const onRetry = vi.fn();
    const options = {
      now: () => clock,
      random: () => 1,
      retry: { firstMs: 1000, maxMs: 5000 },
      onRetry,
    };
    const triggers = openTriggers(options);
    await configure(triggers, subscriptionArgs("a"));
    await triggers.notify("c", "issue", { repo: "r" });
    for (let n = 0; n < 5; n++) {
      const { nextAt } = await triggers.flush();
      delays.push((nextAt?.getTime() ?? 0) - clock);
      clock = nextAt?.getTime() ?? 0;
    }
    expect(delays).toEqual([1000, 2000, 4000, 5000, 5000]);
    expect(onRetry).toHaveBeenLastCalledWith(
      expect.objectContaining({ attempt: 5, message: expect.stringContaining("HTTP 500") }),
    );
  });

  it("does not follow redirects, which could pass the token to another server", async () => {
    const other = await openCallbackReceiver();
    cleanups.push(() => other.close());
    hub.answer = () => ({ status: 307, headers: { location: other.url } });
    const triggers = openTriggers();
    await configure(triggers, subscriptionArgs("a"));
    await triggers.notify("c", "issue", { repo: "r" });
    await until(() => expect(hub.received.length).toBeGreaterThan(1));
    expect(other.received).toEqual([]);
  });

  it("is repeated if a request exceeds the time limit", async () => {
    let isHanging = true;
    hub.answer = () => (isHanging ? new Promise(() => {}) : 202);
    const triggers = openTriggers({ timeoutMs: 50 });
    await configure(triggers, subscriptionArgs("a"));
    await triggers.notify("c", "issue", { repo: "r" });
    await until(() => expect(hub.received.length).toBeGreaterThan(1));
    isHanging = false;
    await until(async () => expect(await triggers.flush()).toMatchObject({ pending: 0 }));
  });

  it("is repeated once after 401 if the stored token has changed meanwhile", async () => {
    const storage = durableMemoryStorage();
    const triggers = openTriggers({ storage, retry: { firstMs: 1e9, maxMs: 1e9 } });
    await configure(triggers, subscriptionArgs("a", { callbackToken: "old" }));
    hub.answer = async ({ token }) => {
      if (token !== "old") return 202;
      // Another process stores the new token while the request is in flight.
      const [row] = await storage.listSubscriptions("c");
      if (row) await storage.saveSubscription(row, { ...row, callbackToken: "new" }, 0);
      return 401;
    };
    await triggers.notify("c", "issue", { repo: "r" });
    expect(await triggers.flush()).toMatchObject({ pending: 0 });
    expect(receivedTokens()).toEqual(["old", "new"]);
    expect(new Set(hub.received.map(({ body }) => body?.id)).size).toBe(1);
  });

  it("waits after 401 until TRIGGER_CONFIGURE sets a valid token", async () => {
    hub.answer = ({ token }) => (token === "new" ? 202 : 401);
    const triggers = openTriggers({ retry: { firstMs: 1e9, maxMs: 1e9 } });
    await configure(triggers, subscriptionArgs("a", { callbackToken: "old" }));
    await triggers.notify("c", "issue", { repo: "r" });
    expect(await triggers.flush()).toMatchObject({ pending: 1 });
    expect(receivedTokens()).toEqual(["old"]);
    await configure(triggers, subscriptionArgs("a", { callbackToken: "new" }));
    await until(() => expect(receivedTokens()).toEqual(["old", "new"]));
    expect(await triggers.flush()).toMatchObject({ pending: 0 });
  });

  it("deletes the subscription and its events after 410, and keeps other subscriptions", async () => {
    hub.answer = ({ token }) => (token === "token-gone" ? 410 : 202);
    const onUnsubscribe = vi.fn();
    const triggers = openTriggers({
      definitions: [{ ...issue, onUnsubscribe } as TriggerDefinition],
    });
    await configure(triggers, subscriptionArgs("gone"));
    await configure(triggers, subscriptionArgs("stays"));
    for (const number of [1, 2]) await triggers.notify("c", "issue", { repo: "r", number });
    expect(await triggers.flush()).toMatchObject({ pending: 0 });
    expect(receivedTokens().filter((token) => token === "token-gone")).toHaveLength(1);
    expect(receivedTokens().filter((token) => token === "token-stays")).toHaveLength(2);
    expect(await triggers.subscriptions("c")).toMatchObject([{ subscriptionId: "stays" }]);
    expect(onUnsubscribe).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ subscriptionId: "gone" }),
    );
  });

  it("keeps the subscription after 410 if its token was replaced meanwhile", async () => {
    const triggers = openTriggers();
    await configure(triggers, subscriptionArgs("a", { callbackToken: "old" }));
    hub.answer = async ({ token }) => {
      if (token !== "old") return 202;
      await configure(triggers, subscriptionArgs("a", { callbackToken: "new" }));
      return 410;
    };
    await triggers.notify("c", "issue", { repo: "r" });
    await triggers.flush();
    expect(receivedTokens()).toEqual(["old", "new"]);
    expect(await triggers.subscriptions("c")).toHaveLength(1);
  });

  it.each([400, 413])(
    "gives the event up after %i, reports it, and sends the next one",
    async (status) => {
      hub.answer = ({ body }) => (numberIn(body) === 1 ? status : 202);
      const onDropped = vi.fn();
      const triggers = openTriggers({ onDropped });
      await configure(triggers, subscriptionArgs("a"));
      await triggers.notify("c", "issue", { repo: "r", number: 1 }, { id: "evt-1" });
      await triggers.notify("c", "issue", { repo: "r", number: 2 });
      await until(() => expect(receivedNumbers()).toEqual([1, 2]));
      expect(onDropped).toHaveBeenCalledExactlyOnceWith({
        connectionId: "c",
        subscriptionId: "a",
        id: "evt-1",
        type: "issue",
        data: { repo: "r", number: 1 },
        reason: "rejected",
        message: expect.stringContaining(`HTTP ${status}`),
      });
    },
  );

  it("is given up after `keepMs`", async () => {
    let clock = 1_000_000;
    hub.answer = () => 500;
    const onDropped = vi.fn();
    const triggers = openTriggers({ now: () => clock, keepMs: 60_000, onDropped });
    await configure(triggers, subscriptionArgs("a"));
    await triggers.notify("c", "issue", { repo: "r" });
    await triggers.flush();
    clock += 60_000;
    await triggers.flush();
    expect(onDropped).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ reason: "expired" }),
    );
    expect(await triggers.flush()).toMatchObject({ pending: 0 });
  });

  it("continues after an error of the storage", async () => {
    const storage = durableMemoryStorage();
    const claimDue = storage.claimDue;
    let isBroken = true;
    storage.claimDue = async (claim) => {
      if (isBroken) throw new Error("disk full");
      return claimDue(claim);
    };
    const onError = vi.fn(() => {
      isBroken = false;
    });
    const triggers = openTriggers({ storage, onError });
    await configure(triggers, subscriptionArgs("a"));
    await triggers.notify("c", "issue", { repo: "r" });
    await until(() => expect(hub.received).toHaveLength(1));
    expect(onError).toHaveBeenCalledWith(new Error("disk full"));
  });

  it("is passed to waitUntil", async () => {
    const promises: Promise<unknown>[] = [];
    const triggers = openTriggers({ waitUntil: (promise) => promises.push(promise) });
    await configure(triggers, subscriptionArgs("a"));
    await triggers.notify("c", "issue", { repo: "r" });
    await Promise.all(promises);
    expect(hub.received).toHaveLength(1);
  });
});

describe("TRIGGER_CONFIGURE", () => {
  it("keeps the former URL and token if a request omits them", async () => {
    const triggers = openTriggers();
    await configure(triggers, subscriptionArgs("a"));
    expect(
      await configure(triggers, { type: "issue", subscriptionId: "a", params: { repo: "x" } }),
    ).toBe("ok");
    await triggers.notify("c", "issue", { repo: "x" });
    await triggers.notify("c", "issue", { repo: "y" });
    await triggers.flush();
    expect(hub.received).toMatchObject([{ token: "token-a", body: { data: { repo: "x" } } }]);
  });

  it("removes the credentials with the last subscription", async () => {
    const storage = durableMemoryStorage();
    const triggers = openTriggers({ storage });
    await configure(triggers, { type: "issue", ...callback("t") });
    await configure(triggers, { type: "push" });
    await configure(triggers, { type: "issue", enabled: false });
    expect(await storage.listSubscriptions()).toMatchObject([{ type: "push", callbackToken: "t" }]);
    await configure(triggers, { type: "push", enabled: false });
    expect(await configure(triggers, { type: "push" })).toContain(
      "callbackUrl and callbackToken are missing",
    );
    await triggers.notify("c", "push", {});
    await triggers.flush();
    expect(hub.received).toEqual([]);
  });

  it("uses the latest credentials of a connection for clients without subscription ids", async () => {
    const triggers = openTriggers();
    await configure(triggers, { type: "issue", ...callback("first") });
    await configure(triggers, { type: "push", ...callback("second") });
    await triggers.notify("c", "issue", { repo: "r" });
    await triggers.flush();
    expect(receivedTokens()).toEqual(["second"]);
  });

  it.each([
    [{ type: "nothing" }, 'unknown trigger type "nothing": this server has issue, push'],
    [{ params: { number: "x" } }, "params.number: "],
    [{ callbackUrl: "no url" }, "callbackUrl is not a URL"],
    [{ callbackUrl: "ftp://x" }, "callbackUrl must begin with http:// or https://"],
    [{ callbackUrl: undefined }, "callbackUrl is missing"],
    [{ callbackToken: "" }, "callbackToken must be a non-empty string"],
    [{ callbackToken: undefined }, "callbackToken must be a non-empty string"],
    [{ enabled: "yes" }, "enabled"],
  ])("rejects %j and changes nothing", async (change, message) => {
    const triggers = openTriggers();
    expect(await configure(triggers, subscriptionArgs("a", change))).toContain(message);
    expect(await triggers.subscriptions()).toEqual([]);
  });

  it("rejects a callbackUrl for which allowCallback returns false", async () => {
    const triggers = openTriggers({
      allowCallback: ({ hostname }) => hostname === "hub.example.com",
    });
    expect(await configure(triggers, subscriptionArgs("a"))).toContain(
      "callbackUrl is not allowed here",
    );
    const callbackUrl = "https://hub.example.com/cb";
    expect(await configure(triggers, subscriptionArgs("a", { callbackUrl }))).toBe("ok");
  });

  it("accepts disabling a subscription that does not exist", async () => {
    expect(await configure(openTriggers(), subscriptionArgs("a", { enabled: false }))).toBe("ok");
  });

  it("takes the connection id from the token or the option `connectionId`, and rejects calls without", async () => {
    const [, tool] = openTriggers().tools();
    const result = await tool?.handler(subscriptionArgs("a", { enabled: true }), {});
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: "Connection ID not available" }],
    });
    const triggers = openTriggers({ connectionId: async () => "from the option" });
    await configure(triggers, subscriptionArgs("a"));
    expect(await triggers.subscriptions()).toMatchObject([{ connectionId: "from the option" }]);
  });

  describe("hooks", () => {
    const calls: string[] = [];
    /** Records "+" for onSubscribe and "-" for onUnsubscribe. */
    const recordCall =
      (sign: string) =>
      ({ subscriptionId, params }: Subscription<object>) =>
        calls.push(`${sign} ${subscriptionId} ${JSON.stringify(params)}`);
    const issueWithHooks = {
      ...issue,
      onSubscribe: recordCall("+"),
      onUnsubscribe: recordCall("-"),
    } as TriggerDefinition;
    beforeEach(() => {
      calls.length = 0;
    });

    it("are called once for each subscription, and again when its params change", async () => {
      const triggers = openTriggers({ definitions: [issueWithHooks] });
      await configure(triggers, subscriptionArgs("a"));
      await configure(triggers, subscriptionArgs("a", { callbackToken: "rotated" }));
      await configure(triggers, subscriptionArgs("a", { params: { repo: "x" } }));
      await configure(triggers, subscriptionArgs("a", { enabled: false }));
      await configure(triggers, subscriptionArgs("a", { enabled: false }));
      expect(calls).toEqual(["+ a {}", "- a {}", '+ a {"repo":"x"}', '- a {"repo":"x"}']);
    });

    it("restore the former subscription if onSubscribe fails", async () => {
      let isFailing = true;
      const onSubscribe = (subscription: Subscription<object>) => {
        recordCall("+")(subscription);
        if (isFailing) throw new Error("no access to the repository");
      };
      const triggers = openTriggers({ definitions: [{ ...issueWithHooks, onSubscribe }] });
      expect(await configure(triggers, subscriptionArgs("a"))).toBe("no access to the repository");
      expect(await triggers.subscriptions()).toEqual([]);
      isFailing = false;
      expect(await configure(triggers, subscriptionArgs("a"))).toBe("ok");
      isFailing = true;
      await configure(triggers, subscriptionArgs("a", { params: { repo: "x" } }));
      expect(await triggers.subscriptions()).toMatchObject([{ params: {} }]);
      isFailing = false;
      await configure(triggers, subscriptionArgs("a"));
      expect(calls).toEqual(["+ a {}", "+ a {}", "- a {}", '+ a {"repo":"x"}', "+ a {}"]);
    });

    it("can send a first event in onSubscribe", async () => {
      const onSubscribe = () => triggers.notify("c", "issue", { repo: "first" });
      const triggers = openTriggers({ definitions: [{ ...issueWithHooks, onSubscribe }] });
      await configure(triggers, subscriptionArgs("a"));
      await until(() => expect(hub.received).toHaveLength(1));
    });
  });
});

it("lists each connection with subscriptions once", async () => {
  const triggers = openTriggers();
  await configure(triggers, subscriptionArgs("a"), "c1");
  await configure(triggers, subscriptionArgs("b"), "c1");
  await configure(triggers, subscriptionArgs("a", { type: "push" }), "c2");
  expect(await triggers.connections()).toEqual(["c1", "c2"]);
  expect(await triggers.connections("push")).toEqual(["c2"]);
});

describe("definitions", () => {
  it.each([
    ['two definitions have the type "push"', [push, push]],
    ["type must be a non-empty string", [{ ...push, type: "" }]],
    ["sample.repo: ", [{ ...issue, sample: { repo: 1 } as never }]],
  ])("are rejected if they are invalid: %s", (message, definitions) => {
    expect(() => createTriggers({ definitions })).toThrow(message);
  });
});
