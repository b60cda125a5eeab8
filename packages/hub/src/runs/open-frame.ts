import type { Execution } from "./execution.ts";
import type { Frame } from "./frame.ts";
import { StoredOutput } from "./stored-output.ts";

/** The `item` of pinned steps, and of all steps outside of loops. */
const PINNED = "";

/**
 * Creates a frame, with the states of the nodes that had ended when the run was claimed. In a test of a
 * draft, these include the pinned nodes. A pin has no iteration, and applies to all iterations of a loop.
 */
export function openFrame(
  { stepLog }: Execution,
  iteration: string,
  nodes: ReadonlySet<string>,
  outerState: Frame["outerState"] = () => undefined,
): Frame {
  const frame: Frame = { iteration, nodes, states: new Map(), started: new Set(), outerState };
  for (const id of nodes) {
    const findEnded = (item: string) =>
      stepLog
        .recordsAtClaim(item, id)
        .findLast(({ status }) => status === "done" || status === "skipped");
    const last = findEnded(iteration) ?? findEnded(PINNED);
    if (last?.status === "skipped") frame.states.set(id, { status: "skipped" });
    else if (last)
      frame.states.set(id, {
        status: "done",
        port: last.port ?? "",
        output: last.omitted ? new StoredOutput(last) : last.output,
      });
  }
  return frame;
}
