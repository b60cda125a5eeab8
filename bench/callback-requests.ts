/** Callbacks of an MCP server. Their `data` is the payload of a webhook. */
import { createHash, randomUUID } from "node:crypto";
import { join } from "node:path";
import { openSqlite } from "../packages/hub/src/kernel/backends/sqlite.ts";
import { randomSecret } from "../packages/hub/src/kernel/lib/random-secret.ts";
import { storeDefinition } from "../packages/hub/src/store.ts";
import { flowNode, publishFlow } from "./flow-engine.ts";
import type { LoadPlan } from "./load.ts";
import { makePayloads } from "./payloads.ts";
import { TENANT } from "./seed.ts";

/** An address that never responds (TEST-NET-1 of RFC 5737). */
const TARGET = { url: "http://192.0.2.1/mcp" };
const CONNECTION = "bench-aaaaaa";

/** Adds a connection with an active trigger to a data folder; returns a valid token for callbacks. */
export async function prepareCallbacks(data: string): Promise<string> {
  const store = openSqlite(storeDefinition, join(data, "signalbox.db"));
  const token = randomSecret("sbcb_");
  try {
    await store.putTenant({ id: TENANT, at: 1 });
    await store.createConnection(
      {
        id: CONNECTION,
        tenant: TENANT,
        name: "bench",
        target: TARGET,
        sealed: null,
        credentials: {},
      },
      1,
    );
    // The callbacks have another type, so that they start no runs, like the webhooks.
    const trigger = flowNode("on", "Event", { source: CONNECTION, type: "other" });
    await publishFlow(store, [trigger, flowNode("end", "Return", { value: "" })]);
    const [subscription] = await store.listTriggerSubscriptions(TENANT, CONNECTION);
    if (!subscription) throw new Error("the trigger has no subscription");
    await store.stageCallbackToken({
      hash: createHash("sha256").update(token).digest("hex"),
      tenant: TENANT,
      connection: CONNECTION,
      subscription: subscription.id,
      generation: 0,
      scope: "connection",
      target: TARGET,
      types: ["other"],
      at: 1,
    });
  } finally {
    await store.close();
  }
  return token;
}

/** Returns callbacks for the load generator. Their ids are unique for every call and every request. */
export function callbackRequests(
  port: number,
  token: string,
): Pick<LoadPlan, "port" | "templates"> {
  const id = `00000000-3c5e-11f0-${randomUUID().slice(19)}`;
  return {
    port,
    templates: makePayloads().map((payload) => {
      const body = Buffer.from(
        `{"type":"issues","data":${payload},"id":"${id}","timestamp":"2026-01-05T09:30:00.000Z"}`,
      );
      const head = [
        "POST /api/trigger-callback HTTP/1.1",
        `Host: 127.0.0.1:${port}`,
        "User-Agent: node",
        "Accept: */*",
        "Content-Type: application/json",
        `Content-Length: ${body.length}`,
        `Authorization: Bearer ${token}`,
        "",
        "",
      ].join("\r\n");
      return {
        request: Buffer.concat([Buffer.from(head), body]),
        idAt: Buffer.byteLength(head) + body.lastIndexOf(id),
      };
    }),
  };
}
