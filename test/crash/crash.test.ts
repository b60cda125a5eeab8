/**
 * Kills the hub with `kill -9` at random moments. Every acknowledged webhook is stored exactly once,
 * no rejected webhook is stored, and no `seq` is used twice. CRASH_KILLS sets the number of kills.
 */
import { createHmac, randomInt } from "node:crypto";
import { Agent, request } from "node:http";
import { describe, expect, inject, it } from "vitest";
import { openPostgres } from "../../packages/hub/src/kernel/backends/postgres.ts";
import { openSqlite } from "../../packages/hub/src/kernel/backends/sqlite.ts";
import type { Store } from "../../packages/hub/src/store.ts";
import { storeDefinition } from "../../packages/hub/src/store.ts";
import { type HubProcess, startHubProcess } from "../support/hub-process.ts";
import { loadOf } from "../support/load.ts";
import { createDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { objectFile, startWorkerProcess } from "../support/worker-process.ts";

const KILLS = Number(process.env.CRASH_KILLS ?? 25);
/** The default is lower because workerd starts more slowly than the hub on Node. */
const WORKERD_KILLS = Number(process.env.CRASH_KILLS ?? 6);
const CLIENTS = 64;
const SECRET = "crash-secret-of-this-test";

const body = Buffer.from(JSON.stringify({ action: "opened", filler: "x".repeat(10_000) }));
const sign = (secret: string) =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
const VALID_SIGNATURE = sign(SECRET);
const INVALID_SIGNATURE = sign("another");

/** The delivery ids of the webhooks, by the outcome in the response. */
interface Outcomes {
  stored: Set<string>;
  rejected: Set<string>;
  /** An earlier attempt stored these webhooks, but its response was lost. */
  duplicate: Set<string>;
}

function post(agent: Agent, url: string, id: string, signature: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${url}/webhooks/github`,
      {
        agent,
        method: "POST",
        headers: {
          "content-type": "application/json",
          "content-length": body.byteLength,
          "x-github-event": "issues",
          "x-github-delivery": id,
          "x-hub-signature-256": signature,
        },
      },
      (response) => {
        let text = "";
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () => {
          const { outcome, code } = JSON.parse(text) as { outcome?: string; code?: string };
          resolve(outcome ?? code ?? "?");
        });
        response.on("error", reject);
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/**
 * Sends webhooks until the hub is killed. Returns the ids that got no response, which the next round
 * sends again.
 */
async function sendUntilKilled(
  hub: HubProcess,
  round: number,
  idsToRepeat: string[],
  outcomes: Outcomes,
): Promise<string[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const repeats = [...idsToRepeat];
  const withoutResponse: string[] = [];
  let next = 0;
  const client = async () => {
    for (;;) {
      const id = repeats.pop() ?? `${next % 10 === 9 ? "forged" : "real"}-${round}-${next}`;
      next += 1;
      const signature = id.startsWith("forged") ? INVALID_SIGNATURE : VALID_SIGNATURE;
      const outcome = await post(agent, hub.url, id, signature).catch(() => undefined);
      if (outcome === undefined) return void withoutResponse.push(id);
      if (outcome === "stored") outcomes.stored.add(id);
      else if (outcome === "duplicate") outcomes.duplicate.add(id);
      else if (outcome === "signature_mismatch") outcomes.rejected.add(id);
      else throw new Error(`unexpected outcome ${outcome}`);
    }
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, client));
  // The number of acknowledgements before the kill is random, so that kills hit every phase of a batch.
  const target = outcomes.stored.size + randomInt(1, loadOf(1_500));
  const killTimer = setInterval(() => {
    if (outcomes.stored.size >= target) {
      clearInterval(killTimer);
      process.kill(hub.pid, "SIGKILL");
    }
  }, 1);
  await clients;
  clearInterval(killTimer);
  agent.destroy();
  return [...withoutResponse, ...repeats];
}

async function killRepeatedly(
  env: Record<string, string>,
  openStore: (data: string) => Promise<Store>,
  { start = startHubProcess, kills = KILLS } = {},
) {
  const data = tempFolder();
  const outcomes: Outcomes = { stored: new Set(), rejected: new Set(), duplicate: new Set() };
  let withoutResponse: string[] = [];
  for (let round = 0; round < kills; round += 1) {
    const hub = await start({
      data,
      env: { GITHUB_WEBHOOK_SECRET: SECRET, SIGNALBOX_LOG_LEVEL: "fatal", ...env },
    });
    withoutResponse = await sendUntilKilled(hub, round, withoutResponse, outcomes);
    expect(await hub.stop("SIGKILL")).toBeNull();
  }

  const store = await openStore(data);
  /** The number of stored events of each delivery id. */
  const counts = new Map<string, number>();
  const seqs = new Set<number>();
  let cursor: number | undefined = 0;
  let count = 0;
  while (cursor !== undefined) {
    const page = await store.listEvents({ tenant: "local", order: "oldest", cursor, limit: 1000 });
    for (const event of page.items) {
      const id = event.external_id ?? "";
      counts.set(id, (counts.get(id) ?? 0) + 1);
      seqs.add(event.seq);
      count += 1;
      expect(event.size).toBe(body.byteLength);
    }
    cursor = page.next ?? undefined;
  }
  const status = await store.pendingStatus("local");
  const tenant = await store.getTenant("local");
  await store.close();

  expect(outcomes.stored.size).toBeGreaterThan(kills);
  expect([...outcomes.stored].filter((id) => !counts.has(id))).toEqual([]);
  expect([...outcomes.duplicate].filter((id) => !counts.has(id))).toEqual([]);
  expect([...counts].filter(([, times]) => times > 1)).toEqual([]);
  expect([...counts.keys()].filter((id) => id.startsWith("forged"))).toEqual([]);
  expect(seqs.size).toBe(count);
  expect(status.pending_count).toBe(count);
  // The payloads are compressed: an event takes at least its row, and at most its body in addition.
  expect(tenant?.bytes).toBeGreaterThan(count * 100);
  expect(tenant?.bytes).toBeLessThan(count * (body.byteLength + 2_000));
  console.log(
    `crash: ${kills} kills, ${outcomes.stored.size} acknowledged, ${count} stored, ` +
      `${outcomes.duplicate.size} stored with a lost response, ${outcomes.rejected.size} forged and rejected`,
  );
}

describe("a hub that is killed at random moments", () => {
  it("loses and duplicates no event on SQLite", { timeout: 600_000 }, () =>
    killRepeatedly({}, async (data) => openSqlite(storeDefinition, `${data}/signalbox.db`)),
  );

  it("loses and duplicates no event on PostgreSQL", { timeout: 600_000 }, async () => {
    const url = await createDatabase(inject("postgresUrl"));
    await killRepeatedly({ DATABASE_URL: url }, () => openPostgres(storeDefinition, url));
  });

  it("loses and duplicates no event on workerd", { timeout: 600_000 }, () =>
    killRepeatedly(
      { SIGNALBOX_TOKEN: "the-admin-of-this-test" },
      async (data) => openSqlite(storeDefinition, objectFile(data, "WebhookStore")),
      { start: startWorkerProcess, kills: WORKERD_KILLS },
    ),
  );
});
