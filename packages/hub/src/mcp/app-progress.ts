/** Sends `notifications/progress` for a run: one for each node that is done or skipped. */
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

/** Returns undefined if the client did not send a progress token. */
export async function createProgressReporter({
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
  const finished = new Set<string>();
  let hasLoop = false;

  return ({ node_id, item, status }) => {
    if (status !== "done" && status !== "skipped") return;
    const before = finished.size;
    finished.add(`${item}\n${node_id}`);
    if (finished.size === before) return;
    hasLoop ||= item !== "";
    // Nothing is sent while the client does not read; the next notification counts this node too.
    if (backPressure.isFull()) return;
    const params = {
      progressToken,
      progress: finished.size,
      // The number of iterations is not known in advance.
      ...(!hasLoop && { total: reachable }),
      message: names.get(node_id) ?? node_id,
    };
    backPressure.sent(JSON.stringify(params).length);
    // Fails if the client has disconnected or has its result already.
    mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
  };
}
