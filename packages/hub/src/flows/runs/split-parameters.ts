import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import { type NodeSettings, nodeSettings } from "@signalbox/rules/flows/node-type.ts";
import { referencesIn } from "@signalbox/rules/flows/references.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";

interface SplitParameters {
  config: JsonObject;
  settings: NodeSettings;
  /** The names of the secrets that the templates in `config` reference. */
  secretNames: readonly string[];
}

const cache = new WeakMap<FlowNode, SplitParameters>();

/**
 * Splits the parameters of a node. The result is cached, because every step needs it several times.
 */
export function splitParameters(node: FlowNode): SplitParameters {
  const cached = cache.get(node);
  if (cached) return cached;
  const { settings = {}, ...config } = node.parameters;
  const names = referencesIn(config).flatMap(({ root, path }) =>
    root === "secrets" ? [String(path[0])] : [],
  );
  const split = {
    config,
    settings: nodeSettings.safeParse(settings).data ?? {},
    secretNames: [...new Set(names)],
  };
  cache.set(node, split);
  return split;
}
