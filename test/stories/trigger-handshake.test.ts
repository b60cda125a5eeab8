/**
 * The handshake with a server of the published trigger package, end to end over the HTTP API: triggers
 * are published, fire, are paused, resumed, edited and removed. Holds the lines of the field notes about
 * the handshake. Others: callbacks in hosts/node/trigger-callback.test.ts, matching in rules/match,
 * bursts in trigger-burst.test.ts, the SDK in packages/triggers, schedules in runs/ticker*.test.ts.
 */
import { describe, expect, it } from "vitest";
import { MAX_WAIT_MS } from "../support/timeouts.ts";
import {
  type StoryTrigger,
  startTriggerStory,
  type TriggerStory,
} from "../support/trigger-story.ts";

const both: [StoryTrigger, StoryTrigger] = [
  { id: "here", type: "issue.opened", params: { repo: "hub" } },
  { id: "there", type: "issue.opened", params: { repo: "web" } },
];
const three: [StoryTrigger, ...StoryTrigger[]] = [...both, { id: "closed", type: "issue.closed" }];
const ACTIVE = { here: "active", there: "active", closed: "active" };

let count = 0;

/** Fires an event, and expects that it is stored once and starts runs of these triggers only. */
async function fire(
  { server, firedBy }: TriggerStory,
  type: string,
  repo: string,
  expected: string[],
): Promise<void> {
  count += 1;
  const sent = await server.notify(type, { repo, n: count });
  // Until it is disabled at the server, a removed subscription gets 410.
  for (const { status } of sent) expect([202, 410]).toContain(status);
  const outcomes = sent.map(({ body }) => (body as { outcome?: string }).outcome);
  expect(outcomes.filter((outcome) => outcome === "stored")).toHaveLength(1);
  await firedBy(count, expected);
}

describe.each([
  ["a credential per connection", "SQLite"],
  ["a credential per subscription", "SQLite"],
  ["a credential per connection", "workerd"],
] as const)("a server with %s, on %s", (kind, backend) => {
  const server = { perSubscription: kind === "a credential per subscription" };

  it("is configured, fires, is paused, resumed, edited and removed", async () => {
    const story = await startTriggerStory({ server, backend });
    await story.publish(three);
    await story.untilStates(ACTIVE);
    await fire(story, "issue.opened", "hub", ["here"]);
    await fire(story, "issue.opened", "web", ["there"]);
    await fire(story, "issue.closed", "hub", ["closed"]);

    // Paused: its events start nothing; its siblings do.
    await story.publish([{ ...three[0], isActive: false }, ...three.slice(1)]);
    await story.untilStates({ ...ACTIVE, here: "paused" });
    await fire(story, "issue.opened", "web", ["there"]);
    await fire(story, "issue.closed", "hub", ["closed"]);
    await story.publish(three);
    await story.untilStates(ACTIVE);
    await fire(story, "issue.opened", "hub", ["here"]);

    // Edited: another type, other params.
    await story.publish([
      { id: "here", type: "issue.closed", params: { repo: "hub" } },
      { id: "there", type: "issue.opened", params: { repo: "docs" } },
      { id: "closed", type: "issue.closed" },
    ]);
    await story.untilStates(ACTIVE);
    await fire(story, "issue.closed", "hub", ["here", "closed"]);
    await fire(story, "issue.opened", "docs", ["there"]);

    // Removed, one after the other.
    await story.publish([{ id: "closed", type: "issue.closed" }]);
    await story.untilStates({ closed: "active" });
    await fire(story, "issue.closed", "hub", ["closed"]);
    await story.deleteFlow();
    await expect
      .poll(async () => story.server.notify("issue.closed", { n: 0 }), {
        timeout: MAX_WAIT_MS,
        interval: 50,
      })
      .toEqual([]);
  }, 240_000);
});

describe.each(["SQLite", "workerd"] as const)("field notes, on %s", (backend) => {
  it("removing one trigger does not revoke the token that its siblings use", async () => {
    const story = await startTriggerStory({ backend });
    await story.publish(three);
    await story.untilStates(ACTIVE);
    for (const left of [["there", "closed"], ["closed"]]) {
      await story.publish(three.filter(({ id }) => left.includes(id)));
      await story.untilStates(Object.fromEntries(left.map((id) => [id, "active"])));
      await fire(story, "issue.closed", "hub", ["closed"]);
    }
  }, 120_000);

  it("pause and resume does not kill a trigger", async () => {
    const story = await startTriggerStory({ backend });
    const [trigger] = both;
    await story.publish([trigger]);
    await story.untilStates({ here: "active" });
    await story.publish([{ ...trigger, isActive: false }]);
    await story.untilStates({ here: "paused" });
    expect(await story.server.notify("issue.opened", { repo: "hub", n: 0 })).toEqual([]);
    await story.publish([trigger]);
    await story.untilStates({ here: "active" });
    await fire(story, "issue.opened", "hub", ["here"]);
  }, 120_000);

  it("{ success: false } is a failure, is shown, and is retried", async () => {
    const story = await startTriggerStory({ backend });
    await story.server.switch({ answer: "no" });
    await story.publish(both);
    await story.untilStates({ here: "failed", there: "failed" });
    expect((await story.subscriptions())[0]?.error).toBe(
      "TRIGGER_CONFIGURE returned { success: false }.",
    );
    await story.server.switch({});
    await story.untilStates({ here: "active", there: "active" });
    await fire(story, "issue.opened", "hub", ["here"]);
  }, 120_000);

  it("a failure is shown in the server's own words, and does not affect other types", async () => {
    const story = await startTriggerStory({ backend });
    await story.server.switch({ answer: "error", type: "issue.closed" });
    await story.publish(three);
    await story.untilStates({ ...ACTIVE, closed: "failed" });
    const failed = (await story.subscriptions()).find(({ node_id }) => node_id === "closed");
    expect(failed?.error).toBe("The quota of webhooks is used up.");
    await fire(story, "issue.opened", "hub", ["here"]);
    await story.server.switch({});
    await story.untilStates(ACTIVE);
  }, 120_000);

  it("a time-out does not rotate a working token away", async () => {
    const story = await startTriggerStory({ backend });
    await story.publish(both);
    await story.untilStates({ here: "active", there: "active" });
    const [{ id = "" } = {}] = await story.subscriptions();
    // The server gets the new token in neither case: the former must still work, as long as it takes.
    await story.server.switch({ hold: "before" });
    await story.call("POST", `/api/connections/${story.connection}/subscriptions/${id}/rotate`);
    await expect
      .poll(async () => (await story.server.state()).held, { timeout: MAX_WAIT_MS })
      .toBeGreaterThan(0);
    await fire(story, "issue.opened", "hub", ["here"]);
    // The time limit of a call is 20 s.
    await expect
      .poll(async () => (await story.subscriptions()).some(({ error }) => error !== null), {
        timeout: MAX_WAIT_MS,
        interval: 200,
      })
      .toBe(true);
    await fire(story, "issue.opened", "web", ["there"]);
    await story.server.switch({});
    await story.untilStates({ here: "active", there: "active" });
    await fire(story, "issue.opened", "hub", ["here"]);
  }, 240_000);
});

it.each(["SQLite", "workerd"] as const)(
  "rotates the token on request; the server's former token works until it has the new one, on %s",
  async (backend) => {
    const story = await startTriggerStory({ backend });
    await story.publish(both);
    await story.untilStates({ here: "active", there: "active" });
    const tokenOf = async () =>
      (await story.server.state()).kept[story.connection]?.credentials?.callbackToken;
    const former = await tokenOf();
    const [{ id = "" } = {}] = await story.subscriptions();
    await story.call("POST", `/api/connections/${story.connection}/subscriptions/${id}/rotate`);
    await expect.poll(tokenOf, { timeout: MAX_WAIT_MS }).not.toBe(former);
    await fire(story, "issue.opened", "hub", ["here"]);
    const response = await fetch(`${story.hub().url}/api/trigger-callback`, {
      method: "POST",
      headers: { authorization: `Bearer ${former}`, "content-type": "application/json" },
      body: JSON.stringify({ type: "issue.opened", data: { repo: "web", n: -1 } }),
    });
    expect(response.status).toBe(202);
  },
  120_000,
);

it.each(["SQLite", "workerd"] as const)(
  "removes the subscriptions from the server before a deleted connection is gone, on %s",
  async (backend) => {
    const story = await startTriggerStory({ backend });
    await story.publish(three);
    await story.untilStates(ACTIVE);
    const kept = (await story.server.state()).kept[story.connection];
    await story.call("DELETE", `/api/connections/${story.connection}`);
    await expect
      .poll(async () => (await story.server.state()).kept, { timeout: MAX_WAIT_MS })
      .toEqual({});
    const response = await fetch(`${story.hub().url}/api/trigger-callback`, {
      method: "POST",
      headers: { authorization: `Bearer ${kept?.credentials?.callbackToken}` },
      body: JSON.stringify({ type: "issue.opened" }),
    });
    expect(response.status).toBe(410);
  },
  120_000,
);
