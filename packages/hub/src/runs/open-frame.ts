import type { Execution } from "./execution.ts";
import type { Frame } from "./frame.ts";
import { StoredOutput } from "./stored-output.ts";

/** Creates a frame, with the states of the nodes that had ended when the run was claimed. */
export function openFrame(
  { stepLog }: Execution,
  iteration: string,
  nodes: ReadonlySet<string>,
  outerState: Frame["outerState"] = () => undefined,
): Frame {
  const frame: Frame = { iteration, nodes, states: new Map(), started: new Set(), outerState };
  for (const id of nodes) {
    const last = stepLog
      .recordsAtClaim(iteration, id)
      .findLast(({ status }) => status === "done" || status === "skipped");
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
