/** A hub in its own process, a stand-in trigger server, and a flow whose triggers listen to it. */
import { expect, inject, onTestFinished } from "vitest";
import type { Backend } from "./api-client.ts";
import { fixedPort } from "./fixed-port.ts";
import { type HubProcess, startHubProcess } from "./hub-process.ts";
import { createMigratedDatabase } from "./postgres.ts";
import { tempFolder } from "./temp-folder.ts";
import { MAX_WAIT_MS } from "./timeouts.ts";
import type { TriggerServerOptions } from "./trigger-server.ts";
import { startTriggerServer } from "./trigger-server-process.ts";
import { startWorkerProcess } from "./worker-process.ts";

const TOKEN = "sbx_trigger_story_0123456789";
const APP = "triggers";

export interface StoryTrigger {
  id: string;
  type: string;
  params?: Record<string, unknown>;
  isActive?: boolean;
}

export interface StorySubscription {
  id: string;
  node_id: string;
  type: string;
  state: string;
  error: string | null;
  last_fired_at: string | null;
}

export interface StoryOptions {
  backend?: Backend;
  server?: TriggerServerOptions;
}

export async function startTriggerStory({
  backend = "SQLite",
  server: options,
}: StoryOptions = {}) {
  const server = await startTriggerServer(options);
  const data = tempFolder();
  const env: Record<string, string> = {
    SIGNALBOX_TOKEN: TOKEN,
    SIGNALBOX_ALLOW_PRIVATE: "on",
    SIGNALBOX_LOG_LEVEL: "warn",
    // After a kill, the next process continues soon.
    SIGNALBOX_RUN_LEASE: "1",
  };
  const ownPort = await fixedPort();
  if (backend === "PostgreSQL")
    Object.assign(env, {
      DATABASE_URL: await createMigratedDatabase(inject("postgresUrl")),
      // The address of the first replica stands for that of a load balancer.
      SIGNALBOX_PUBLIC_URL: `http://127.0.0.1:${ownPort}`,
      GITHUB_WEBHOOK_SECRET: "the-secret-of-this-story",
      SIGNALBOX_KEY: Buffer.alloc(32, 7).toString("base64"),
    });
  if (backend === "workerd") env.GITHUB_WEBHOOK_SECRET = "the-secret-of-this-story";
  const start = backend === "workerd" ? startWorkerProcess : startHubProcess;
  const openHub = async (given: string) => {
    const started = await start({ data, env: { ...env, PORT: given } });
    onTestFinished(async () => void (await started.stop("SIGKILL")));
    return started;
  };
  let hub: HubProcess = await openHub(ownPort);

  const call = async <Result>(method: string, path: string, body?: unknown): Promise<Result> => {
    const response = await fetch(`${hub.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    expect(response.ok, `${method} ${path}: ${response.status} ${text}`).toBe(true);
    return (text ? JSON.parse(text) : undefined) as Result;
  };

  await call("POST", "/api/apps", { slug: APP, name: APP });
  const { id: connection } = await call<{ id: string }>("POST", "/api/connections", {
    name: "Stand-in",
    url: server.url,
  });
  let flow: string | undefined;

  const subscriptions = async (): Promise<StorySubscription[]> =>
    (
      await call<{ items: StorySubscription[] }>(
        "GET",
        `/api/connections/${connection}/subscriptions`,
      )
    ).items;

  return {
    server,
    connection,
    data,
    env,
    call,
    subscriptions,
    hub: () => hub,
    killHub: async () => void (await hub.stop("SIGKILL")),
    async restartHub() {
      hub = await openHub(ownPort);
    },
    /** Starts another replica on the same database. */
    startReplica: () => openHub("0"),
    /** Replaces the triggers of the flow. Each leads to a node that returns its id and the event. */
    async publish(triggers: readonly StoryTrigger[]): Promise<string> {
      const graph = {
        name: "On events",
        nodes: triggers.flatMap(({ id, type, params = {}, isActive = true }) => [
          {
            id,
            type: "Event",
            name: `On ${id}`,
            parameters: { source: connection, type, params, isActive },
          },
          {
            id: `end ${id}`,
            type: "Return",
            name: `End ${id}`,
            parameters: { value: { trigger: id, n: "{{ trigger.data.n }}" } },
          },
        ]),
        edges: triggers.map(({ id }) => ({ source: id, target: `end ${id}` })),
      };
      if (flow === undefined)
        flow = (await call<{ id: string }>("POST", `/api/apps/${APP}/flows`, graph)).id;
      else await call("PUT", `/api/flows/${flow}`, graph);
      await call("POST", `/api/flows/${flow}/publish`, {});
      return flow;
    },
    async deleteFlow() {
      await call("DELETE", `/api/flows/${flow}`);
      flow = undefined;
    },
    /** Resolves when the subscriptions have these states, by the ids of their triggers. */
    async untilStates(states: Record<string, string>): Promise<void> {
      await expect
        .poll(
          async () =>
            Object.fromEntries((await subscriptions()).map((one) => [one.node_id, one.state])),
          { timeout: MAX_WAIT_MS, interval: 50 },
        )
        .toEqual(states);
    },
    /** The triggers that have started a run for the event with this number, when all runs ended. */
    async firedBy(n: number, expected: readonly string[]): Promise<void> {
      await expect
        .poll(
          async () =>
            (
              await call<{ items: { status: string; output: { trigger: string; n: number } }[] }>(
                "GET",
                `/api/runs?app=${APP}&limit=100&values=1`,
              )
            ).items
              .filter(({ output }) => output?.n === n)
              .map(({ output }) => output.trigger)
              .toSorted(),
          { timeout: MAX_WAIT_MS, interval: 50 },
        )
        .toEqual(expected.toSorted());
    },
  };
}

export type TriggerStory = Awaited<ReturnType<typeof startTriggerStory>>;
