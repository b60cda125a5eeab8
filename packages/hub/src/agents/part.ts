/** The services of `Agent` nodes. They are loaded on first use, so that an idle hub uses less memory. */
import type { NodeServicesOptions } from "../flows/runs/node-services.ts";
import { once } from "../kernel/lib/once.ts";
import { loadOffers } from "../kernel/mcp/offer.ts";
import type { Kernel, Part } from "../part.ts";
import { newNonce } from "./nonce.ts";

/** `inboxParts` have the tools of the inbox. */
export function createAgentServices(
  { ports, onError }: Kernel,
  inboxParts: readonly Part[],
): NodeServicesOptions["agent"] {
  const { timers, guardedWebFetch: fetch } = ports;
  const loadModel = once(async () => {
    const { createAskModel } = await import("./ask-model.ts");
    return createAskModel({ fetch, timers });
  });
  const loadInbox = once(async () => {
    const { createAgentInbox } = await import("./agent-inbox.ts");
    const tools = (await loadOffers(inboxParts)).flatMap((offer) => offer.tools ?? []);
    return createAgentInbox({ tools, onError });
  });
  return {
    model: async (...request) => (await loadModel())(...request),
    inbox: {
      listTools: async () => (await loadInbox()).listTools(),
      callTool: async (...call) => (await loadInbox()).callTool(...call),
    },
    newNonce,
  };
}
