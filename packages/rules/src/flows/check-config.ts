/** Validates the parameters of each node with the schema of its type, except values that are templates. */
import type { Json } from "../json.ts";
import { isObject } from "../json.ts";
import { type ErrorCode, type Finding, fieldFinding, nodeFinding } from "./finding.ts";
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
  const configResult = definition.config.safeParse(config);
  const configIssues = (configResult.success ? [] : issuesOf(configResult.error))
    // The value of a template is known only when the node runs, and is validated then.
    .filter(({ keys, isUnknownField }) => {
      if (isUnknownField) return true;
      const value = valueAt(config, keys);
      if (value === undefined) return true;
      const references = referencesIn(value, (inner) => skip([...(keys as string[]), ...inner]));
      return references.length === 0;
    });
  const settingsResult = nodeSettings.safeParse(settings);
  const settingIssues = settingsResult.success ? [] : issuesOf(settingsResult.error);
  return [
    ...configIssues.map(({ path, message }) => ({ path, message })),
    ...settingIssues.map(({ keys, path, message }) => ({
      path: keys.length > 0 ? `settings.${path}` : "settings",
      message,
    })),
    ...unusedSettings(definition, settings),
  ].map(({ path, message }) => fieldFinding("invalid_config", node, path, message));
}

/** Returns issues for settings that have no effect on a loop. */
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
  let inner: Json | undefined = value;
  for (const key of keys) {
    if (Array.isArray(inner)) inner = inner[Number(key)];
    else if (isObject(inner)) inner = Object.hasOwn(inner, key) ? inner[String(key)] : undefined;
    else return undefined;
  }
  return inner;
}
