import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { describe, expect, it } from "vitest";
import { CONNECTION, NOW, offering, setUpPoll, subscriptionOf } from "./poll.test-support.ts";

const polling = (poll: JsonObject = {}, given = {}) =>
  subscriptionOf({ poll: { tool: "list_issues", items: "issues", key: "id", ...poll }, ...given });

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

it("only records the items of the first list; then each new item is an event", async () => {
  const { poll, stored, requests, state } = setUpPoll();
  const subscription = polling({ arguments: { repo: "octo/town" }, everySeconds: 10 });
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

it("does not repeat an item that was missing in one list", async () => {
  const { poll, stored, state } = setUpPoll();
  const subscription = polling();
  for (const list of [issues(1), issues(), issues(1)]) {
    state.respond = () => list;
    state.now = subscription.next_at;
    await poll(offering(), subscription);
  }
  expect(await stored()).toEqual([]);
});

it("finds the items again if it ended before they were recorded, and stores them once", async () => {
  const { poll, stored, state } = setUpPoll();
  const subscription = polling();
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

it("distinguishes equal keys in the lists of different arguments", async () => {
  const { poll, stored, state } = setUpPoll();
  const a = polling({ arguments: { repo: "a" } });
  const b = polling({ arguments: { repo: "b" } }, { id: "subscription-2" });
  state.respond = () => issues();
  await poll(offering(), a, b);
  state.now = a.next_at;
  state.respond = () => issues(1);
  await poll(offering(), a, b);
  expect(await stored()).toHaveLength(2);
});

it("uses the name of the tool as the type of a trigger without one", async () => {
  const { poll, stored, state } = setUpPoll();
  const subscription = polling({}, { type: "", position: { seen: "" } });
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
    ["the JSON of a text", { items: "issues" }, text('{"issues":[{"id":1}]}'), 1],
    ["a text that is the list", { items: undefined }, text('[{"id":1},{"id":2}]'), 2],
    ["one text for each item", { items: undefined }, text('{"id":1}', '{"id":2}'), 2],
  ])("%s", async (_, setting, answer, expected) => {
    const { poll, stored, state } = setUpPoll();
    const subscription = polling(setting as JsonObject, { position: { seen: "" } });
    state.respond = () => answer;
    await poll(offering(), subscription);
    expect(subscription.error).toBeNull();
    expect(await stored()).toHaveLength(expected);
  });
});

describe("problems", () => {
  it.each([
    [
      "no list at the path",
      structured({ other: [] }),
      "has no list at issues. Correct poll.items.",
    ],
    ["a text that is not JSON", text("none"), "returned text that is not JSON"],
    [
      "a text that is nested too deep",
      text(`${"[".repeat(9_000)}${"]".repeat(9_000)}`),
      "is nested deeper than 200 levels",
    ],
    [
      "an error of the tool",
      { isError: true, content: [{ type: "text", text: "no access" }] },
      "no access",
    ],
  ])("%s: it fails, and is tried again", async (_, answer, error) => {
    const { poll, state } = setUpPoll();
    const subscription = polling({}, { position: { seen: "" } });
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

  it("skips items without a key, and reports them", async () => {
    const { poll, stored, state } = setUpPoll();
    const subscription = polling({}, { position: { seen: "" } });
    state.respond = () => structured({ issues: [{ id: 1 }, { id: null }, "x"] });
    await poll(offering(), subscription);
    expect(await stored()).toHaveLength(1);
    expect(subscription.error).toBe(
      "2 of 3 items have no value at id, and were skipped. Correct poll.key.",
    );
  });

  it("does not prevent the poll of a sibling", async () => {
    const { poll, stored, state } = setUpPoll();
    const failing = polling({ tool: "fails" });
    const sibling = polling({}, { id: "subscription-2", position: { seen: "" } });
    state.respond = ({ method }) => {
      if (method === "fails") throw new Error("unreachable");
      return issues(1);
    };
    await poll(offering(), failing, sibling);
    expect([failing.state, sibling.state]).toEqual(["failed", "active"]);
    expect(await stored()).toHaveLength(1);
  });

  it("reads a bounded number of items and keys", async () => {
    const { poll, stored, state } = setUpPoll();
    const subscription = polling();
    const ids = Array.from({ length: 10_001 }, (_, at) => at);
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

it("polls only what is due and active", async () => {
  const { poll, requests } = setUpPoll();
  await poll(
    offering(),
    polling({}, { next_at: NOW + 1 }),
    polling({}, { wanted: "paused" }),
    polling({}, { wanted: "removed" }),
  );
  expect(requests).toEqual([]);
});

it("limits the polls of one visit and their concurrency, and polls the longest due ones first", async () => {
  const { poll, requests, state } = setUpPoll();
  const subscriptions = Array.from({ length: 20 }, (_, at) =>
    polling({ tool: `tool ${at}` }, { id: `subscription-${at}`, next_at: NOW - at }),
  );
  let running = 0;
  let most = 0;
  state.respond = async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise(setImmediate);
    running -= 1;
    return issues(1);
  };
  await poll(offering(), ...subscriptions);
  expect(most).toBe(4);
  expect(requests.map(({ method }) => method)).toEqual(
    Array.from({ length: 16 }, (_, nth) => `tool ${19 - nth}`),
  );
  await poll(offering(), ...subscriptions);
  expect(requests).toHaveLength(20);
});
