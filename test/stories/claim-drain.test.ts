/** Agents that share one inbox: each event is worked on once, also what an agent left lying as it died. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { openPostgres } from "../../packages/hub/src/store/backends/postgres.ts";
import { openSqlite } from "../../packages/hub/src/store/backends/sqlite.ts";
import { ids, keepMany, sampleEvents } from "../../packages/hub/src/store/contract/sample.ts";
import type { Store } from "../../packages/hub/src/store/store.ts";
import { LOCAL_TENANT } from "../../packages/hub/src/tenants/tenancy.ts";
import { createToken } from "../../packages/hub/src/tenants/tokens.ts";
import { startHubProcess } from "../support/hub-process.ts";
import { createDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";

const EVENTS = 10_000;
const BATCH = 100;
/** The shortest that there is. */
const LEASE_S = 5;

type Names = "one" | "two" | "mortal";

/** Puts the events and the agents' tokens where a hub will find them. */
async function fill(store: Store): Promise<{ events: string[]; tokens: Record<Names, string> }> {
  const events = sampleEvents(EVENTS, () => ({ received_at: Date.now() }));
  await keepMany(store, events, LOCAL_TENANT);
  const token = (id: string) =>
    createToken(store, {
      id,
      name: id,
      scopes: ["inbox:read", "inbox:write"],
      tenants: [LOCAL_TENANT],
      expiresAt: null,
      now: Date.now(),
    });
  const tokens = {
    one: await token("one"),
    two: await token("two"),
    mortal: await token("mortal"),
  };
  await store.close();
  return { events: ids(events), tokens };
}

async function startHub(data: string, env: Record<string, string> = {}): Promise<string> {
  const hub = await startHubProcess({ data, env });
  onTestFinished(async () => void (await hub.stop()));
  return hub.url;
}

async function connectAgent(url: string, token: string) {
  const client = new Client({ name: "story", version: "1" });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  );
  onTestFinished(() => client.close());
  const call = async <Result>(name: string, args: Record<string, unknown>): Promise<Result> => {
    const { isError, structuredContent, content } = await client.callTool({
      name,
      arguments: args,
    });
    expect(isError, JSON.stringify(content)).toBeFalsy();
    return structuredContent as Result;
  };
  return {
    claim: (lease_s: number) =>
      call<{ events: { id: string }[]; claimed_until: string }>("claim_events", {
        limit: BATCH,
        lease_s,
      }),
    async finish(event_ids: string[]): Promise<void> {
      const done = await call("mark_processed", { event_ids });
      expect(done).toMatchObject({ success: true, already_processed: [] });
    },
    async pending(): Promise<number> {
      return (await call<{ pending_count: number }>("get_pending_status", {})).pending_count;
    },
    die: () => client.close(),
  };
}

type Agent = Awaited<ReturnType<typeof connectAgent>>;

/** Works until nothing is pending; answers with what this agent worked on, and since when. */
async function drain(agent: Agent): Promise<Map<string, number>> {
  const worked = new Map<string, number>();
  for (;;) {
    const claimed = ids((await agent.claim(300)).events);
    for (const id of claimed) {
      expect(worked.has(id)).toBe(false);
      worked.set(id, Date.now());
    }
    if (claimed.length > 0) await agent.finish(claimed);
    else if ((await agent.pending()) === 0) return worked;
    else await sleep(100); // others hold the rest
  }
}

async function drainTogether(agents: Record<Names, Agent>, events: string[]): Promise<void> {
  const { events: left, claimed_until } = await agents.mortal.claim(LEASE_S);
  expect(ids(left)).toEqual(events.slice(0, BATCH));
  await agents.mortal.die();
  const [one, two] = await Promise.all([drain(agents.one), drain(agents.two)]);
  expect([...one.keys(), ...two.keys()].toSorted()).toEqual(events.toSorted());
  expect(Math.min(one.size, two.size)).toBeGreaterThan(0);
  // What was left lying came back, and not before its time.
  for (const { id } of left)
    expect(one.get(id) ?? two.get(id)).toBeGreaterThanOrEqual(Date.parse(claimed_until));
  expect(await agents.one.pending()).toBe(0);
}

describe("two agents drain an inbox of 10,000 together, and what a third left when it died", () => {
  it("on SQLite", async () => {
    const data = tempFolder();
    const { events, tokens } = await fill(openSqlite(join(data, "signalbox.db")));
    const url = await startHub(data);
    const [one, two, mortal] = await Promise.all([
      connectAgent(url, tokens.one),
      connectAgent(url, tokens.two),
      connectAgent(url, tokens.mortal),
    ]);
    await drainTogether({ one, two, mortal }, events);
  }, 60_000);

  it("on PostgreSQL, each through a replica of its own", async () => {
    const env = { DATABASE_URL: await createDatabase(inject("postgresUrl")) };
    const { events, tokens } = await fill(await openPostgres(env.DATABASE_URL));
    const [here, there] = [await startHub(tempFolder(), env), await startHub(tempFolder(), env)];
    const [one, two, mortal] = await Promise.all([
      connectAgent(here, tokens.one),
      connectAgent(there, tokens.two),
      connectAgent(there, tokens.mortal),
    ]);
    await drainTogether({ one, two, mortal }, events);
  }, 60_000);
});
