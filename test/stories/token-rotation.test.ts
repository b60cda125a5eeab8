/** A hundred concurrent requests to two replicas rotate the callback token of a connection. */
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { MAX_WAIT_MS } from "../support/timeouts.ts";
import { startTriggerStory } from "../support/trigger-story.ts";

const LONG_POLL = { timeout: MAX_WAIT_MS, interval: 100 };

it.each([
  ["connection", false],
  ["subscription", true],
] as const)(
  "a hundred concurrent rotations leave one current token per %s, and the former token works until its grace period ends",
  async (_, perSubscription) => {
    const story = await startTriggerStory({ backend: "PostgreSQL", server: { perSubscription } });
    const { server, connection, env } = story;
    const replica = await story.startReplica();
    await story.publish([{ id: "here", type: "issue.opened" }]);
    await story.waitForStates({ here: "active" });
    const readSentTokens = async (): Promise<string[]> =>
      (await server.state()).calls.map((call) => String(call.arguments.callbackToken));
    const [formerToken = ""] = await readSentTokens();
    const [subscription] = await story.subscriptions();

    const path = `/api/connections/${connection}/subscriptions/${subscription?.id}/rotate`;
    const headers = { authorization: `Bearer ${env.SIGNALBOX_TOKEN}` };
    const statuses = await Promise.all(
      Array.from({ length: 100 }, async (_request, index) => {
        const { url } = index % 2 === 0 ? story.hub() : replica;
        return (await fetch(`${url}${path}`, { method: "POST", headers })).status;
      }),
    );
    expect(new Set(statuses)).toEqual(new Set([202]));
    await story.waitForStates({ here: "active" });

    const db = new pg.Client(env.DATABASE_URL);
    await db.connect();
    onTestFinished(() => db.end());
    const countCurrentTokens = async () =>
      (await db.query("SELECT hash FROM callback_tokens WHERE expires_at IS NULL")).rowCount;
    await expect.poll(countCurrentTokens, LONG_POLL).toBe(1);
    expect((await server.state()).calls.length).toBeGreaterThan(1);

    let sent = 0;
    const sendCallback = async (token: string): Promise<number> => {
      sent += 1;
      const response = await fetch(`${story.hub().url}/api/trigger-callback`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify({ type: "issue.opened", data: { n: sent } }),
      });
      return response.status;
    };
    expect(await sendCallback(formerToken)).toBe(202);
    const [{ status } = { status: 0 }] = await server.notify("issue.opened", { n: 1 });
    expect(status).toBe(202);
    // Ends the grace period of the former tokens.
    await db.query("UPDATE callback_tokens SET expires_at = 1 WHERE expires_at IS NOT NULL");
    await expect.poll(() => sendCallback(formerToken), LONG_POLL).toBe(401);
    const [afterGrace] = await server.notify("issue.opened", { n: 2 });
    expect(afterGrace?.status).toBe(202);
  },
);
