/** The findings about the parameters of a node, by path: they stand at the fields of its form. */
import type { Flow } from "../api/types.ts";
import type { FlowNode } from "../canvas/graph.ts";

export const findingsOf = ({ errors, warnings }: Pick<Flow, "errors" | "warnings">, node: string) =>
  [...errors, ...warnings].filter(({ nodeId }) => nodeId === node);

export const fieldProblems = (
  flow: Pick<Flow, "errors" | "warnings">,
  { id, name }: Pick<FlowNode, "id" | "name">,
): ReadonlyMap<string, string> =>
  new Map(
    findingsOf(flow, id).flatMap(({ path, message }) =>
      path === undefined ? [] : [[path, withoutPrefix(message, name, path)]],
    ),
  );

/** The form shows the name and the path already. */
const withoutPrefix = (message: string, name: string, at: string): string =>
  [`${name}: `, `${at}: `].reduce(
    (text, prefix) => (text.startsWith(prefix) ? text.slice(prefix.length) : text),
    message,
  );
