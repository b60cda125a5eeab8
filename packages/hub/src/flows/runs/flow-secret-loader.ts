import { Permanent } from "@signalbox/rules/flows/errors.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import type { Execution } from "./execution.ts";
import { splitParameters } from "./split-parameters.ts";

/**
 * Returns a function that loads the values of all secrets that a flow references, and caches them. A
 * missing secret is ignored here; the step that needs it fails.
 */
export function createFlowSecretLoader(
  nodes: readonly FlowNode[],
  loadSecrets: Execution["loadSecrets"],
): Execution["loadFlowSecrets"] {
  const names = [...new Set(nodes.flatMap((node) => splitParameters(node).secretNames))];
  if (names.length === 0) return undefined;
  const loadSecret = (name: string): Promise<string[]> =>
    loadSecrets([name]).then(Object.values<string>, (error: unknown) => {
      if (error instanceof Permanent) return [];
      throw error;
    });
  let values: Promise<readonly string[]> | undefined;
  return () => {
    values ??= Promise.all(names.map(loadSecret)).then((lists) => lists.flat());
    values.catch(() => {
      values = undefined; // the next step tries again
    });
    return values;
  };
}
