import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import { type NodeSettings, nodeSettings } from "@signalbox/rules/flows/node-type.ts";
import { referencesIn } from "@signalbox/rules/flows/references.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";

interface NodeParts {
  config: JsonObject;
  settings: NodeSettings;
  /** Names of the secrets that its templates reference. */
  secrets: readonly string[];
}

const cache = new WeakMap<FlowNode, NodeParts>();

/** Splits the parameters of a node. Cached, because every step calls it several times. */
export function nodeParts(node: FlowNode): NodeParts {
  const cached = cache.get(node);
  if (cached) return cached;
  const { settings = {}, ...config } = node.parameters;
  const secrets = referencesIn(config).flatMap(({ root, path }) =>
    root === "secrets" ? [String(path[0])] : [],
  );
  const parts = {
    config,
    settings: nodeSettings.safeParse(settings).data ?? {},
    secrets: [...new Set(secrets)],
  };
  cache.set(node, parts);
  return parts;
}
