/** One run under way: what walking it takes, and what its nodes can see from where they stand. */

import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import {
  ERROR_PORT,
  type NodeContext,
  type NodeDefinition,
} from "@signalbox/rules/flows/node-type.ts";
import type { Scope } from "@signalbox/rules/flows/render.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import type { Run } from "../store/run-store.ts";
import { splitParameters } from "./attempt.ts";
import type { Frame, Layout } from "./frame.ts";
import type { Ledger } from "./ledger.ts";
import type { Naps } from "./naps.ts";

type Reached = NodeContext<never>;

/** Which step asks, and how often it has. */
interface Asking {
  /** The step's own. */
  key: string;
  attempt: number;
  /**
   * Aborted when the step no longer waits for the answer; not where somebody else goes on with the
   * run, and waits for it again.
   */
  left: AbortSignal;
}

/** What nodes can reach, beyond what the run itself knows. */
export interface NodeReach extends Pick<Reached, "fetch" | "callTool" | "listTools"> {
  evaluate: Evaluate;
  emit(
    run: Run,
    event: Parameters<Reached["emit"]>[0],
    asking: Asking,
  ): ReturnType<Reached["emit"]>;
  callFlow(
    run: Run,
    call: Parameters<Reached["callFlow"]>[0],
    asking: Asking,
  ): ReturnType<Reached["callFlow"]>;
}

export interface Course {
  run: Run;
  layout: Layout;
  node(id: string): FlowNode;
  definition(id: string): NodeDefinition | undefined;
  /** What `{{ trigger }}` stands for. */
  trigger: JsonObject;
  ledger: Ledger;
  naps: Naps;
  reach: NodeReach;
  secrets: (names: readonly string[]) => Promise<Record<string, string>>;
  flowSecrets: (() => Promise<readonly string[]>) | undefined;
  now: () => number;
  stepTimeoutMs: number;
  /** Resolves when the run may go on after a call, for which it may have lent its place to others. */
  takePlace: () => Promise<void>;
}

/** One walk: its frame, what only its templates see, and the walk that it is a round of. */
export interface Site {
  frame: Frame;
  locals: Pick<Scope, "item" | "index">;
  outer: Site | undefined;
  /** Aborted when nothing may be begun here any more: see `CALLED_OFF`. */
  signal: AbortSignal;
}

/** Where things go on by default; a result leads nowhere. */
export function firstPort({ node, definition }: Course, id: string): string {
  const [first = ERROR_PORT] = definition(id)?.outPorts(splitParameters(node(id)).config) ?? [];
  return first === ERROR_PORT ? "" : first;
}

export function scopeOf(course: Course, { outer, frame, locals }: Site): Scope {
  const around = outer ? scopeOf(course, outer) : { trigger: course.trigger, nodes: {} };
  const nodes: Record<string, Json> = around.nodes;
  for (const [id, state] of frame.states)
    if (state.status === "done") nodes[course.node(id).slug] = state.output;
  return { ...around, ...locals };
}
