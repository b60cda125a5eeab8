import { Permanent } from "@signalbox/rules/flows/errors.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import type { Execution } from "./execution.ts";
import { nodeParts } from "./node-parts.ts";

/**
 * Reads the values of all secrets that a flow references, once. A missing secret is ignored here; the
 * step that needs it fails.
 */
export function flowSecrets(
  nodes: readonly FlowNode[],
  secrets: Execution["secrets"],
): Execution["flowSecrets"] {
  const names = [...new Set(nodes.flatMap((node) => nodeParts(node).secrets))];
  if (names.length === 0) return undefined;
  const readOne = (name: string): Promise<string[]> =>
    secrets([name]).then(Object.values<string>, (error: unknown) => {
      if (error instanceof Permanent) return [];
      throw error;
    });
  let values: Promise<readonly string[]> | undefined;
  return () => {
    values ??= Promise.all(names.map(readOne)).then((all) => all.flat());
    values.catch(() => {
      values = undefined;
    });
    return values;
  };
}
