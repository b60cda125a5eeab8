/** Validates the parameters of each node with the schema of its type, except values that are templates. */
import type { Json } from "../json.ts";
import { isObject } from "../json.ts";
import { type ErrorCode, type Finding, nodeFinding } from "./finding.ts";
import { issuesOf } from "./issues.ts";
import type { FlowNode } from "./model.ts";
import { ITEM_PORT, type NodeDefinition, nodeSettings } from "./node-type.ts";
import { referencesIn } from "./references.ts";
import { type ResolvedFlow, skipRawFields } from "./resolved-flow.ts";
import { splitParameters } from "./split-parameters.ts";

export const checkConfigs = (resolved: ResolvedFlow): Finding<ErrorCode>[] =>
  resolved.flow.nodes.flatMap((node) => checkConfig(resolved, node));

function checkConfig(resolved: ResolvedFlow, node: FlowNode): Finding<ErrorCode>[] {
  const definition = resolved.definition(node);
  if (!definition)
    return [nodeFinding("unknown_node_type", node, `unknown node type ${node.type}`)];
  const { config, settings } = splitParameters(node);
  const skip = skipRawFields(definition);
  const parsed = definition.config.safeParse(config);
  const issues = (parsed.success ? [] : issuesOf(parsed.error))
    // The value of a template is known only when the node runs, and is validated then.
    .filter(({ keys, isUnknownField }) => {
      if (isUnknownField) return true;
      const value = valueAt(config, keys);
      const below = (more: readonly (string | number)[]) => [...(keys as string[]), ...more];
      return value === undefined || referencesIn(value, (more) => skip(below(more))).length === 0;
    });
  const checked = nodeSettings.safeParse(settings);
  const settingIssues = checked.success ? [] : issuesOf(checked.error);
  return [
    ...issues.map(({ path, message }) => ({ path, message })),
    ...settingIssues.map(({ keys, path, message }) => ({
      path: keys.length > 0 ? `settings.${path}` : "settings",
      message,
    })),
    ...unusedSettings(definition, settings),
  ].map(({ path, message }) => nodeFinding("invalid_config", node, `${path}: ${message}`, path));
}

/** Issues for settings that have no effect on a loop. */
function unusedSettings({ locals }: NodeDefinition, settings: Json) {
  if (!Object.hasOwn(locals, ITEM_PORT) || !isObject(settings)) return [];
  return ["timeoutMs", "retries"]
    .filter((name) => Object.hasOwn(settings, name))
    .map((name) => ({
      path: `settings.${name}`,
      message: "has no effect on a loop: set it on the nodes inside",
    }));
}

function valueAt(value: Json, keys: readonly PropertyKey[]): Json | undefined {
  let found: Json | undefined = value;
  for (const key of keys) {
    if (Array.isArray(found)) found = found[Number(key)];
    else if (isObject(found)) found = Object.hasOwn(found, key) ? found[String(key)] : undefined;
    else return undefined;
  }
  return found;
}
