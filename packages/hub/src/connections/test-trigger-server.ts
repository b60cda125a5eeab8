/** Fake MCP servers with triggers, for tests. The models differ in how they store credentials. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { ToolAnswer } from "./connections.ts";
import type { Offers } from "./model.ts";

/**
 * `connection`: one credential per connection; the last one replaces the others. The published package
 * of trigger servers works like this.
 * `type`: one credential per type, with the params of the last call, which filter the events.
 * `fragile`: like `connection`, but disabling one type deletes all types.
 * `subscription`: one credential per `subscriptionId`.
 */
export type ServerModel = "connection" | "type" | "fragile" | "subscription";

interface SentCallback {
  token: string;
  type: string;
}

interface Configured {
  type: string;
  params: JsonObject;
  token: string;
}

export interface TestTriggerServer {
  offers: Offers;
  configure(args: JsonObject): ToolAnswer;
  /** Returns the callbacks that the server sends for an event. */
  notify(type: string, data: JsonObject): SentCallback[];
  /** Deletes everything, like a restart without a database. */
  reset(): void;
}

/** With `isStored`, the server reports that it stores its subscriptions. */
export function createTestTriggerServer(
  model: ServerModel,
  types: readonly string[],
  { isStored = false } = {},
): TestTriggerServer {
  const success: ToolAnswer = {
    isError: false,
    content: [],
    structuredContent: { success: true, ...(isStored && { stored: true }) },
  };
  const configured = new Map<string, Configured>();
  let credential: string | undefined;

  const keyOf = ({ type, subscriptionId }: JsonObject) =>
    model === "subscription" ? String(subscriptionId) : String(type);

  return {
    offers: {
      server: { name: model, version: "1" },
      perSubscription: model === "subscription",
      tools: ["TRIGGER_LIST", "TRIGGER_CONFIGURE"].map((name) => ({
        name,
        description: "",
        inputSchema: {},
      })),
      triggers: types.map((type) => ({
        type,
        description: "",
        binding: "callback",
        inputSchema: {},
        paramsSchema: { city: { type: "string" } },
      })),
    },
    configure(args) {
      const key = keyOf(args);
      if (args.enabled !== true) {
        if (model === "fragile") configured.clear();
        else configured.delete(key);
        if (configured.size === 0) credential = undefined;
        return success;
      }
      credential = String(args.callbackToken ?? credential);
      configured.set(key, {
        type: String(args.type),
        params: args.params as JsonObject,
        token: credential,
      });
      return success;
    },
    notify(type, data) {
      if (model === "connection" || model === "fragile")
        return credential === undefined ? [] : [{ token: credential, type }];
      return [...configured.values()]
        .filter((entry) => entry.type === type)
        .filter(({ params }) => Object.entries(params).every(([key, value]) => data[key] === value))
        .map(({ token }) => ({ token, type }));
    },
    reset() {
      configured.clear();
      credential = undefined;
    },
  };
}
