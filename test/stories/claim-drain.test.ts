/** Agents that share an inbox process each event once, including the claims of a crashed agent. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import {
  appendInChunks,
  ids,
  sampleEvents,
} from "../../packages/hub/src/events/store/contract/sample.ts";
import { LOCAL_TENANT } from "../../packages/hub/src/kernel/access/scopes.ts";
import { openPostgres } from "../../packages/hub/src/kernel/backends/postgres.ts";
import { openSqlite } from "../../packages/hub/src/kernel/backends/sqlite.ts";
import type { Store } from "../../packages/hub/src/store.ts";
import { storeDefinition } from "../../packages/hub/src/store.ts";
import { createToken } from "../../packages/hub/src/tokens/tokens.ts";
import { startHubProcess } from "../support/hub-process.ts";
import { loadOf } from "../support/load.ts";
import { createMigratedDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";

const EVENTS = loadOf(10_000);
const BATCH = 100;
/** The shortest allowed lease. */
const LEASE_S = 5;

type AgentName = "one" | "two" | "crashing";

/** Stores the events and the agents' tokens, and closes the store. */
async function fillStore(
  store: Store,
): Promise<{ events: string[]; tokens: Record<AgentName, string> }> {
  const events = sampleEvents(EVENTS, () => ({ received_at: Date.now() }));
  await appendInChunks(store, events, LOCAL_TENANT);
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
    crashing: await token("crashing"),
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
        max_bytes: 500_000,
      }),
    async markProcessed(event_ids: string[]): Promise<void> {
      const result = await call("mark_processed", { event_ids });
      expect(result).toMatchObject({ success: true, already_processed: [] });
    },
    async countPending(): Promise<number> {
      return (await call<{ pending_count: number }>("get_pending_status", {})).pending_count;
    },
    disconnect: () => client.close(),
  };
}

type Agent = Awaited<ReturnType<typeof connectAgent>>;

/** Processes events until none is pending. Returns the time of the claim of each event. */
async function drain(agent: Agent): Promise<Map<string, number>> {
  const claimedAt = new Map<string, number>();
  for (;;) {
    const claimed = ids((await agent.claim(300)).events);
    for (const id of claimed) {
      expect(claimedAt.has(id)).toBe(false);
      claimedAt.set(id, Date.now());
    }
    if (claimed.length > 0) await agent.markProcessed(claimed);
    else if ((await agent.countPending()) === 0) return claimedAt;
    else await sleep(100); // other agents have claimed the remaining events
  }
}

async function drainTogether(agents: Record<AgentName, Agent>, events: string[]): Promise<void> {
  const { events: abandoned, claimed_until } = await agents.crashing.claim(LEASE_S);
  expect(ids(abandoned)).toEqual(events.slice(0, BATCH));
  await agents.crashing.disconnect();
  const [one, two] = await Promise.all([drain(agents.one), drain(agents.two)]);
  expect([...one.keys(), ...two.keys()].toSorted()).toEqual(events.toSorted());
  expect(Math.min(one.size, two.size)).toBeGreaterThan(0);
  // The abandoned events became available when the lease expired, not earlier.
  for (const { id } of abandoned)
    expect(one.get(id) ?? two.get(id)).toBeGreaterThanOrEqual(Date.parse(claimed_until));
  expect(await agents.one.countPending()).toBe(0);
}

describe("two agents process each of thousands of events once, including those that a crashed agent had claimed,", () => {
  it("on SQLite", async () => {
    const data = tempFolder();
    const { events, tokens } = await fillStore(
      openSqlite(storeDefinition, join(data, "signalbox.db")),
    );
    const url = await startHub(data);
    const [one, two, crashing] = await Promise.all([
      connectAgent(url, tokens.one),
      connectAgent(url, tokens.two),
      connectAgent(url, tokens.crashing),
    ]);
    await drainTogether({ one, two, crashing }, events);
  }, 300_000);

  it("on PostgreSQL, through two replicas", async () => {
    const env = { DATABASE_URL: await createMigratedDatabase(inject("postgresUrl")) };
    const { events, tokens } = await fillStore(
      await openPostgres(storeDefinition, env.DATABASE_URL),
    );
    const [first, second] = [await startHub(tempFolder(), env), await startHub(tempFolder(), env)];
    const [one, two, crashing] = await Promise.all([
      connectAgent(first, tokens.one),
      connectAgent(second, tokens.two),
      connectAgent(second, tokens.crashing),
    ]);
    await drainTogether({ one, two, crashing }, events);
  }, 300_000);
});
