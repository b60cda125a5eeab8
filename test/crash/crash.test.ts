/**
 * `kill -9` at any moment: every delivery that was acknowledged is there exactly once, nothing that
 * was refused is, and no place in the log is taken twice. CRASH_KILLS makes it longer.
 */
import { createHmac, randomInt } from "node:crypto";
import { Agent, request } from "node:http";
import { describe, expect, inject, it } from "vitest";
import { openPostgres } from "../../packages/hub/src/store/backends/postgres.ts";
import { openSqlite } from "../../packages/hub/src/store/backends/sqlite.ts";
import type { Store } from "../../packages/hub/src/store/store.ts";
import { type HubProcess, startHubProcess } from "../support/hub-process.ts";
import { createDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";

const KILLS = Number(process.env.CRASH_KILLS ?? 25);
const CLIENTS = 64;
const SECRET = "crash-secret";

const body = Buffer.from(JSON.stringify({ action: "opened", filler: "x".repeat(10_000) }));
const sign = (secret: string) =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
const GOOD = sign(SECRET);
const BAD = sign("another");

interface Ledger {
  stored: Set<string>;
  refused: Set<string>;
  /** Answered "duplicate": it was stored, though the answer to the first try was lost. */
  duplicate: Set<string>;
}

function post(agent: Agent, url: string, id: string, signature: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sending = request(
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
    sending.on("error", reject);
    sending.end(body);
  });
}

/** Sends until the hub dies; what got no answer is sent again in the next round, as GitHub's users do. */
async function hammer(
  hub: HubProcess,
  round: number,
  unanswered: string[],
  ledger: Ledger,
): Promise<string[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const again = [...unanswered];
  const lost: string[] = [];
  let next = 0;
  const client = async () => {
    for (;;) {
      const forged = next % 10 === 9;
      const id = again.pop() ?? `${forged ? "forged" : "real"}-${round}-${next}`;
      next += 1;
      const isForged = id.startsWith("forged");
      try {
        const outcome = await post(agent, hub.url, id, isForged ? BAD : GOOD);
        if (outcome === "stored") ledger.stored.add(id);
        else if (outcome === "duplicate") ledger.duplicate.add(id);
        else if (outcome === "signature_mismatch") ledger.refused.add(id);
        else throw new Error(`unexpected outcome ${outcome}`);
      } catch (error) {
        if (error instanceof Error && error.message.startsWith("unexpected")) throw error;
        lost.push(id);
        return;
      }
    }
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, client));
  // Killed after a random number of acknowledgements, so that every phase of a batch gets its turn.
  const target = ledger.stored.size + randomInt(1, 1200);
  const watch = setInterval(() => {
    if (ledger.stored.size >= target) {
      clearInterval(watch);
      process.kill(hub.pid, "SIGKILL");
    }
  }, 1);
  await clients;
  clearInterval(watch);
  agent.destroy();
  return [...lost, ...again];
}

async function story(env: Record<string, string>, openStore: (data: string) => Promise<Store>) {
  const data = tempFolder();
  const ledger: Ledger = { stored: new Set(), refused: new Set(), duplicate: new Set() };
  let unanswered: string[] = [];
  for (let round = 0; round < KILLS; round += 1) {
    const hub = await startHubProcess({
      data,
      env: { GITHUB_WEBHOOK_SECRET: SECRET, SIGNALBOX_LOG_LEVEL: "fatal", ...env },
    });
    unanswered = await hammer(hub, round, unanswered, ledger);
    expect(await hub.stop("SIGKILL")).toBeNull();
  }

  const store = await openStore(data);
  const seen = new Map<string, number>();
  const seqs = new Set<number>();
  let cursor: number | undefined = 0;
  let count = 0;
  while (cursor !== undefined) {
    const page = await store.listEvents({ tenant: "local", order: "oldest", cursor, limit: 1000 });
    for (const event of page.items) {
      seen.set(event.external_id ?? "", (seen.get(event.external_id ?? "") ?? 0) + 1);
      seqs.add(event.seq);
      count += 1;
      expect(event.size).toBe(body.byteLength);
    }
    cursor = page.next ?? undefined;
  }
  const status = await store.pendingStatus("local");
  const tenant = await store.getTenant("local");
  await store.close();

  expect(ledger.stored.size).toBeGreaterThan(KILLS);
  expect([...ledger.stored].filter((id) => !seen.has(id))).toEqual([]);
  expect([...ledger.duplicate].filter((id) => !seen.has(id))).toEqual([]);
  expect([...seen].filter(([, times]) => times > 1)).toEqual([]);
  expect([...seen.keys()].filter((id) => id.startsWith("forged"))).toEqual([]);
  expect(seqs.size).toBe(count);
  expect(status.pending_count).toBe(count);
  expect(tenant?.bytes).toBe(count * body.byteLength);
  console.log(
    `crash: ${KILLS} kills, ${ledger.stored.size} acknowledged, ${count} stored, ` +
      `${ledger.duplicate.size} found stored though their answer was lost, ${ledger.refused.size} forged and refused`,
  );
}

describe("a hub that is killed at random moments", () => {
  it("loses and repeats nothing on SQLite", { timeout: 600_000 }, () =>
    story({}, async (data) => openSqlite(`${data}/signalbox.db`)),
  );

  it("loses and repeats nothing on PostgreSQL", { timeout: 600_000 }, async () => {
    const url = await createDatabase(inject("postgresUrl"));
    await story({ DATABASE_URL: url }, () => openPostgres(url));
  });
});
