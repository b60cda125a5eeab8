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
const closing: (() => Promise<void>)[] = [];
beforeEach(async () => {
  hub = await openCallbackReceiver();
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
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

/** A memory storage that `notify` does not wait for, like a durable one. */
const storedInMemory = (): TriggerStorage => ({ ...memoryStorage(), isDurable: true });

function open(options: Partial<TriggersOptions<readonly TriggerDefinition[]>> = {}) {
  const triggers = createTriggers({
    definitions: [issue, push],
    storage: storedInMemory(),
    onError: (error) => errors.push(error),
    ...quickRetries,
    ...(options as object),
  });
  closing.push(() => triggers.close());
  return triggers;
}
const errors: unknown[] = [];
afterEach(() => {
  expect(errors.splice(0)).toEqual([]);
});

const callback = (token: string) => ({ callbackUrl: hub.url, callbackToken: token });
const sub = (id: string, rest: object = {}) => ({
  type: "issue",
  subscriptionId: id,
  ...callback(`token-${id}`),
  ...rest,
});
const until = (condition: () => void) => vi.waitFor(condition, { timeout: 60_000, interval: 5 });
const tokens = () => hub.received.map(({ token }) => token);
const numberIn = (body: Callback["body"]) => (body?.data as { number: number } | undefined)?.number;
const numbers = () => hub.received.map(({ body }) => numberIn(body));

describe("notify", () => {
  it("posts type, data, id and time with the token", async () => {
    const triggers = open({ now: () => Date.parse("2026-11-16T00:00:00Z") });
    await configure(triggers, sub("a"));
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

  it("goes only to active subscriptions of that connection and type whose params match", async () => {
    const triggers = open();
    await configure(triggers, sub("any"));
    await configure(triggers, sub("repo", { params: { repo: "a/b" } }));
    await configure(triggers, sub("number", { params: { number: "7" } }));
    await configure(triggers, sub("other", { params: { repo: "x/y" } }));
    await configure(triggers, sub("push", { type: "push" }));
    await configure(triggers, sub("paused"));
    await configure(triggers, sub("paused", { enabled: false }));
    await configure(triggers, sub("foreign"), "another connection");
    const { subscriptions } = await triggers.notify("c", "issue", { repo: "a/b", number: 7 });
    await triggers.flush();
    expect(subscriptions).toBe(3);
    expect(tokens().sort()).toEqual(["token-any", "token-number", "token-repo"]);
    expect(new Set(hub.received.map(({ body }) => body?.id)).size).toBe(1);
  });

  it("resolves without a subscription", async () => {
    expect(await open().notify("c", "push", {})).toMatchObject({ subscriptions: 0 });
    expect(hub.received).toEqual([]);
  });

  it("rejects data that does not match the payload, and types that are not declared", async () => {
    const triggers = open();
    await configure(triggers, sub("a"));
    const bad = (type: string, data: unknown) =>
      triggers.notify("c", type as "push", data as object);
    await expect(bad("issue", { number: 1 })).rejects.toMatchObject({
      code: "bad_data",
      message: expect.stringContaining("data.repo: "),
    });
    await expect(bad("push", [])).rejects.toThrow('data of "push" must be an object');
    await expect(bad("push", { big: 1n })).rejects.toThrow('data of "push" cannot be sent as JSON');
    await expect(bad("nothing", {})).rejects.toMatchObject({ code: "unknown_type" });
    expect(await triggers.flush()).toEqual({ pending: 0, nextAt: undefined });
  });

  it("compares with the matches hook if there is one", async () => {
    const definition = defineTrigger({
      ...issue,
      matches: (params, data) => data.number >= (params.number ?? 0),
    });
    const triggers = open({ definitions: [definition] });
    await configure(triggers, sub("a", { params: { number: 5 } }));
    for (const number of [4, 5, 6]) await triggers.notify("c", "issue", { repo: "r", number });
    await until(() => expect(numbers()).toEqual([5, 6]));
  });

  it("resolves when the event is delivered, if the storage is not durable", async () => {
    let accept = (_: number) => {};
    hub.answer = () =>
      new Promise((resolve) => {
        accept = resolve;
      });
    const triggers = open({ storage: memoryStorage() });
    await configure(triggers, sub("a"));
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

  it("rejects if a memory storage cannot deliver it, without an unhandled rejection", async () => {
    hub.answer = () => 400;
    const onDropped = vi.fn();
    const triggers = open({ storage: memoryStorage(), onDropped });
    await configure(triggers, sub("a"));
    await expect(triggers.notify("c", "issue", { repo: "r" })).rejects.toMatchObject({
      code: "not_delivered",
      message: expect.stringContaining("HTTP 400"),
    });
    void triggers.notify("c", "issue", { repo: "r" });
    await until(() => expect(onDropped).toHaveBeenCalledTimes(2));
    // The subscription ends while an event waits: no caller waits forever.
    hub.answer = () => 500;
    const waiting = triggers.notify("c", "issue", { repo: "r" });
    await until(() => expect(hub.received.length).toBeGreaterThan(2));
    await configure(triggers, sub("a", { enabled: false }));
    await waiting;
  });

  it("rejects when the outbox is full", async () => {
    hub.answer = () => 503;
    const triggers = open({ maxPending: 2 });
    await configure(triggers, sub("a"));
    for (const number of [1, 2]) await triggers.notify("c", "issue", { repo: "r", number });
    await expect(triggers.notify("c", "issue", { repo: "r" })).rejects.toMatchObject({
      code: "outbox_full",
    });
  });

  it("rejects after close", async () => {
    const triggers = open();
    await triggers.close();
    await expect(triggers.notify("c", "push", {})).rejects.toMatchObject({ code: "closed" });
  });
});

describe("delivery", () => {
  it("is repeated with the same id while the hub is down: nothing is lost, each delivered once", async () => {
    const accepted: unknown[] = [];
    let isDown = true;
    hub.answer = ({ body }) => {
      if (isDown) return 503;
      accepted.push(numberIn(body));
      return 202;
    };
    const triggers = open();
    await configure(triggers, sub("a"));
    const { callbackUrl } = callback("");
    for (let number = 1; number <= 20; number++)
      await triggers.notify("c", "issue", { repo: "r", number }, { id: `evt-${number}` });
    await until(() => expect(hub.received.length).toBeGreaterThan(3));
    expect(new Set(hub.received.map(({ body }) => body?.id))).toEqual(new Set(["evt-1"]));
    await hub.close();
    // Now the port is closed; another hub opens on the same one.
    const { answer } = hub;
    hub = await openCallbackReceiver({ port: Number(new URL(callbackUrl).port) });
    hub.answer = answer;
    isDown = false;
    await until(() => expect(accepted).toHaveLength(20));
    expect(accepted).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
    expect(await triggers.flush()).toEqual({ pending: 0, nextAt: undefined });
  });

  it("keeps the order of a subscription, and does not wait for a slow one", async () => {
    hub.answer = async ({ token, body }) => {
      if (token === "token-stuck") return 500;
      return numberIn(body) === 1 && hub.received.length < 4 ? 500 : 202;
    };
    const triggers = open();
    await configure(triggers, sub("stuck"));
    await configure(triggers, sub("a"));
    for (const number of [1, 2, 3]) await triggers.notify("c", "issue", { repo: "r", number });
    const ofA = () => hub.received.filter(({ token }) => token === "token-a");
    await until(() => expect(ofA().at(-1)?.body?.data).toMatchObject({ number: 3 }));
    const order = ofA().map(({ body }) => numberIn(body));
    expect(order).toEqual([...order].sort());
  });

  it("has at most the given number of requests in flight", async () => {
    let running = 0;
    let most = 0;
    hub.answer = async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
      return 202;
    };
    const triggers = open({ concurrency: 3 });
    for (let n = 0; n < 12; n++) await configure(triggers, sub(`s${n}`));
    await triggers.notify("c", "issue", { repo: "r" });
    await triggers.flush();
    expect(hub.received).toHaveLength(12);
    expect(most).toBe(3);
  });

  it("waits as long as Retry-After says", async () => {
    let clock = 1_000_000;
    hub.answer = () => ({ status: 429, headers: { "retry-after": "120" } });
    const triggers = open({ now: () => clock });
    await configure(triggers, sub("a"));
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

  it("doubles the delay with jitter, up to a limit", async () => {
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
    const triggers = open(options);
    await configure(triggers, sub("a"));
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

  it("does not follow redirects with the token", async () => {
    const other = await openCallbackReceiver();
    closing.push(() => other.close());
    hub.answer = () => ({ status: 307, headers: { location: other.url } });
    const triggers = open();
    await configure(triggers, sub("a"));
    await triggers.notify("c", "issue", { repo: "r" });
    await until(() => expect(hub.received.length).toBeGreaterThan(1));
    expect(other.received).toEqual([]);
  });

  it("ends an attempt after the time limit", async () => {
    let isHanging = true;
    hub.answer = () => (isHanging ? new Promise(() => {}) : 202);
    const triggers = open({ timeoutMs: 50 });
    await configure(triggers, sub("a"));
    await triggers.notify("c", "issue", { repo: "r" });
    await until(() => expect(hub.received.length).toBeGreaterThan(1));
    isHanging = false;
    await until(async () => expect(await triggers.flush()).toMatchObject({ pending: 0 }));
  });

  it("401: the rotated token is reloaded once, and the event delivered with it", async () => {
    const storage = storedInMemory();
    const triggers = open({ storage, retry: { firstMs: 1e9, maxMs: 1e9 } });
    await configure(triggers, sub("a", { callbackToken: "old" }));
    hub.answer = async ({ token }) => {
      if (token !== "old") return 202;
      // Another process stores the new token while the request is in flight.
      const [row] = await storage.listSubscriptions("c");
      if (row) await storage.saveSubscription(row, { ...row, callbackToken: "new" }, 0);
      return 401;
    };
    await triggers.notify("c", "issue", { repo: "r" });
    expect(await triggers.flush()).toMatchObject({ pending: 0 });
    expect(tokens()).toEqual(["old", "new"]);
    expect(new Set(hub.received.map(({ body }) => body?.id)).size).toBe(1);
  });

  it("401: the event is kept until TRIGGER_CONFIGURE brings a valid token", async () => {
    hub.answer = ({ token }) => (token === "new" ? 202 : 401);
    const triggers = open({ retry: { firstMs: 1e9, maxMs: 1e9 } });
    await configure(triggers, sub("a", { callbackToken: "old" }));
    await triggers.notify("c", "issue", { repo: "r" });
    expect(await triggers.flush()).toMatchObject({ pending: 1 });
    expect(tokens()).toEqual(["old"]);
    await configure(triggers, sub("a", { callbackToken: "new" }));
    await until(() => expect(tokens()).toEqual(["old", "new"]));
    expect(await triggers.flush()).toMatchObject({ pending: 0 });
  });

  it("410: the subscription is dropped with its events, and its siblings stay", async () => {
    hub.answer = ({ token }) => (token === "token-gone" ? 410 : 202);
    const onUnsubscribe = vi.fn();
    const triggers = open({ definitions: [{ ...issue, onUnsubscribe } as TriggerDefinition] });
    await configure(triggers, sub("gone"));
    await configure(triggers, sub("stays"));
    for (const number of [1, 2]) await triggers.notify("c", "issue", { repo: "r", number });
    expect(await triggers.flush()).toMatchObject({ pending: 0 });
    expect(tokens().filter((token) => token === "token-gone")).toHaveLength(1);
    expect(tokens().filter((token) => token === "token-stays")).toHaveLength(2);
    expect(await triggers.subscriptions("c")).toMatchObject([{ subscriptionId: "stays" }]);
    expect(onUnsubscribe).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ subscriptionId: "gone" }),
    );
  });

  it("410 for a token that was replaced meanwhile: the subscription stays", async () => {
    const triggers = open();
    await configure(triggers, sub("a", { callbackToken: "old" }));
    hub.answer = async ({ token }) => {
      if (token !== "old") return 202;
      await configure(triggers, sub("a", { callbackToken: "new" }));
      return 410;
    };
    await triggers.notify("c", "issue", { repo: "r" });
    await triggers.flush();
    expect(tokens()).toEqual(["old", "new"]);
    expect(await triggers.subscriptions("c")).toHaveLength(1);
  });

  it.each([400, 413])(
    "%i: the event is given up, reported, and the next one sent",
    async (status) => {
      hub.answer = ({ body }) => (numberIn(body) === 1 ? status : 202);
      const onDropped = vi.fn();
      const triggers = open({ onDropped });
      await configure(triggers, sub("a"));
      await triggers.notify("c", "issue", { repo: "r", number: 1 }, { id: "evt-1" });
      await triggers.notify("c", "issue", { repo: "r", number: 2 });
      await until(() => expect(numbers()).toEqual([1, 2]));
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

  it("is given up after the time that events are kept", async () => {
    let clock = 1_000_000;
    hub.answer = () => 500;
    const onDropped = vi.fn();
    const triggers = open({ now: () => clock, keepMs: 60_000, onDropped });
    await configure(triggers, sub("a"));
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
    const storage = storedInMemory();
    const claimDue = storage.claimDue;
    let isBroken = true;
    storage.claimDue = async (claim) => {
      if (isBroken) throw new Error("disk full");
      return claimDue(claim);
    };
    const onError = vi.fn(() => {
      isBroken = false;
    });
    const triggers = open({ storage, onError });
    await configure(triggers, sub("a"));
    await triggers.notify("c", "issue", { repo: "r" });
    await until(() => expect(hub.received).toHaveLength(1));
    expect(onError).toHaveBeenCalledWith(new Error("disk full"));
  });

  it("is passed to waitUntil", async () => {
    const promises: Promise<unknown>[] = [];
    const triggers = open({ waitUntil: (promise) => promises.push(promise) });
    await configure(triggers, sub("a"));
    await triggers.notify("c", "issue", { repo: "r" });
    await Promise.all(promises);
    expect(hub.received).toHaveLength(1);
  });
});

describe("TRIGGER_CONFIGURE", () => {
  it("keeps the former URL and token if it is enabled without", async () => {
    const triggers = open();
    await configure(triggers, sub("a"));
    expect(
      await configure(triggers, { type: "issue", subscriptionId: "a", params: { repo: "x" } }),
    ).toBe("ok");
    await triggers.notify("c", "issue", { repo: "x" });
    await triggers.notify("c", "issue", { repo: "y" });
    await triggers.flush();
    expect(hub.received).toMatchObject([{ token: "token-a", body: { data: { repo: "x" } } }]);
  });

  it("removes the credentials with the last trigger", async () => {
    const storage = storedInMemory();
    const triggers = open({ storage });
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

  it("keeps one credential per connection for clients without subscription ids", async () => {
    const triggers = open();
    await configure(triggers, { type: "issue", ...callback("first") });
    await configure(triggers, { type: "push", ...callback("second") });
    await triggers.notify("c", "issue", { repo: "r" });
    await triggers.flush();
    expect(tokens()).toEqual(["second"]);
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
    const triggers = open();
    expect(await configure(triggers, sub("a", change))).toContain(message);
    expect(await triggers.subscriptions()).toEqual([]);
  });

  it("asks allowCallback", async () => {
    const triggers = open({ allowCallback: ({ hostname }) => hostname === "hub.example.com" });
    expect(await configure(triggers, sub("a"))).toContain("callbackUrl is not allowed here");
    const callbackUrl = "https://hub.example.com/cb";
    expect(await configure(triggers, sub("a", { callbackUrl }))).toBe("ok");
  });

  it("disables a subscription that does not exist", async () => {
    expect(await configure(open(), sub("a", { enabled: false }))).toBe("ok");
  });

  it("needs a connection id, from the token or from the hook", async () => {
    const [, tool] = open().tools();
    const result = await tool?.handler(sub("a", { enabled: true }), {});
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: "Connection ID not available" }],
    });
    const triggers = open({ connectionId: async () => "from the hook" });
    await configure(triggers, sub("a"));
    expect(await triggers.subscriptions()).toMatchObject([{ connectionId: "from the hook" }]);
  });

  describe("calls the hooks", () => {
    const calls: string[] = [];
    const describeCall = (name: string) => (one: Subscription<object>) =>
      calls.push(`${name} ${one.subscriptionId} ${JSON.stringify(one.params)}`);
    const hooked = {
      ...issue,
      onSubscribe: describeCall("+"),
      onUnsubscribe: describeCall("-"),
    } as TriggerDefinition;
    beforeEach(() => {
      calls.length = 0;
    });

    it("once for each subscription, and again when its params change", async () => {
      const triggers = open({ definitions: [hooked] });
      await configure(triggers, sub("a"));
      await configure(triggers, sub("a", { callbackToken: "rotated" }));
      await configure(triggers, sub("a", { params: { repo: "x" } }));
      await configure(triggers, sub("a", { enabled: false }));
      await configure(triggers, sub("a", { enabled: false }));
      expect(calls).toEqual(["+ a {}", "- a {}", '+ a {"repo":"x"}', '- a {"repo":"x"}']);
    });

    it("and restores the former subscription if onSubscribe fails", async () => {
      let isFailing = true;
      const onSubscribe = (one: Subscription<object>) => {
        describeCall("+")(one);
        if (isFailing) throw new Error("no access to the repository");
      };
      const triggers = open({ definitions: [{ ...hooked, onSubscribe }] });
      expect(await configure(triggers, sub("a"))).toBe("no access to the repository");
      expect(await triggers.subscriptions()).toEqual([]);
      isFailing = false;
      expect(await configure(triggers, sub("a"))).toBe("ok");
      isFailing = true;
      await configure(triggers, sub("a", { params: { repo: "x" } }));
      expect(await triggers.subscriptions()).toMatchObject([{ params: {} }]);
      isFailing = false;
      await configure(triggers, sub("a"));
      expect(calls).toEqual(["+ a {}", "+ a {}", "- a {}", '+ a {"repo":"x"}', "+ a {}"]);
    });

    it("so that onSubscribe can send a first event", async () => {
      const onSubscribe = () => triggers.notify("c", "issue", { repo: "first" });
      const triggers = open({ definitions: [{ ...hooked, onSubscribe }] });
      await configure(triggers, sub("a"));
      await until(() => expect(hub.received).toHaveLength(1));
    });
  });
});

it("connections lists each connection with subscriptions once", async () => {
  const triggers = open();
  await configure(triggers, sub("a"), "c1");
  await configure(triggers, sub("b"), "c1");
  await configure(triggers, sub("a", { type: "push" }), "c2");
  expect(await triggers.connections()).toEqual(["c1", "c2"]);
  expect(await triggers.connections("push")).toEqual(["c2"]);
});

describe("definitions", () => {
  it.each([
    [[push, push], 'two definitions have the type "push"'],
    [[{ ...push, type: "" }], "type must be a non-empty string"],
    [[{ ...issue, sample: { repo: 1 } as never }], "sample.repo: "],
  ])("are checked", (definitions, message) => {
    expect(() => createTriggers({ definitions })).toThrow(message);
  });
});
