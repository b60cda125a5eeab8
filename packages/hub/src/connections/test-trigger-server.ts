/** Models of MCP servers with triggers, which differ in what they keep. For tests. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { Offers } from "../store/connection-store.ts";
import type { ToolAnswer } from "./connections.ts";

/**
 * `connection`: one credential per connection, which a new one replaces (the published package).
 * `type`: one credential per type, with the params of the last call; events are filtered by them.
 * `fragile`: like `connection`, but each disabled type deletes everything.
 * `subscription`: one credential per `subscriptionId`.
 */
export type ServerModel = "connection" | "type" | "fragile" | "subscription";

interface Sent {
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
  /** The callbacks that an event causes. */
  notify(type: string, data: JsonObject): Sent[];
  /** Deletes everything, like a restart without a database. */
  reset(): void;
}

const success: ToolAnswer = {
  isError: false,
  content: [],
  structuredContent: { success: true },
};

export function createTestTriggerServer(
  model: ServerModel,
  types: readonly string[],
): TestTriggerServer {
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
        .filter((one) => one.type === type)
        .filter(({ params }) => Object.entries(params).every(([key, value]) => data[key] === value))
        .map(({ token }) => ({ token, type }));
    },
    reset() {
      configured.clear();
      credential = undefined;
    },
  };
}
