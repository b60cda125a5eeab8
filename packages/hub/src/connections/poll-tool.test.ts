import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { describe, expect, it } from "vitest";
import { CONNECTION, NOW, offering, setUpPoll, subscriptionOf } from "./poll.test-support.ts";

const polledSubscription = (poll: JsonObject = {}, fields = {}) =>
  subscriptionOf({ poll: { tool: "list_issues", items: "issues", key: "id", ...poll }, ...fields });

const structured = (structuredContent: Json): Json => ({
  isError: false,
  content: [],
  structuredContent,
});
const text = (...texts: string[]): Json => ({
  isError: false,
  content: texts.map((text) => ({ type: "text", text })),
});
const issues = (...ids: (number | string)[]): Json =>
  structured({ issues: ids.map((id) => ({ id, title: `Issue ${id}` })) });

it("records the items of the first list, then stores an event for each new item", async () => {
  const { poll, stored, requests, state } = setUpPoll();
  const subscription = polledSubscription({ arguments: { repo: "octo/town" }, everySeconds: 10 });
  state.respond = () => issues(1, 2);
  await poll(offering(), subscription);
  expect(subscription).toMatchObject({
    state: "active",
    configured: 1,
    error: null,
    next_at: NOW + 10_000,
  });
  expect(await stored()).toEqual([]);

  state.now = subscription.next_at;
  state.respond = () => issues(4, 3, 2, 1, 4);
  await poll(offering(), subscription);
  expect(await stored()).toEqual(
    [4, 3].map((id) => ({
      source: CONNECTION.id,
      type: "issue",
      external_id: expect.stringMatching(`^[0-9a-f]{12}:${id}$`),
      data: { id, title: `Issue ${id}` },
    })),
  );
  expect(requests).toEqual(Array(2).fill({ method: "list_issues", params: { repo: "octo/town" } }));
});

it("stores no event for a known item that was missing in one list", async () => {
  const { poll, stored, state } = setUpPoll();
  const subscription = polledSubscription();
  for (const list of [issues(1), issues(), issues(1)]) {
    state.respond = () => list;
    state.now = subscription.next_at;
    await poll(offering(), subscription);
  }
  expect(await stored()).toEqual([]);
});

it("stores an event once, even if the process ended before the item's key was saved", async () => {
  const { poll, stored, state } = setUpPoll();
  const subscription = polledSubscription();
  state.respond = () => issues();
  await poll(offering(), subscription);
  state.now = subscription.next_at;
  state.respond = () => issues(1);
  state.isLeased = false;
  await expect(poll(offering(), subscription)).rejects.toMatchObject({ code: "lease_lost" });
  state.isLeased = true;
  await poll(offering(), subscription);
  expect(await stored()).toHaveLength(1);
});

it("distinguishes equal keys in lists that were requested with different arguments", async () => {
  const { poll, stored, state } = setUpPoll();
  const a = polledSubscription({ arguments: { repo: "a" } });
  const b = polledSubscription({ arguments: { repo: "b" } }, { id: "subscription-2" });
  state.respond = () => issues();
  await poll(offering(), a, b);
  state.now = a.next_at;
  state.respond = () => issues(1);
  await poll(offering(), a, b);
  expect(await stored()).toHaveLength(2);
});

it("uses the name of the tool as the event type if the trigger has no type", async () => {
  const { poll, stored, state } = setUpPoll();
  const subscription = polledSubscription({}, { type: "", position: { seen: "" } });
  state.respond = () => issues(1);
  await poll(offering(), subscription);
  expect(await stored()).toMatchObject([{ type: "list_issues" }]);
});

describe("finds the list in", () => {
  it.each([
    ["structured content", { items: "a.b" }, structured({ a: { b: [{ id: 1 }] } }), 1],
    [
      "several lists",
      { items: "pages[].items" },
      structured({ pages: [{ items: [{ id: 1 }] }, { items: [{ id: 2 }] }] }),
      2,
    ],
    ["a text that contains JSON", { items: "issues" }, text('{"issues":[{"id":1}]}'), 1],
    ["a text that is the list", { items: undefined }, text('[{"id":1},{"id":2}]'), 2],
    ["one text for each item", { items: undefined }, text('{"id":1}', '{"id":2}'), 2],
  ])("%s", async (_, setting, answer, expected) => {
    const { poll, stored, state } = setUpPoll();
    const subscription = polledSubscription(setting as JsonObject, { position: { seen: "" } });
    state.respond = () => answer;
    await poll(offering(), subscription);
    expect(subscription.error).toBeNull();
    expect(await stored()).toHaveLength(expected);
  });
});

describe("a problem", () => {
  it.each([
    [
      "no list at the path",
      structured({ other: [] }),
      "has no list at issues. Correct poll.items.",
    ],
    ["a text that is not JSON", text("none"), "returned text that is not JSON"],
    [
      "a text that is nested too deeply",
      text(`${"[".repeat(9_000)}${"]".repeat(9_000)}`),
      "is nested deeper than 200 levels",
    ],
    [
      "an error of the tool",
      { isError: true, content: [{ type: "text", text: "no access" }] },
      "no access",
    ],
  ])("makes the poll fail and be retried: %s", async (_, answer, error) => {
    const { poll, state } = setUpPoll();
    const subscription = polledSubscription({}, { position: { seen: "" } });
    state.respond = () => answer as Json;
    await poll(offering(), subscription);
    expect(subscription).toMatchObject({
      state: "failed",
      error: expect.stringContaining(error),
      attempt: 1,
      next_at: NOW + 1_000,
      position: { seen: "" },
    });
  });

  it("in single items without a key is reported, and the items are skipped", async () => {
    const { poll, stored, state } = setUpPoll();
    const subscription = polledSubscription({}, { position: { seen: "" } });
    state.respond = () => structured({ issues: [{ id: 1 }, { id: null }, "x"] });
    await poll(offering(), subscription);
    expect(await stored()).toHaveLength(1);
    expect(subscription.error).toBe(
      "2 of 3 items have no value at id, and were skipped. Correct poll.key.",
    );
  });

  it("does not prevent the polls of other subscriptions", async () => {
    const { poll, stored, state } = setUpPoll();
    const failing = polledSubscription({ tool: "fails" });
    const sibling = polledSubscription({}, { id: "subscription-2", position: { seen: "" } });
    state.respond = ({ method }) => {
      if (method === "fails") throw new Error("unreachable");
      return issues(1);
    };
    await poll(offering(), failing, sibling);
    expect([failing.state, sibling.state]).toEqual(["failed", "active"]);
    expect(await stored()).toHaveLength(1);
  });

  it("is reported if the list has more than 10,000 items; the others are not read", async () => {
    const { poll, stored, state } = setUpPoll();
    const subscription = polledSubscription();
    const ids = Array.from({ length: 10_001 }, (_, index) => index);
    state.respond = () => issues(...ids);
    await poll(offering(), subscription);
    expect(subscription.error).toContain("only the first 10000 are read");
    expect(String(subscription.position?.seen)).toHaveLength(160_000);

    state.now = subscription.next_at;
    state.respond = () => issues("new", ...ids.slice(0, 100));
    await poll(offering(), subscription);
    expect(await stored()).toMatchObject([{ data: { id: "new" } }]);
    expect(String(subscription.position?.seen)).toHaveLength(160_000);

    // Key 100 is the oldest that is not in the list, so it was dropped.
    state.now = subscription.next_at;
    state.respond = () => issues(100, 101);
    await poll(offering(), subscription);
    expect(await stored()).toMatchObject([{ data: { id: "new" } }, { data: { id: 100 } }]);
  });
});

it("polls only subscriptions that are due and wanted active", async () => {
  const { poll, requests } = setUpPoll();
  await poll(
    offering(),
    polledSubscription({}, { next_at: NOW + 1 }),
    polledSubscription({}, { wanted: "paused" }),
    polledSubscription({}, { wanted: "removed" }),
  );
  expect(requests).toEqual([]);
});

it("limits the polls of one visit and their concurrency, and polls in the order of the due time", async () => {
  const { poll, requests, state } = setUpPoll();
  const subscriptions = Array.from({ length: 20 }, (_, index) =>
    polledSubscription(
      { tool: `tool ${index}` },
      { id: `subscription-${index}`, next_at: NOW - index },
    ),
  );
  let running = 0;
  let maxRunning = 0;
  state.respond = async () => {
    running += 1;
    maxRunning = Math.max(maxRunning, running);
    await new Promise(setImmediate);
    running -= 1;
    return issues(1);
  };
  await poll(offering(), ...subscriptions);
  expect(maxRunning).toBe(4);
  expect(requests.map(({ method }) => method)).toEqual(
    Array.from({ length: 16 }, (_, index) => `tool ${19 - index}`),
  );
  await poll(offering(), ...subscriptions);
  expect(requests).toHaveLength(20);
});
