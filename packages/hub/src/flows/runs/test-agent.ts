import type { NodeServicesOptions } from "./node-services.ts";

const unexpected = () => {
  throw new Error("unexpected call");
};

/** The agent services for tests of flows without `Agent` nodes: each call throws. */
export const noAgent: NodeServicesOptions["agent"] = {
  model: unexpected,
  inbox: { listTools: unexpected, callTool: unexpected },
  newNonce: unexpected,
};
