/** Two replicas share a database. One publishes flows, the other receives callbacks for them. */
import { expect, it } from "vitest";
import { WAIT } from "../support/timeouts.ts";
import { startTriggerStory } from "../support/trigger-story.ts";

it("a replica rejects callbacks of a trigger that another replica has paused or deleted, and accepts them while it is active", async () => {
  const story = await startTriggerStory({ backend: "PostgreSQL" });
  const replica = await story.startReplica();
  const trigger = { id: "here", type: "issue.opened" };
  await story.publish([trigger]);
  await story.waitForStates({ here: "active" });
  const [configureCall] = (await story.server.state()).calls;
  const send = async (id: string) => {
    const response = await fetch(`${replica.url}/api/trigger-callback`, {
      method: "POST",
      headers: { authorization: `Bearer ${configureCall?.arguments.callbackToken}` },
      body: JSON.stringify({ type: "issue.opened", data: { n: 1 }, id }),
    });
    return response.status;
  };
  expect(await send("1")).toBe(202); // the replica caches the token

  await story.publish([{ ...trigger, isActive: false }]);
  await expect.poll(() => send("2"), WAIT).toBe(410);
  await story.publish([trigger]);
  await expect.poll(() => send("3"), WAIT).toBe(202);
  await story.deleteFlow();
  await expect.poll(() => send("4"), WAIT).toBe(410);
});

it("a callback that reaches both replicas is stored once", async () => {
  const story = await startTriggerStory({ backend: "PostgreSQL" });
  const replica = await story.startReplica();
  await story.publish([{ id: "here", type: "issue.opened" }]);
  await story.waitForStates({ here: "active" });
  const [configureCall] = (await story.server.state()).calls;
  const results = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const { url } = index % 2 === 0 ? story.hub() : replica;
      const response = await fetch(`${url}/api/trigger-callback`, {
        method: "POST",
        headers: { authorization: `Bearer ${configureCall?.arguments.callbackToken}` },
        body: JSON.stringify({ type: "issue.opened", data: { n: 7 }, id: "same" }),
      });
      return (await response.json()) as { id: string; outcome: string };
    }),
  );
  expect(new Set(results.map(({ id }) => id)).size).toBe(1);
  expect(results.filter(({ outcome }) => outcome === "stored")).toHaveLength(1);
  await story.expectFiredBy(7, ["here"]);
});
