/** Automations: agents with instructions and tools, which agents set up over `/mcp`. */
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import type { ConnectionsPart } from "../connections/part.ts";
import type { MatchingPart } from "../flows/matching/part.ts";
import type { FlowsPart } from "../flows/part.ts";
import type { Kernel, Part } from "../part.ts";
import { createAutomations } from "./automations.ts";

export const createAutomationsPart = (
  { store, ports, newId }: Kernel,
  { explainer }: MatchingPart,
  { editor }: ConnectionsPart,
  { flows, calls }: FlowsPart,
): Part => ({
  async loadMcp() {
    const { automationTools } = await import("./automation-tools.ts");
    const { automationRunTools } = await import("./automation-run-tools.ts");
    const automations = createAutomations({
      store,
      flows,
      calls,
      explainer,
      connections: editor,
      registry: nodeTypes,
      newId,
      timers: ports.timers,
    });
    return { tools: [...automationTools(automations), ...automationRunTools(automations)] };
  },
});
