/** On PostgreSQL, one replica at a time reconciles a connection. If it is killed, another continues. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { MAX_WAIT_MS } from "../support/timeouts.ts";
import { startTriggerStory } from "../support/trigger-story.ts";

const LEASE_MS = 1_000;

it("one replica at a time reconciles a connection, and another continues when it is killed", async () => {
  const story = await startTriggerStory({ backend: "PostgreSQL" });
  const { server } = story;
  let replica = await story.startReplica();
  const countHeldCalls = async () => (await server.state()).held;
  const waitForHeldCall = () =>
    expect.poll(countHeldCalls, { timeout: MAX_WAIT_MS, interval: 20 }).toBe(1);

  await server.switch({ hold: "before" });
  await story.publish([
    { id: "opened", type: "issue.opened" },
    { id: "closed", type: "issue.closed" },
  ]);
  await waitForHeldCall();
  // The replica renews its lease, so the other replica does not send a call too.
  await sleep(3 * LEASE_MS);
  expect(await countHeldCalls()).toBe(1);
  await server.switch({});
  await story.waitForStates({ opened: "active", closed: "active" });
  const { calls } = await server.state();
  expect(calls.map((call) => call.arguments.type).toSorted()).toEqual([
    "issue.closed",
    "issue.opened",
  ]);

  // Either replica may have the lease. Several rounds make it likely that one is killed while it has it.
  for (let n = 1; n <= 4; n += 1) {
    await server.switch({ hold: n % 2 === 0 ? "before" : "after" });
    const params = n % 2 === 0 ? {} : { repo: "hub" };
    await story.publish([
      { id: "opened", type: "issue.opened", params },
      { id: "closed", type: "issue.closed" },
    ]);
    await expect.poll(countHeldCalls, { timeout: MAX_WAIT_MS, interval: 20 }).toBeGreaterThan(0);
    await replica.stop("SIGKILL");
    await server.switch({});
    await story.waitForStates({ opened: "active", closed: "active" });
    expect(await server.notify("issue.opened", { repo: "hub", n })).toMatchObject([
      { status: 202 },
    ]);
    await story.expectFiredBy(n, ["opened"]);
    replica = await story.startReplica();
  }
}, 300_000);
