import { createRegistry, type NodeRegistry } from "../node-type.ts";
import { agent } from "./agent.ts";
import { callFlow } from "./call-flow.ts";
import { callTool } from "./call-tool.ts";
import { code } from "./code.ts";
import { condition } from "./condition.ts";
import { emitEvent } from "./emit-event.ts";
import { event } from "./event.ts";
import { forEach } from "./for-each.ts";
import { httpRequest } from "./http-request.ts";
import { merge } from "./merge.ts";
import { returnNode } from "./return.ts";
import { schedule } from "./schedule.ts";
import { switchNode } from "./switch.ts";
import { transform } from "./transform.ts";
import { userIntent } from "./user-intent.ts";
import { wait } from "./wait.ts";

/** All node types, in the order of the UI's picker. */
export const nodeTypes: NodeRegistry = createRegistry([
  userIntent,
  event,
  schedule,
  httpRequest,
  callTool,
  agent,
  callFlow,
  emitEvent,
  wait,
  condition,
  switchNode,
  forEach,
  merge,
  transform,
  code,
  returnNode,
]);
