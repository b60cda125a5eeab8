/**
 * The services that nodes use: calls of flows and tools, events, models, the network, jobs.
 */
import { type CallFlowOptions, createCallFlow } from "./call-flow.ts";
import { createEmit, type EmitOptions } from "./emit-event.ts";
import type { NodeServices } from "./execution.ts";
import { type CallToolOptions, createToolServices } from "./tool-services.ts";

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
