/** Polls subscriptions in tests: with a real store, and a server whose responses the test defines. */
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { onTestFinished } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import { createIds } from "../kernel/lib/ids.ts";
import { createGroupCommit } from "../kernel/store/group-commit.ts";
import { createAppend } from "../pipeline.ts";
import { storeDefinition } from "../store.ts";
import type { ToolAnswer } from "./connections.ts";
import type { Connection, Offers, TriggerSubscription } from "./model.ts";
import { pollDue } from "./poll-due.ts";

export const NOW = Date.UTC(2026, 0, 5);
const TENANT = "acme";
export const CONNECTION = { id: "tracker-7kq2xv", tenant: TENANT, name: "Tracker" } as Connection;

export const offering = (...triggers: Partial<Offers["triggers"][number]>[]): Offers => ({
  server: null,
  perSubscription: false,
  tools: [],
  triggers: triggers.map((fields) => ({
    type: "issue",
    description: "",
    binding: "events",
    inputSchema: {},
    paramsSchema: {},
    ...fields,
  })),
});

export interface Request {
  method: string;
  params: JsonObject;
}

export function setUpPoll({ quota = null as number | null } = {}) {
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  onTestFinished(() => store.close());
  const commit = createGroupCommit({ store, quota });
  const requests: Request[] = [];
  const state = {
    now: NOW,
    /** Returns the response of the server, or throws. */
    respond: (_: Request): Json | Promise<Json> => ({}),
    isLeased: true,
    saved: [] as JsonObject[],
  };
  const send = async (method: string, params: JsonObject): Promise<Json> => {
    const request = { method, params };
    requests.push(request);
    return state.respond(request);
  };

  /** Polls the subscriptions once, and applies the results to them. */
  const poll = async (offers: Offers, ...subscriptions: TriggerSubscription[]) => {
    const nextAt = await pollDue(
      {
        by: "me",
        context: { now: () => state.now, random: () => 1, callbackUrl: "" },
        newId: createIds(),
        append: createAppend({
          matcher: { plan: () => ({ revision: 0, events: [] }), invalidate() {} },
          commit,
        }),
        connections: {
          callTool: async (_, { tool, arguments: args }) =>
            (await send(tool, args)) as unknown as ToolAnswer,
          request: (_, method, params) => send(method, params),
        },
        store: {
          async saveSubscriptions(_, __, results) {
            if (!state.isLeased) return false;
            for (const { revision: _, isRemoved: __, ...result } of results) {
              if (result.position) state.saved.push(structuredClone(result.position));
              const changed = subscriptions.find(({ id }) => id === result.id);
              if (changed) Object.assign(changed, result);
            }
            return true;
          },
        },
      },
      { connection: CONNECTION, offers, subscriptions, signal: new AbortController().signal },
    );
    return nextAt;
  };
  const stored = async () => {
    const { items } = await store.listEvents({ tenant: TENANT, limit: 1_000, order: "oldest" });
    return Promise.all(
      items.map(async ({ seq, type, external_id, source }) => ({
        source,
        type,
        external_id,
        data: JSON.parse(
          new TextDecoder().decode((await store.getPayload(TENANT, seq))?.body),
        ) as JsonObject,
      })),
    );
  };
  return { poll, stored, requests, state };
}

export const subscriptionOf = (fields: Partial<TriggerSubscription>): TriggerSubscription => ({
  id: "subscription-1",
  tenant: TENANT,
  connection: CONNECTION.id,
  flow_id: "flow",
  node_id: "node",
  type: "issue",
  params: {},
  poll: null,
  wanted: "active",
  state: "configuring",
  error: null,
  revision: 1,
  configured: 0,
  configured_type: null,
  token_generation: 0,
  position: null,
  attempt: 0,
  next_at: NOW,
  last_fired_at: null,
  created_at: NOW,
  updated_at: NOW,
  ...fields,
});
