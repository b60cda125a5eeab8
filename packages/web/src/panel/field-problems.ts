/** Selects the errors and warnings of one node, and maps them to the fields of its form. */
import type { Flow } from "@signalbox/contract";
import type { FlowNode } from "../canvas/graph.ts";

export const findingsOf = ({ errors, warnings }: Pick<Flow, "errors" | "warnings">, id: string) =>
  [...errors, ...warnings].filter(({ nodeId }) => nodeId === id);

/** Returns messages by the path of the parameter. */
export const fieldProblemsOf = (
  flow: Pick<Flow, "errors" | "warnings">,
  { id, name }: Pick<FlowNode, "id" | "name">,
): ReadonlyMap<string, string> =>
  new Map(
    findingsOf(flow, id).flatMap(({ path, message }) =>
      path === undefined ? [] : [[path, withoutPrefix(message, name, path)]],
    ),
  );

/** The form already shows the name of the node and the field. */
const withoutPrefix = (message: string, name: string, path: string): string =>
  [`${name}: `, `${path}: `].reduce(
    (text, prefix) => (text.startsWith(prefix) ? text.slice(prefix.length) : text),
    message,
  );
