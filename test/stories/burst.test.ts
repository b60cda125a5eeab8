/**
 * Sends thousands of webhooks or callbacks, each of which starts a flow, and kills the hub halfway. If
 * an event gets no response, its sender repeats it with the same id. At the end each event has one run.
 */
import { randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { openSqlite } from "../../packages/hub/src/kernel/backends/sqlite.ts";
import { sha256Hex } from "../../packages/hub/src/kernel/lib/hmac.ts";
import { randomSecret } from "../../packages/hub/src/kernel/lib/random-secret.ts";
import { storeDefinition } from "../../packages/hub/src/store.ts";
import { issueOpened, SECRET, signature } from "../support/deliver.ts";
import { fixedPort } from "../support/fixed-port.ts";
import { createFlowMaker } from "../support/flow-maker.ts";
import { startHubProcess } from "../support/hub-process.ts";
import { loadOf } from "../support/load.ts";
import { tempFolder } from "../support/temp-folder.ts";

const TOKEN = "sbx_burst_story_0123456789";
const EVENTS = loadOf(10_000);
const SENDERS = 64;
const TENANT = "local";
/** The address is reserved for documentation: no server responds there. */
const SERVER_URL = "http://192.0.2.1/mcp";

interface Sender {
  /** The source that the trigger names. */
  source: string;
  path: string;
  request(id: string, number: number): { headers: Record<string, string>; body: string };
  afterPublish?(): Promise<void>;
}

const issueData = (number: number) => ({ ...issueOpened, issue: { ...issueOpened.issue, number } });

const createWebhookSender = async (): Promise<Sender> => ({
  source: "github",
  path: "/webhooks/github",
  request(id, number) {
    const body = JSON.stringify(issueData(number));
    const headers = {
      "x-github-event": "issues",
      "x-github-delivery": id,
      "x-hub-signature-256": signature(body),
    };
    return { headers, body };
  },
});

/** Sends callbacks as the server of a connection would, with a token that the test stores. */
const createCallbackSender = async (url: string, data: string): Promise<Sender> => {
  const response = await fetch(`${url}/api/connections`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "Tracker", url: SERVER_URL }),
  });
  const { id: source } = (await response.json()) as { id: string };
  const secret = randomSecret("sbcb_");
  return {
    source,
    path: "/api/trigger-callback",
    request: (id, number) => ({
      headers: { authorization: `Bearer ${secret}` },
      body: JSON.stringify({ type: "issues", data: issueData(number), id }),
    }),
    /** Stores the token that `request` sends. The hub rejects callbacks with an unknown token. */
    async afterPublish() {
      const store = openSqlite(storeDefinition, `${data}/signalbox.db`);
      const [subscription] = await store.listTriggerSubscriptions(TENANT, source);
      if (!subscription) throw new Error("no subscription");
      await store.stageCallbackToken({
        hash: await sha256Hex(secret),
        tenant: TENANT,
        connection: source,
        subscription: subscription.id,
        generation: 0,
        scope: "subscription",
        target: { url: SERVER_URL },
        types: ["issues"],
        at: Date.now(),
      });
      await store.close();
    },
  };
};

it.each([
  ["webhooks", createWebhookSender],
  ["callbacks", createCallbackSender],
])(
  "starts one run per event for thousands of %s, even if the hub is killed halfway",
  async (_, createSender) => {
    const data = tempFolder();
    const env = {
      GITHUB_WEBHOOK_SECRET: SECRET,
      SIGNALBOX_TOKEN: TOKEN,
      SIGNALBOX_LOG_LEVEL: "error",
      SIGNALBOX_RUN_LEASE: "1",
      PORT: await fixedPort(),
    };
    let hub = await startHubProcess({ data, env });
    onTestFinished(async () => void (await hub.stop("SIGKILL")));
    const sender = await createSender(hub.url, data);
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
          parameters: { source: sender.source, type: "issues" },
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

    await sender.afterPublish?.();

    let acknowledged = 0;
    const halfway = Promise.withResolvers<void>();
    const restarted = halfway.promise.then(async () => {
      await hub.stop("SIGKILL");
      hub = await startHubProcess({ data, env });
    });
    const deliver = createDelivery(hub.url, sender);
    let next = 0;
    await Promise.all(
      Array.from({ length: SENDERS }, async () => {
        for (let number = next++; number < EVENTS; number = next++) {
          const id = randomUUID();
          while (!(await deliver(id, number))) await sleep(50);
          acknowledged += 1;
          if (acknowledged === EVENTS / 2) halfway.resolve();
        }
      }),
    );
    await restarted;

    const store = openSqlite(storeDefinition, `${data}/signalbox.db`);
    onTestFinished(() => store.close());
    const listRuns = async () => {
      const runs = [];
      for (let before: string | undefined; ; ) {
        const page = await store.listRuns({ tenant: TENANT, flow: flowId, limit: 1_000, before });
        runs.push(...page);
        before = page.at(-1)?.id;
        if (page.length < 1_000) return runs;
      }
    };
    // The runs exist as soon as the last event is acknowledged.
    const storedRuns = await listRuns();
    expect(storedRuns.length).toBe(EVENTS);
    expect(new Set(storedRuns.map(({ event_id }) => event_id)).size).toBe(EVENTS);

    await expect
      .poll(async () => (await listRuns()).filter(({ status }) => status !== "succeeded").length, {
        timeout: 240_000,
        interval: 1_000,
      })
      .toBe(0);
    const outputs = (await listRuns()).map(({ output }) => Number(output));
    expect(outputs.toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: EVENTS }, (_, number) => number),
    );
  },
  400_000,
);

/** Returns a function that sends an event and returns whether it was acknowledged. */
function createDelivery(url: string, sender: Sender) {
  const agent = new Agent({ keepAlive: true, maxSockets: SENDERS });
  onTestFinished(() => agent.destroy());
  return (id: string, number: number): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const { headers, body } = sender.request(id, number);
      const outgoing = request(`${url}${sender.path}`, {
        agent,
        method: "POST",
        headers: {
          ...headers,
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
        },
      });
      outgoing.on("error", () => resolve(false));
      outgoing.on("response", (response) => {
        response.resume();
        response.on("error", () => resolve(false));
        response.on("end", () => resolve(true));
        if ((response.statusCode ?? 0) >= 300)
          reject(new Error(`rejected: ${response.statusCode}`));
      });
      outgoing.end(body);
    });
}
