/**
 * The services that nodes use: calls of flows and tools, events, models, the network, jobs.
 */
import { createCallFlow, type CallFlowOptions } from "./call-flow.ts";
import { createEmit, type EmitOptions } from "./emit-event.ts";
import { createToolServices, type CallToolOptions } from "./tool-services.ts";
import type { NodeServices } from "./execution.ts";

export interface NodeServicesOptions
  extends EmitOptions,
    CallFlowOptions,
    CallToolOptions,
    Pick<NodeServices, "fetch" | "runJob"> {
  store: CallFlowOptions["store"] & CallToolOptions["store"];
  agent: Pick<NodeServices, "model" | "inbox" | "newNonce">;
}

export const createNodeServices = (options: NodeServicesOptions): NodeServices => ({
  emit: createEmit(options),
  callFlow: createCallFlow(options),
  ...createToolServices(options),
  fetch: options.fetch,
  runJob: options.runJob,
  ...options.agent,
});
