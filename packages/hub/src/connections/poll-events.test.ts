import type { Json } from "@signalbox/rules/json.ts";
import { describe, expect, it } from "vitest";
import { ConnectionError } from "./connection-error.ts";
import { CONNECTION, NOW, offering, setUpPoll, subscriptionOf } from "./poll.test-support.ts";

const occurrence = (id: number) => ({
  eventId: `event-${id}`,
  name: "issue",
  timestamp: "2026-01-05T09:30:00Z",
  data: { number: id },
});

/** The responses of a server whose cursor is a position in `log`. `fields` are added to each response. */
const respondFrom =
  (log: Json[], { pageSize = 100, ...fields }: Record<string, Json> & { pageSize?: number } = {}) =>
  ({ params: { cursor } }: { params: Record<string, Json> }): Json => {
    const from = cursor === null ? log.length : Number(cursor);
    const events = log.slice(from, from + pageSize);
    const end = from + events.length;
    return { events, cursor: String(end), hasMore: end < log.length, ...fields };
  };

it("ignores events before the first poll, then stores each event once", async () => {
  const { poll, stored, requests, state } = setUpPoll();
  const subscription = subscriptionOf({});
  const log = [occurrence(1)];
  state.respond = respondFrom(log);
  await poll(offering({}), subscription);
  expect(await stored()).toEqual([]);
  expect(subscription).toMatchObject({ state: "active", configured: 1, error: null });

  log.push(occurrence(2), occurrence(3));
  state.now = subscription.next_at;
  await poll(offering({}), subscription);
  expect(await stored()).toEqual([
    { source: CONNECTION.id, type: "issue", external_id: "event-2", data: { number: 2 } },
    { source: CONNECTION.id, type: "issue", external_id: "event-3", data: { number: 3 } },
  ]);
  expect(requests.map(({ params }) => params)).toEqual([
    { name: "issue", arguments: {}, cursor: null, maxEvents: 100 },
    { name: "issue", arguments: {}, cursor: "1", maxEvents: 100 },
  ]);
  expect(subscription.position).toEqual({ cursors: { issue: "3" } });
});

it("stores an event once, even if the process ended before the cursor was saved", async () => {
  const { poll, stored, state } = setUpPoll();
  const subscription = subscriptionOf({ position: { cursors: { issue: "0" } } });
  state.respond = respondFrom([occurrence(1)]);
  state.isLeased = false;
  await expect(poll(offering({}), subscription)).rejects.toMatchObject({ code: "lease_lost" });
  expect(subscription.position).toEqual({ cursors: { issue: "0" } });
  state.isLeased = true;
  await poll(offering({}), subscription);
  expect(await stored()).toHaveLength(1);
});

it("continues while there are more pages, and saves the cursor after each page", async () => {
  const { poll, stored, state } = setUpPoll();
  const subscription = subscriptionOf({ position: { cursors: { issue: "0" } } });
  state.respond = respondFrom(
    Array.from({ length: 25 }, (_, at) => occurrence(at)),
    { pageSize: 10 },
  );
  await poll(offering({}), subscription);
  expect(await stored()).toHaveLength(25);
  expect(state.saved.slice(0, 3)).toEqual(
    ["10", "20", "25"].map((cursor) => ({ cursors: { issue: cursor } })),
  );
});

it("ends a poll after 20 pages, and makes the next poll due immediately", async () => {
  const { poll, stored, requests, state } = setUpPoll();
  const subscription = subscriptionOf({ position: { cursors: { issue: "0" } } });
  state.respond = respondFrom(
    Array.from({ length: 30 }, (_, at) => occurrence(at)),
    { pageSize: 1 },
  );
  await poll(offering({}), subscription);
  expect([requests.length, subscription.next_at]).toEqual([20, NOW]);
  await poll(offering({}), subscription);
  expect(await stored()).toHaveLength(30);
});

it("does not repeat a page whose cursor does not change", async () => {
  const { poll, requests, state } = setUpPoll();
  const subscription = subscriptionOf({ position: { cursors: { issue: "1" } } });
  state.respond = () => ({ events: [], cursor: "1", hasMore: true });
  await poll(offering({}), subscription);
  expect(requests).toHaveLength(1);
});

it.each([
  [undefined, 30_000],
  [0, 5_000],
  [7_000, 7_000],
  [10 ** 9, 3_600_000],
])("with nextPollMs %s, polls again after %s ms", async (nextPollMs, expected) => {
  const { poll, state } = setUpPoll();
  const subscription = subscriptionOf({});
  state.respond = () => ({
    events: [],
    cursor: "1",
    ...(nextPollMs !== undefined && { nextPollMs }),
  });
  const nextAt = await poll(offering({}), subscription);
  expect(nextAt.get(subscription.id)).toBe(NOW + expected);
});

it("converts declared params to arguments of their type, and omits other params and conditions", async () => {
  const { poll, requests, state } = setUpPoll();
  const params = {
    repo: "octo/town",
    number: "7",
    draft: "true",
    label: { op: "in", value: ["bug"] },
    sender: " ",
    "issue.title": "undeclared",
  };
  const properties = {
    repo: { type: "string" },
    number: { type: "integer" },
    draft: { type: "boolean" },
    label: { type: "string" },
    sender: { type: "string" },
  };
  state.respond = respondFrom([]);
  await poll(offering({ inputSchema: { properties } }), subscriptionOf({ params }));
  expect(requests[0]?.params.arguments).toEqual({ repo: "octo/town", number: 7, draft: true });
});

it("polls every offered type if the trigger has no type", async () => {
  const { poll, requests, state } = setUpPoll();
  const subscription = subscriptionOf({ type: "" });
  state.respond = respondFrom([]);
  await poll(offering({ type: "a" }, { type: "b" }), subscription);
  expect(requests.map(({ params }) => params.name)).toEqual(["a", "b"]);
  expect(subscription.position).toEqual({ cursors: { a: "0", b: "0" } });
});

describe("a problem", () => {
  it("is reported for a day if the server no longer has some events", async () => {
    const { poll, state } = setUpPoll();
    const subscription = subscriptionOf({ position: { cursors: { issue: "0" } } });
    state.respond = respondFrom([], { truncated: true });
    await poll(offering({}), subscription);
    state.respond = respondFrom([]);
    state.now = subscription.next_at;
    await poll(offering({}), subscription);
    expect(subscription).toMatchObject({
      state: "active",
      error:
        "The server no longer had some events at 2026-01-05T00:00:00.000Z, so they are missing.",
    });
    state.now += 24 * 60 * 60_000;
    await poll(offering({}), subscription);
    expect(subscription.error).toBeNull();
  });

  it("is reported if the server rejects its cursor; the poll starts again without a cursor", async () => {
    const { poll, state } = setUpPoll();
    const subscription = subscriptionOf({ position: { cursors: { issue: "lost" } } });
    state.respond = (request) => {
      if (request.params.cursor !== null)
        throw new ConnectionError("rejected", "cursor: is not a cursor of this hub");
      return { events: [], cursor: "1" };
    };
    await poll(offering({}), subscription);
    expect(subscription).toMatchObject({
      state: "active",
      position: { cursors: { issue: "1" } },
      error: expect.stringContaining("are missing"),
    });
  });

  it("does not change the cursor if the server rejects the poll for another reason", async () => {
    const { poll, state } = setUpPoll();
    const subscription = subscriptionOf({ position: { cursors: { issue: "7" } } });
    state.respond = (request) => {
      if (request.params.cursor !== null)
        throw new ConnectionError("rejected", "Too many polls: send the same cursor again later.");
      return { events: [], cursor: "9" };
    };
    await poll(offering({}), subscription);
    expect(subscription.position).toEqual({ cursors: { issue: "7" } });
    expect(subscription.error).toContain("Too many polls");
  });

  it("is reported if events cannot be stored; these events are skipped", async () => {
    const { poll, stored, state } = setUpPoll();
    const subscription = subscriptionOf({ position: { cursors: { issue: "0" } } });
    const log = [{ name: "issue" }, { ...occurrence(1), data: [] }, occurrence(2)];
    state.respond = respondFrom(log as Json[]);
    await poll(offering({}), subscription);
    expect(await stored()).toMatchObject([{ external_id: "event-2" }]);
    expect(subscription.error).toContain("sent 2 events without eventId, name or valid data");
    expect(subscription.position).toEqual({ cursors: { issue: "3" } });
  });

  it("is reported if an event exceeds 1 MiB in UTF-8, and the event is skipped", async () => {
    const { poll, stored, state } = setUpPoll();
    const subscription = subscriptionOf({ position: { cursors: { issue: "0" } } });
    const large = { ...occurrence(1), data: { text: "ü".repeat(600_000) } };
    state.respond = respondFrom([large, occurrence(2)]);
    await poll(offering({}), subscription);
    expect(await stored()).toMatchObject([{ external_id: "event-2" }]);
    expect(subscription.error).toBe("An event exceeds the limit of 1048576 bytes.");
  });

  it.each([
    [
      "an invalid response",
      () => ({ events: {} }),
      "The response to events/poll is invalid: events",
    ],
    ["a response that is no object", () => [], "The response to events/poll is invalid"],
    [
      "an error of the server",
      () => {
        throw new ConnectionError("rejected", "no such event");
      },
      "no such event",
    ],
  ])("makes the poll fail and be retried: %s", async (_, respond, error) => {
    const { poll, state } = setUpPoll();
    const subscription = subscriptionOf({ position: { cursors: { issue: "0" } } });
    state.respond = respond as () => Json;
    await poll(offering({}), subscription);
    expect(subscription).toMatchObject({
      state: "failed",
      error: expect.stringContaining(error),
      attempt: 1,
      next_at: NOW + 1_000,
      position: { cursors: { issue: "0" } },
    });
  });

  it("does not change the cursor if the quota is exceeded", async () => {
    const { poll, state } = setUpPoll({ quota: 1 });
    const subscription = subscriptionOf({ position: { cursors: { issue: "0" } } });
    state.respond = respondFrom([occurrence(1), occurrence(2)]);
    await poll(offering({}), subscription);
    expect(subscription).toMatchObject({
      state: "failed",
      error: expect.stringContaining("quota"),
      position: { cursors: { issue: "0" } },
    });
  });
});
