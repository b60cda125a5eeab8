/** Starts a hub process and a stand-in trigger server, and publishes a flow with triggers of that server. */
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
    // A short lease, so that the next process soon continues the runs of a killed one.
    SIGNALBOX_RUN_LEASE: "1",
  };
  const hubPort = await fixedPort();
  if (backend === "PostgreSQL")
    Object.assign(env, {
      DATABASE_URL: await createMigratedDatabase(inject("postgresUrl")),
      // The first replica takes the role of a load balancer for callbacks.
      SIGNALBOX_PUBLIC_URL: `http://127.0.0.1:${hubPort}`,
      GITHUB_WEBHOOK_SECRET: "the-secret-of-this-story",
      SIGNALBOX_KEY: Buffer.alloc(32, 7).toString("base64"),
    });
  if (backend === "workerd") env.GITHUB_WEBHOOK_SECRET = "the-secret-of-this-story";
  const start = backend === "workerd" ? startWorkerProcess : startHubProcess;
  const openHub = async (port: string) => {
    const started = await start({ data, env: { ...env, PORT: port } });
    onTestFinished(async () => void (await started.stop("SIGKILL")));
    return started;
  };
  let hub: HubProcess = await openHub(hubPort);

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
      hub = await openHub(hubPort);
    },
    /** Starts another replica on the same database. */
    startReplica: () => openHub("0"),
    /** Publishes the flow with these triggers. Each leads to a node that returns the trigger's id and the event's `n`. */
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
    /** Waits until the subscriptions have these states, by the ids of their triggers. */
    async waitForStates(states: Record<string, string>): Promise<void> {
      await expect
        .poll(
          async () =>
            Object.fromEntries(
              (await subscriptions()).map(({ node_id, state }) => [node_id, state]),
            ),
          { timeout: MAX_WAIT_MS, interval: 50 },
        )
        .toEqual(states);
    },
    /** Waits until exactly the expected triggers have completed runs for the event with this `n`. */
    async expectFiredBy(n: number, triggers: readonly string[]): Promise<void> {
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
        .toEqual(triggers.toSorted());
    },
  };
}

export type TriggerStory = Awaited<ReturnType<typeof startTriggerStory>>;
