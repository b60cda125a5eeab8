/**
 * Sends `notifications/progress` for a run: one for each node and each part of a node that is done or
 * skipped, and one for each progress notification of a tool that a node has called.
 */
import type { ServerContext } from "@modelcontextprotocol/server";
import { graphOf, reachableFrom } from "@signalbox/rules/flows/graph.ts";
import { partOf } from "@signalbox/rules/flows/step-part.ts";
import type { BackPressure } from "../../kernel/mcp/back-pressure.ts";
import type { Store } from "../../store.ts";
import type { StoredApp } from "../model.ts";
import type { Step } from "../runs/model.ts";
import { describeProgress, type NodeProgress, type ToolProgress } from "../runs/node-services.ts";

export interface ProgressOptions {
  store: Pick<Store, "findTool" | "getVersion">;
  app: StoredApp;
  tool: string;
  mcpReq: Pick<ServerContext["mcpReq"], "_meta" | "notify">;
  backPressure: Pick<BackPressure, "isFull" | "addUnread">;
  now: number;
}

export interface ProgressReporter {
  step(step: Step): void;
  tool(progress: NodeProgress): void;
}

/** Returns undefined if the client did not send a progress token. */
export async function createProgressReporter({
  store,
  app: { tenant, slug },
  tool,
  mcpReq,
  backPressure,
  now,
}: ProgressOptions): Promise<ProgressReporter | undefined> {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  const trigger = (await store.findTool(tenant, slug, tool, now))?.trigger;
  const graph =
    trigger && (await store.getVersion(trigger.tenant, trigger.flow_id, trigger.version));
  if (!graph) return undefined;
  const names = new Map(graph.nodes.map(({ id, name }) => [id, name]));
  const reachableNodes = reachableFrom(graphOf(graph), trigger.node_id).size;
  const finished = new Set<string>();
  // False after the first iteration or part, because their number is not known in advance.
  let hasTotal = true;
  // The progress of called tools since the last node, between 0 and 1.
  let fraction = 0;

  const send = (message: string) => {
    // Nothing is sent while the client does not read. The next notification includes this progress.
    if (backPressure.isFull()) return;
    const progress = finished.size + fraction;
    const params = { progressToken, progress, ...(hasTotal && { total: reachableNodes }), message };
    backPressure.addUnread(JSON.stringify(params).length);
    // Sending fails if the client has disconnected or has already received its result.
    mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
  };
  const nameOf = (node: string) => names.get(node) ?? node;

  return {
    step({ node_id, item, status }) {
      if (status !== "done" && status !== "skipped") return;
      const before = finished.size;
      finished.add(`${item}\n${node_id}`);
      if (finished.size === before) return;
      hasTotal &&= item === "";
      fraction = 0;
      const part = partOf(item);
      send(part === undefined ? nameOf(node_id) : `${nameOf(node_id)}: ${part}`);
    },
    tool({ node_id, ...progress }) {
      fraction = nextFraction(fraction, progress);
      send(`${nameOf(node_id)}: ${describeProgress(progress)}`);
    },
  };
}

/**
 * MCP requires that progress increases, even if a tool has no total or two tools report alternately.
 */
function nextFraction(last: number, { progress, total = 0 }: ToolProgress): number {
  const share = progress / total;
  return share > last && share < 1 ? share : last + (1 - last) / 100;
}
