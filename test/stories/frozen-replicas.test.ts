/** Two replicas on PostgreSQL, one of which is stopped and continued again and again. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import { ADMIN, startApi } from "../support/api-client.ts";
import { deliver, SECRET } from "../support/deliver.ts";
import { createFlowMaker } from "../support/flow-maker.ts";
import { startHubProcess } from "../support/hub-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { WAIT } from "../support/timeouts.ts";

const FREEZES = Number(process.env.SIGNALBOX_TEST_FREEZES ?? 6);
const FROZEN_MS = 2_500;
const AWAKE_MS = 1_000;

/** When each request with an idempotency key arrived, and by the key when it was answered first. */
async function startEffects() {
  const arrivals: { key: string; at: number }[] = [];
  const server = createServer((request, response) => {
    arrivals.push({ key: String(request.headers["idempotency-key"]), at: Date.now() });
    request.resume().on("end", () => response.end("{}"));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, arrivals };
}

it("a replica that wakes up has no effects of steps that are done, and the other one goes on", async () => {
  const effects = await startEffects();
  const extra = {
    SIGNALBOX_RUN_LEASE: "1",
    SIGNALBOX_ALLOW_PRIVATE: "on",
    SIGNALBOX_KEY: Buffer.alloc(32, 1).toString("base64"),
  };
  const { hub, env } = await startApi("PostgreSQL", extra);
  const frozen = await startHubProcess({
    data: tempFolder(),
    env: { ...env, SIGNALBOX_DATA: tempFolder(), GITHUB_WEBHOOK_SECRET: SECRET },
  });
  onTestFinished(async () => {
    process.kill(frozen.pid, "SIGCONT");
    await frozen.stop("SIGKILL");
  });
  const maker = createFlowMaker(hub.url, ADMIN);
  await maker.app("freezes");
  const call = (id: string) => ({
    id,
    type: "HttpRequest",
    name: id,
    parameters: { method: "POST", url: `${effects.url}/${id}` },
  });
  await maker.flow(
    "freezes",
    "Two calls",
    [
      {
        id: "on",
        type: "Event",
        name: "On",
        parameters: { source: "github", type: "issues" },
      },
      call("first"),
      call("second"),
    ],
    [
      ["on", "first"],
      ["first", "second"],
    ],
  );

  const end = Date.now() + FREEZES * (FROZEN_MS + AWAKE_MS);
  let sent = 0;
  let longestGap = 0;
  const load = async () => {
    for (let last = performance.now(); Date.now() < end; ) {
      const { status } = await deliver(hub.url);
      if (status === 202) {
        sent += 1;
        longestGap = Math.max(longestGap, performance.now() - last);
        last = performance.now();
      }
      await sleep(10);
    }
  };
  const freeze = async () => {
    for (let nth = 0; nth < FREEZES; nth += 1) {
      await sleep(AWAKE_MS);
      process.kill(frozen.pid, "SIGSTOP");
      await sleep(FROZEN_MS);
      process.kill(frozen.pid, "SIGCONT");
    }
  };
  await Promise.all([load(), load(), freeze()]);

  interface RunView {
    id: string;
    status: string;
    steps: { node_id: string; status: string; finished_at: string | null }[];
  }
  const runs: RunView[] = [];
  await vi.waitFor(async () => {
    const page = await maker.call<{ items: { id: string; status: string }[] }>(
      "GET",
      "/api/runs?app=freezes&limit=1",
    );
    const keys = new Set(effects.arrivals.map(({ key }) => key));
    expect([page.items.length, keys.size]).toEqual([1, 2 * sent]);
  }, WAIT);
  const ids = new Set(effects.arrivals.map(({ key }) => key.split(":")[0] ?? ""));
  for (const id of ids)
    await vi.waitFor(async () => {
      const run = await maker.call<RunView>("GET", `/api/runs/${id}`);
      expect(run.status).toBe("succeeded");
      runs.push(run);
    }, WAIT);

  const doneAt = new Map<string, number>();
  for (const { id, steps } of runs)
    for (const { node_id, status, finished_at } of steps)
      if (status === "done" && finished_at) doneAt.set(`${id}:${node_id}`, Date.parse(finished_at));
  const late = effects.arrivals.filter(({ key, at }) => at > (doneAt.get(key) ?? at));
  console.log({
    sent,
    longestGap: Math.round(longestGap),
    repeated: effects.arrivals.length - 2 * sent,
  });
  expect(late).toEqual([]);
  // Two seconds on a machine that is not busy.
  expect(longestGap).toBeLessThan(8_000);
}, 600_000);
