/** The services that nodes use: other flows, the event log, the network, the sandbox. */
import { Permanent } from "@signalbox/rules/flows/errors.ts";
import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import type { NodeContext } from "@signalbox/rules/flows/node-type.ts";
import type { Run } from "../store/run-store.ts";
import { type CallFlowOptions, createCallFlow } from "./call-flow.ts";
import { createEmit, type EmitOptions } from "./emit-event.ts";

type Context = NodeContext<never>;

/** The step that calls a service. */
export interface Caller {
  /** The idempotency key of the step. */
  key: string;
  attempt: number;
  /**
   * Aborted when the step no longer waits for the result. It is not aborted when another worker
   * continues the run, since that worker waits for the result again.
   */
  abandoned: AbortSignal;
}

export interface NodeServices extends Pick<Context, "fetch" | "callTool" | "listTools"> {
  evaluate: Evaluate;
  emit(
    run: Run,
    event: Parameters<Context["emit"]>[0],
    caller: Caller,
  ): ReturnType<Context["emit"]>;
  callFlow(
    run: Run,
    call: Parameters<Context["callFlow"]>[0],
    caller: Caller,
  ): ReturnType<Context["callFlow"]>;
}

export interface NodeServicesOptions
  extends EmitOptions,
    CallFlowOptions,
    Pick<NodeServices, "fetch" | "evaluate"> {}

export function createNodeServices(options: NodeServicesOptions): NodeServices {
  const noConnections = () => {
    throw new Permanent("This hub has no connections to other MCP servers yet.", {
      code: "no_connection",
    });
  };
  return {
    emit: createEmit(options),
    callFlow: createCallFlow(options),
    fetch: options.fetch,
    evaluate: options.evaluate,
    callTool: noConnections,
    listTools: noConnections,
  };
}
