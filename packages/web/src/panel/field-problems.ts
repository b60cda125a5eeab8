/** Selects the errors and warnings of one node, and maps them to the fields of its form. */
import type { Flow } from "@signalbox/contract";
import type { FlowNode } from "../canvas/graph.ts";

export const findingsOf = ({ errors, warnings }: Pick<Flow, "errors" | "warnings">, id: string) =>
  [...errors, ...warnings].filter(({ node_id }) => node_id === id);

/** Returns messages by the path of the parameter. */
export const fieldProblemsOf = (
  flow: Pick<Flow, "errors" | "warnings">,
  { id }: Pick<FlowNode, "id">,
): ReadonlyMap<string, string> =>
  new Map(
    findingsOf(flow, id).flatMap(({ path, message, problem = message }) =>
      path === undefined ? [] : [[path, problem]],
    ),
  );
