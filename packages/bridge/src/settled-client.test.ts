import { describe, expect, it } from "vitest";
import { createManualTimers } from "../../../test/support/manual-timers.ts";
import { createSettledClient } from "./settled-client.ts";
import { LIST_METHODS } from "./settles-at.ts";

function setup() {
  const { timers, advance, pending } = createManualTimers();
  const stop = new AbortController();
  const client = createSettledClient(stop.signal, timers);
  let outcome = "waiting";
  client.settled.then(
    () => {
      outcome = "settled";
    },
    () => {
      outcome = "aborted";
    },
  );
  return { client, advance, pending, stop, outcome: () => outcome };
}

describe("createSettledClient", () => {
  it("settles after the last of the three lists, and not after the first ones", async () => {
    const { client, advance, outcome } = setup();
    client.initialized();
    const slow = Promise.withResolvers<object>();
    await Promise.all([client.track("tools/list", Promise.resolve({}))]);
    const last = client.track("resources/list", slow.promise);
    await client.track("prompts/list", Promise.resolve({}));
    await advance(30_000);
    expect(outcome()).toBe("waiting");
    slow.resolve({});
    await last;
    await advance(999);
    expect(outcome()).toBe("waiting");
    await advance(1);
    expect(outcome()).toBe("settled");
  });

  it("waits for a client that repeats failed lists", async () => {
    const { client, advance, outcome } = setup();
    client.initialized();
    for (const delay of [250, 500, 1_000, 2_000]) {
      for (const method of LIST_METHODS)
        await expect(client.track(method, Promise.reject(new Error("down")))).rejects.toThrow();
      await advance(delay);
    }
    expect(outcome()).toBe("waiting");
    for (const method of LIST_METHODS) await client.track(method, Promise.resolve({}));
    await advance(1_000);
    expect(outcome()).toBe("settled");
  });

  it("settles five seconds after lists that failed", async () => {
    const { client, advance, outcome } = setup();
    client.initialized();
    for (const method of LIST_METHODS)
      await expect(client.track(method, Promise.reject(new Error("down")))).rejects.toThrow();
    await advance(4_999);
    expect(outcome()).toBe("waiting");
    await advance(1);
    expect(outcome()).toBe("settled");
  });

  it("waits for the last page of a list", async () => {
    const { client, advance, outcome } = setup();
    client.initialized();
    for (const method of LIST_METHODS)
      await client.track(method, Promise.resolve({ nextCursor: "2" }));
    await advance(2_000);
    expect(outcome()).toBe("waiting");
    for (const method of LIST_METHODS) await client.track(method, Promise.resolve({}));
    await advance(1_000);
    expect(outcome()).toBe("settled");
  });

  it("settles five seconds after `initialized` without any list, and not before `initialized`", async () => {
    const { client, advance, outcome } = setup();
    await advance(60_000);
    expect(outcome()).toBe("waiting");
    client.initialized();
    await advance(4_999);
    expect(outcome()).toBe("waiting");
    await advance(1);
    expect(outcome()).toBe("settled");
  });

  it("settles after a minute if a list gets no response", async () => {
    const { client, advance, outcome } = setup();
    client.initialized();
    void client.track("tools/list", new Promise<object>(() => {}));
    await advance(59_999);
    expect(outcome()).toBe("waiting");
    await advance(1);
    expect(outcome()).toBe("settled");
  });

  it("rejects and stops its timer if the client disconnects first", async () => {
    const { client, advance, pending, outcome, stop } = setup();
    client.initialized();
    expect(pending()).toBe(1);
    stop.abort();
    await client.track("tools/list", Promise.resolve({}));
    await advance(60_000);
    expect([outcome(), pending()]).toEqual(["aborted", 0]);
  });
});
