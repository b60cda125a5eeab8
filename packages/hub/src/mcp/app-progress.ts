/** Tells a client that asked for it how far a run is: a step at a time, by the names of the nodes. */
import type { ServerContext } from "@modelcontextprotocol/server";
import { graphOf, reachableFrom } from "@signalbox/rules/flows/graph.ts";
import type { StoredApp } from "../store/flow-store.ts";
import type { Step } from "../store/run-store.ts";
import type { Store } from "../store/store.ts";
import type { BackPressure } from "./back-pressure.ts";

export interface ProgressOptions {
  store: Pick<Store, "findTool" | "getVersion">;
  app: StoredApp;
  tool: string;
  mcpReq: Pick<ServerContext["mcpReq"], "_meta" | "notify">;
  backPressure: Pick<BackPressure, "isFull" | "sent">;
  now: number;
}

/** Undefined where nobody asked, or there is nothing to tell of. */
export async function progressOf({
  store,
  app: { tenant, slug },
  tool,
  mcpReq,
  backPressure,
  now,
}: ProgressOptions): Promise<((step: Step) => void) | undefined> {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  const trigger = (await store.findTool(tenant, slug, tool, now))?.trigger;
  const graph =
    trigger && (await store.getVersion(trigger.tenant, trigger.flow_id, trigger.version));
  if (!graph) return undefined;
  const names = new Map(graph.nodes.map(({ id, name }) => [id, name]));
  const reachable = reachableFrom(graphOf(graph), trigger.node_id).size;
  const over = new Set<string>();
  let loops = false;

  return ({ node_id, item, status }) => {
    if (status !== "done" && status !== "skipped") return;
    const before = over.size;
    over.add(`${item}\n${node_id}`);
    if (over.size === before) return;
    loops ||= item !== "";
    // Who does not read is not told of every step that it has missed.
    if (backPressure.isFull()) return;
    const params = {
      progressToken,
      progress: over.size,
      // How often a loop goes round is not known beforehand.
      ...(!loops && { total: reachable }),
      message: names.get(node_id) ?? node_id,
    };
    backPressure.sent(JSON.stringify(params).length);
    // It fails where the client has gone, or has its answer already.
    mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
  };
}
