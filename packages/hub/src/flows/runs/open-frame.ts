import type { Execution } from "./execution.ts";
import type { Frame, NodeState } from "./frame.ts";
import type { WrittenStep } from "./model.ts";
import { StoredOutput } from "./stored-output.ts";

/**
 * Creates a frame, with the states of the nodes that had ended when the run was claimed. In a test of a
 * draft, these include the pinned nodes of the main frame. A pinned node in a loop has one record, without
 * an iteration. It applies to each iteration that reaches the node.
 */
export function openFrame(
  { stepLog }: Execution,
  iteration: string,
  nodes: ReadonlySet<string>,
  outerState: Frame["outerState"] = () => undefined,
): Frame {
  const findStates = (item: string) =>
    new Map(
      [...nodes].flatMap((id) => {
        const state = endState(stepLog.recordsAtClaim(item, id));
        return state ? [[id, state]] : [];
      }),
    );
  return {
    iteration,
    nodes,
    states: findStates(iteration),
    ...(iteration !== "" && { pins: findStates("") }),
    started: new Set(),
    outerState,
  };
}

function endState(records: readonly WrittenStep[]): NodeState | undefined {
  const last = records.findLast(({ status }) => status === "done" || status === "skipped");
  if (last?.status === "skipped") return { status: "skipped" };
  return (
    last && {
      status: "done",
      port: last.port ?? "",
      output: last.omitted ? new StoredOutput(last) : last.output,
    }
  );
}
