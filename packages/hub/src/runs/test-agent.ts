import type { NodeServicesOptions } from "./node-services.ts";

const unexpected = () => {
  throw new Error("unexpected call");
};

/** For tests of flows without `Agent` nodes. */
export const noAgent: NodeServicesOptions["agent"] = {
  model: unexpected,
  inbox: { listTools: unexpected, callTool: unexpected },
  newNonce: unexpected,
};
