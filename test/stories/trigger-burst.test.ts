/**
 * An MCP server sends bursts of events to its callback URL. A system with such callbacks was reported to
 * start only 10 runs for 25 concurrent events. Here each event is stored and starts a run, even if the hub
 * is killed meanwhile: the server sends unacknowledged events again, with the same id.
 */
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { openSqlite } from "../../packages/hub/src/kernel/backends/sqlite.ts";
import { storeDefinition } from "../../packages/hub/src/store.ts";
import { loadOf } from "../support/load.ts";
import { startTriggerStory, type TriggerStory } from "../support/trigger-story.ts";

const EVENTS = loadOf(10_000);
const SENDERS = 64;
const TENANT = "local";

/**
 * Starts a hub with one active trigger. `send` sends an event with the URL and the token that the server
 * has received. It returns the status of the response, or undefined if there is none.
 */
async function startBurst(
  publish: (story: TriggerStory) => Promise<string> = ({ publish }) =>
    publish([{ id: "opened", type: "issue.opened" }]),
): Promise<{
  story: TriggerStory;
  flow: string;
  send(n: number): Promise<number | undefined>;
}> {
  const story = await startTriggerStory();
  const flow = await publish(story);
  await story.waitForStates({ opened: "active" });
  const credentials = (await story.server.state()).connections[story.connection]?.credentials;
  if (!credentials) throw new Error("the server has no credentials");
  const agent = new Agent({ keepAlive: true, maxSockets: SENDERS });
  onTestFinished(() => agent.destroy());
  const send = (n: number): Promise<number | undefined> =>
    new Promise((resolve) => {
      const body = JSON.stringify({ type: "issue.opened", data: { n }, id: `event-${n}` });
      const callback = request(credentials.callbackUrl, {
        agent,
        method: "POST",
        headers: {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
          authorization: `Bearer ${credentials.callbackToken}`,
        },
      });
      callback.on("error", () => resolve(undefined));
      callback.on("response", (response) => {
        response.resume();
        response.on("error", () => resolve(undefined));
        response.on("end", () => resolve(response.statusCode));
      });
      callback.end(body);
    });
  return { story, flow, send };
}

/** Expects that there is one run for each number below `count`, and waits until all have succeeded. */
async function expectRuns(data: string, flow: string, count: number): Promise<void> {
  const store = openSqlite(storeDefinition, `${data}/signalbox.db`);
  onTestFinished(() => store.close());
  const listRuns = async () => {
    const runs = [];
    for (let before: string | undefined; ; ) {
      const page = await store.listRuns({ tenant: TENANT, flow, limit: 1_000, before });
      runs.push(...page);
      before = page.at(-1)?.id;
      if (page.length < 1_000) return runs;
    }
  };
  const runs = await listRuns();
  expect(runs.length).toBe(count);
  expect(new Set(runs.map(({ event_id }) => event_id)).size).toBe(count);
  await expect
    .poll(async () => (await listRuns()).filter(({ status }) => status !== "succeeded").length, {
      timeout: 240_000,
      interval: 1_000,
    })
    .toBe(0);
  const numbers = (await listRuns()).map(({ output }) => (output as { n: number }).n);
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, n) => n));
}

it("25 concurrent events start 25 runs", async () => {
  const { story, flow, send } = await startBurst();
  const statuses = await Promise.all(Array.from({ length: 25 }, (_, n) => send(n)));
  expect(statuses).toEqual(Array(25).fill(202));
  await expectRuns(story.data, flow, 25);
});

it("each of thousands of events starts one run, although the hub is killed halfway", async () => {
  const { story, flow, send } = await startBurst();
  let acknowledged = 0;
  let next = 0;
  const halfAcknowledged = Promise.withResolvers<void>();
  const restarted = halfAcknowledged.promise.then(async () => {
    await story.killHub();
    await story.restartHub();
  });
  await Promise.all(
    Array.from({ length: SENDERS }, async () => {
      for (let n = next++; n < EVENTS; n = next++) {
        for (let status = await send(n); status !== 202; status = await send(n)) {
          expect(status).toBeUndefined();
          await sleep(50);
        }
        acknowledged += 1;
        if (acknowledged === EVENTS / 2) halfAcknowledged.resolve();
      }
    }),
  );
  await restarted;
  await expectRuns(story.data, flow, EVENTS);
}, 400_000);

/** Publishes a flow that calls a tool of the server. The server records the calls. */
async function publishToolCall({ call, connection }: TriggerStory): Promise<string> {
  const { id } = await call<{ id: string }>("POST", "/api/apps/triggers/flows", {
    name: "Count",
    nodes: [
      {
        id: "opened",
        type: "Event",
        name: "Opened",
        parameters: { source: connection, type: "issue.opened" },
      },
      {
        id: "count",
        type: "CallTool",
        name: "Count",
        parameters: { connection, tool: "COUNT", arguments: { n: "{{ trigger.data.n }}" } },
      },
      {
        id: "end",
        type: "Return",
        name: "End",
        parameters: { value: { n: "{{ trigger.data.n }}" } },
      },
    ],
    edges: [
      { source: "opened", target: "count" },
      { source: "count", target: "end" },
    ],
  });
  await call("POST", `/api/flows/${id}/publish`, {});
  return id;
}

it("a tool is called once per event; only calls in progress when the hub is killed are repeated, with the same idempotency key", async () => {
  const count = 300;
  const { story, flow, send } = await startBurst(publishToolCall);
  const readCalls = async () => (await story.server.state()).counted;
  const sendUntilAccepted = async (n: number) => {
    while ((await send(n)) !== 202) await sleep(50);
  };
  await Promise.all(Array.from({ length: count / 2 }, (_, n) => sendUntilAccepted(n)));
  await expect
    .poll(async () => (await readCalls()).length, { timeout: 60_000, interval: 20 })
    .toBeGreaterThan(20);
  await story.killHub();
  await story.restartHub();
  await Promise.all(Array.from({ length: count / 2 }, (_, n) => sendUntilAccepted(count / 2 + n)));
  await expectRuns(story.data, flow, count);
  const calls = await readCalls();
  const keys = new Map(calls.map(({ n, key }) => [n, key]));
  expect(keys.size).toBe(count);
  // The killed hub had at most 64 requests open at the server, the default of SIGNALBOX_ORIGIN_REQUESTS.
  expect(calls.length - count).toBeLessThanOrEqual(64);
  for (const { n, key } of calls) expect([n, key]).toEqual([n, keys.get(n)]);
  expect(new Set(keys.values()).size).toBe(count);
}, 240_000);
