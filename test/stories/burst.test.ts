/**
 * Sends ten thousand webhooks, each of which starts a flow, and kills the hub halfway. If a webhook
 * gets no response, its sender repeats it with the same id. At the end each webhook has one run.
 */
import { randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { openSqlite } from "../../packages/hub/src/store/backends/sqlite.ts";
import { issueOpened, SECRET, signature } from "../support/deliver.ts";
import { createFlowMaker } from "../support/flow-maker.ts";
import { startHubProcess } from "../support/hub-process.ts";
import { tempFolder } from "../support/temp-folder.ts";

const TOKEN = "sbx_burst_story_0123456789";
const WEBHOOKS = 10_000;
const SENDERS = 64;
const TENANT = "local";

it("starts one run per webhook for ten thousand webhooks, although the hub is killed halfway", async () => {
  const data = tempFolder();
  const env = {
    GITHUB_WEBHOOK_SECRET: SECRET,
    SIGNALBOX_TOKEN: TOKEN,
    SIGNALBOX_LOG_LEVEL: "error",
    SIGNALBOX_RUN_LEASE: "1",
    // Outside the ephemeral range, so that no other process takes the port while the hub is down.
    PORT: String(20_000 + Math.floor(Math.random() * 10_000)),
  };
  let hub = await startHubProcess({ data, env });
  onTestFinished(async () => void (await hub.stop("SIGKILL")));
  const maker = createFlowMaker(hub.url, TOKEN);
  await maker.app("burst");
  const { id: flowId } = await maker.flow(
    "burst",
    "Burst",
    [
      {
        id: "on",
        type: "Event",
        name: "On issue",
        parameters: { source: "github", type: "issues" },
      },
      {
        id: "end",
        type: "Return",
        name: "End",
        parameters: { value: "{{ trigger.data.issue.number }}" },
      },
    ],
    [["on", "end"]],
  );

  let acknowledged = 0;
  const half = Promise.withResolvers<void>();
  const restarted = half.promise.then(async () => {
    await hub.stop("SIGKILL");
    hub = await startHubProcess({ data, env });
  });
  const deliver = createSender(hub.url);
  let next = 0;
  await Promise.all(
    Array.from({ length: SENDERS }, async () => {
      for (let number = next++; number < WEBHOOKS; number = next++) {
        const id = randomUUID();
        while (!(await deliver(id, number))) await sleep(50);
        acknowledged += 1;
        if (acknowledged === WEBHOOKS / 2) half.resolve();
      }
    }),
  );
  await restarted;

  const store = openSqlite(`${data}/signalbox.db`);
  onTestFinished(() => store.close());
  const runs = async () => {
    const found = [];
    for (let before: string | undefined; ; ) {
      const page = await store.listRuns({ tenant: TENANT, flow: flowId, limit: 1_000, before });
      found.push(...page);
      before = page.at(-1)?.id;
      if (page.length < 1_000) return found;
    }
  };
  // The runs exist as soon as the last webhook is acknowledged.
  const stored = await runs();
  expect(stored.length).toBe(WEBHOOKS);
  expect(new Set(stored.map(({ event_id }) => event_id)).size).toBe(WEBHOOKS);

  await expect
    .poll(async () => (await runs()).filter(({ status }) => status !== "succeeded").length, {
      timeout: 240_000,
      interval: 1_000,
    })
    .toBe(0);
  const outputs = (await runs()).map(({ output }) => Number(output));
  expect(outputs.toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: WEBHOOKS }, (_, number) => number),
  );
}, 400_000);

/** Returns a function that sends a webhook and returns whether it was acknowledged. */
function createSender(url: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: SENDERS });
  onTestFinished(() => agent.destroy());
  return (id: string, number: number): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const body = JSON.stringify({ ...issueOpened, issue: { ...issueOpened.issue, number } });
      const sent = request(`${url}/webhooks/github`, {
        agent,
        method: "POST",
        headers: {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
          "x-github-event": "issues",
          "x-github-delivery": id,
          "x-hub-signature-256": signature(body),
        },
      });
      sent.on("error", () => resolve(false));
      sent.on("response", (response) => {
        response.resume();
        response.on("error", () => resolve(false));
        response.on("end", () => resolve(true));
        if ((response.statusCode ?? 0) >= 300)
          reject(new Error(`rejected: ${response.statusCode}`));
      });
      sent.end(body);
    });
}
