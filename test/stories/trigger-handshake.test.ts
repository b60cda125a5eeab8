/**
 * The handshake between the hub and a trigger server, end to end over the HTTP API: triggers are
 * published, fire, are paused, resumed, edited and removed.
 */
import { describe, expect, it } from "vitest";
import { MAX_WAIT_MS } from "../support/timeouts.ts";
import {
  type StoryTrigger,
  startTriggerStory,
  type TriggerStory,
} from "../support/trigger-story.ts";

const twoTriggers: [StoryTrigger, StoryTrigger] = [
  { id: "here", type: "issue.opened", params: { repo: "hub" } },
  { id: "there", type: "issue.opened", params: { repo: "web" } },
];
const threeTriggers: [StoryTrigger, ...StoryTrigger[]] = [
  ...twoTriggers,
  { id: "closed", type: "issue.closed" },
];
const ALL_ACTIVE = { here: "active", there: "active", closed: "active" };

/** The number in the data of the last event, by which its runs are found. */
let lastNumber = 0;

/** Fires an event, and expects that it is stored once and starts runs of these triggers only. */
async function fire(
  { server, expectFiredBy }: TriggerStory,
  type: string,
  repo: string,
  expected: string[],
): Promise<void> {
  lastNumber += 1;
  const sent = await server.notify(type, { repo, n: lastNumber });
  // Until the server disables a removed subscription, it sends events of it, which get 410.
  for (const { status } of sent) expect([202, 410]).toContain(status);
  const outcomes = sent.map(({ body }) => (body as { outcome?: string }).outcome);
  expect(outcomes.filter((outcome) => outcome === "stored")).toHaveLength(1);
  await expectFiredBy(lastNumber, expected);
}

describe.each([
  ["a credential per connection", "SQLite"],
  ["a credential per subscription", "SQLite"],
  ["a credential per connection", "workerd"],
] as const)("triggers of a server with %s, on %s", (kind, backend) => {
  const server = { perSubscription: kind === "a credential per subscription" };

  it("are configured and fire, and can be paused, resumed, edited and removed", async () => {
    const story = await startTriggerStory({ server, backend });
    await story.publish(threeTriggers);
    await story.waitForStates(ALL_ACTIVE);
    await fire(story, "issue.opened", "hub", ["here"]);
    await fire(story, "issue.opened", "web", ["there"]);
    await fire(story, "issue.closed", "hub", ["closed"]);

    // While one trigger is paused, the others still fire.
    await story.publish([{ ...threeTriggers[0], isActive: false }, ...threeTriggers.slice(1)]);
    await story.waitForStates({ ...ALL_ACTIVE, here: "paused" });
    await fire(story, "issue.opened", "web", ["there"]);
    await fire(story, "issue.closed", "hub", ["closed"]);
    await story.publish(threeTriggers);
    await story.waitForStates(ALL_ACTIVE);
    await fire(story, "issue.opened", "hub", ["here"]);

    // One trigger gets another type, and another trigger gets other params.
    await story.publish([
      { id: "here", type: "issue.closed", params: { repo: "hub" } },
      { id: "there", type: "issue.opened", params: { repo: "docs" } },
      { id: "closed", type: "issue.closed" },
    ]);
    await story.waitForStates(ALL_ACTIVE);
    await fire(story, "issue.closed", "hub", ["here", "closed"]);
    await fire(story, "issue.opened", "docs", ["there"]);

    // Two triggers are removed, and then the flow with the last one.
    await story.publish([{ id: "closed", type: "issue.closed" }]);
    await story.waitForStates({ closed: "active" });
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

describe.each(["SQLite", "workerd"] as const)("a trigger subscription, on %s", (backend) => {
  it("keeps its token when other triggers of the flow are removed", async () => {
    const story = await startTriggerStory({ backend });
    await story.publish(threeTriggers);
    await story.waitForStates(ALL_ACTIVE);
    for (const remaining of [["there", "closed"], ["closed"]]) {
      await story.publish(threeTriggers.filter(({ id }) => remaining.includes(id)));
      await story.waitForStates(Object.fromEntries(remaining.map((id) => [id, "active"])));
      await fire(story, "issue.closed", "hub", ["closed"]);
    }
  });

  it("fires again after it was paused and resumed", async () => {
    const story = await startTriggerStory({ backend });
    const [trigger] = twoTriggers;
    await story.publish([trigger]);
    await story.waitForStates({ here: "active" });
    await story.publish([{ ...trigger, isActive: false }]);
    await story.waitForStates({ here: "paused" });
    expect(await story.server.notify("issue.opened", { repo: "hub", n: 0 })).toEqual([]);
    await story.publish([trigger]);
    await story.waitForStates({ here: "active" });
    await fire(story, "issue.opened", "hub", ["here"]);
  });

  it("reports the result { success: false } as a failure, and is retried", async () => {
    const story = await startTriggerStory({ backend });
    await story.server.switch({ answer: "no" });
    await story.publish(twoTriggers);
    await story.waitForStates({ here: "failed", there: "failed" });
    expect((await story.subscriptions())[0]?.error).toBe(
      "TRIGGER_CONFIGURE returned { success: false }.",
    );
    await story.server.switch({});
    await story.waitForStates({ here: "active", there: "active" });
    await fire(story, "issue.opened", "hub", ["here"]);
  });

  it("reports a failure with the server's message, and does not affect other types", async () => {
    const story = await startTriggerStory({ backend });
    await story.server.switch({ answer: "error", type: "issue.closed" });
    await story.publish(threeTriggers);
    await story.waitForStates({ ...ALL_ACTIVE, closed: "failed" });
    const failed = (await story.subscriptions()).find(({ node_id }) => node_id === "closed");
    expect(failed?.error).toBe("The quota of webhooks is used up.");
    await fire(story, "issue.opened", "hub", ["here"]);
    await story.server.switch({});
    await story.waitForStates(ALL_ACTIVE);
  });

  it("keeps the server's working token if a rotation times out", async () => {
    const story = await startTriggerStory({ backend });
    await story.publish(twoTriggers);
    await story.waitForStates({ here: "active", there: "active" });
    const [{ id = "" } = {}] = await story.subscriptions();
    // The server does not process the call with the new token, so its former token must still work.
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
    await story.waitForStates({ here: "active", there: "active" });
    await fire(story, "issue.opened", "hub", ["here"]);
  }, 240_000);
});

it.each(["SQLite", "workerd"] as const)(
  "a rotation on request gives the server a new token, and its former token still works for a time, on %s",
  async (backend) => {
    const story = await startTriggerStory({ backend });
    await story.publish(twoTriggers);
    await story.waitForStates({ here: "active", there: "active" });
    const readToken = async () =>
      (await story.server.state()).connections[story.connection]?.credentials?.callbackToken;
    const formerToken = await readToken();
    const [{ id = "" } = {}] = await story.subscriptions();
    await story.call("POST", `/api/connections/${story.connection}/subscriptions/${id}/rotate`);
    await expect.poll(readToken, { timeout: MAX_WAIT_MS }).not.toBe(formerToken);
    await fire(story, "issue.opened", "hub", ["here"]);
    const response = await fetch(`${story.hub().url}/api/trigger-callback`, {
      method: "POST",
      headers: { authorization: `Bearer ${formerToken}`, "content-type": "application/json" },
      body: JSON.stringify({ type: "issue.opened", data: { repo: "web", n: -1 } }),
    });
    expect(response.status).toBe(202);
  },
);

it.each([
  ["a credential per connection", "SQLite"],
  ["a credential per connection", "workerd"],
  ["a credential per subscription", "SQLite"],
] as const)(
  "a revocation of a token of a server with %s takes effect before the server gets the new one, on %s",
  async (kind, backend) => {
    const isShared = kind === "a credential per connection";
    const story = await startTriggerStory({ backend, server: { perSubscription: !isShared } });
    await story.publish(twoTriggers);
    await story.waitForStates({ here: "active", there: "active" });
    const [{ id = "" } = {}] = (await story.subscriptions()).filter(
      ({ node_id }) => node_id === "here",
    );
    const readTokens = async () => {
      const state = (await story.server.state()).connections[story.connection];
      return isShared
        ? [state?.credentials?.callbackToken]
        : Object.values(state?.subscriptions ?? {})
            .toSorted((a, b) => Number(a.params.repo === "web") - Number(b.params.repo === "web"))
            .map(({ callbackToken }) => callbackToken);
    };
    const send = async (token: string | undefined) => {
      const response = await fetch(`${story.hub().url}/api/trigger-callback`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ type: "issue.opened", data: { repo: "none", n: -1 } }),
      });
      return response.status;
    };
    const [leaked, other] = await readTokens();
    expect(await send(leaked)).toBe(202);
    // The former token is still in its grace period when it is revoked.
    const path = `/api/connections/${story.connection}/subscriptions/${id}/rotate`;
    await story.call("POST", path);
    await expect
      .poll(async () => (await readTokens())[0], { timeout: MAX_WAIT_MS })
      .not.toBe(leaked);
    await story.waitForStates({ here: "active", there: "active" });
    expect(await send(leaked)).toBe(202);
    const [second] = await readTokens();

    await story.server.switch({ hold: "before" });
    await story.call("POST", path, { revoke_now: true });
    for (const token of [leaked, second]) expect(await send(token)).toBe(401);
    if (other) expect(await send(other)).toBe(202);
    await story.server.switch({});
    await story.waitForStates({ here: "active", there: "active" });
    await expect
      .poll(async () => (await readTokens())[0], { timeout: MAX_WAIT_MS })
      .not.toBe(second);
    await fire(story, "issue.opened", "hub", ["here"]);
    await fire(story, "issue.opened", "web", ["there"]);
    for (const token of [leaked, second]) expect(await send(token)).toBe(401);
  },
  240_000,
);

it.each(["SQLite", "workerd"] as const)(
  "a server that has lost its subscriptions gets them again from a manual check, with the same token, on %s",
  async (backend) => {
    // Automatic checks do not renew the subscriptions that a server has stored.
    const story = await startTriggerStory({ backend, server: { reportsStored: true } });
    await story.publish(twoTriggers);
    await story.waitForStates({ here: "active", there: "active" });
    const tokens = async () =>
      new Set((await story.server.state()).calls.map((call) => call.arguments.callbackToken));
    const tokensBefore = await tokens();
    await story.server.kill();
    await story.server.restart();
    expect(await story.server.notify("issue.opened", { repo: "hub", n: -1 })).toEqual([]);
    await story.call("POST", `/api/connections/${story.connection}/check`);
    await fire(story, "issue.opened", "hub", ["here"]);
    expect(await tokens()).toEqual(tokensBefore);
  },
);

it.each(["SQLite", "workerd"] as const)(
  "the hub removes the subscriptions of a deleted connection from the server, and then rejects callbacks, on %s",
  async (backend) => {
    const story = await startTriggerStory({ backend });
    await story.publish(threeTriggers);
    await story.waitForStates(ALL_ACTIVE);
    const stored = (await story.server.state()).connections[story.connection];
    await story.call("DELETE", `/api/connections/${story.connection}`);
    await expect
      .poll(async () => (await story.server.state()).connections, { timeout: MAX_WAIT_MS })
      .toEqual({});
    const response = await fetch(`${story.hub().url}/api/trigger-callback`, {
      method: "POST",
      headers: { authorization: `Bearer ${stored?.credentials?.callbackToken}` },
      body: JSON.stringify({ type: "issue.opened" }),
    });
    expect(response.status).toBe(410);
  },
);
