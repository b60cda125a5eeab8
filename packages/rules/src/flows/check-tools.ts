/**
 * Checks the tools that nodes call: that the connection and the tool exist, and that the arguments
 * match the schema of the tool. A template matches any schema, since its value is known only when the
 * node runs.
 */
import { isObject, type Json, type JsonObject, type JsonSchema } from "../json.ts";
import { type ErrorCode, type Finding, fieldFinding, type WarningCode } from "./finding.ts";
import { writePath } from "./issues.ts";
import type { FlowDraft, FlowNode } from "./model.ts";
import { findTool, type KnownConnection, type ToolContext } from "./node-schemas.ts";
import type { NodeDefinition, NodeRegistry, ToolUse } from "./node-type.ts";
import { referencesIn } from "./references.ts";
import type { ResolvedFlow } from "./resolved-flow.ts";
import { resolveReference } from "./schema-path.ts";
import { splitParameters } from "./split-parameters.ts";
import type { SchemaCheck } from "./validate-schema.ts";

type Keys = readonly (string | number)[];

const isTemplate = (text: string): boolean => text.includes("{{");
const hasTemplate = (value: Json): boolean => referencesIn(value).length > 0;

/** Returns the tools that a node uses, except those whose connection is a template. */
const usesIn = (node: FlowNode, definition: NodeDefinition | undefined): ToolUse[] =>
  (definition?.usesTools(splitParameters(node).config) ?? []).filter(
    ({ connection }) => !isTemplate(connection),
  );

/** Returns the ids of the connections that a flow uses. */
export const connectionsIn = (
  { nodes }: Pick<FlowDraft, "nodes">,
  registry: NodeRegistry,
): Set<string> =>
  new Set(
    nodes.flatMap((node) =>
      usesIn(node, registry.get(node.type)).map(({ connection }) => connection),
    ),
  );

/** Returns the validations whose results `checkTools` looks up with `findError`. */
export const argumentChecks = (
  { nodes }: Pick<FlowDraft, "nodes">,
  registry: NodeRegistry,
  context: Pick<ToolContext, "connections">,
): SchemaCheck[] =>
  nodes.flatMap((node) =>
    usesIn(node, registry.get(node.type)).flatMap((use) =>
      partsOfArguments(context, use).flatMap((part) => ("check" in part ? [part.check] : [])),
    ),
  );

export interface ToolFindings {
  errors: Finding<ErrorCode>[];
  warnings: Finding<WarningCode>[];
}

export function checkTools(resolved: ResolvedFlow, context: ToolContext): ToolFindings {
  const findings: ToolFindings = { errors: [], warnings: [] };
  for (const node of resolved.flow.nodes)
    for (const use of usesIn(node, resolved.definition(node))) {
      // check-sources.ts reports an unknown source of a trigger.
      if (resolved.triggers.includes(node) && !context.connections.has(use.connection)) continue;
      for (const warning of checkUse(node, use, context))
        if (!findings.warnings.some(({ message }) => message === warning.message))
          findings.warnings.push(warning);
      for (const { keys, message } of argumentErrors(context, use)) {
        const path = writePath(keys);
        findings.errors.push(fieldFinding("invalid_arguments", node, path, message));
      }
    }
  return findings;
}

/** Warns of connections and tools that templates set. */
export const findToolsFromData = ({ flow, definition }: ResolvedFlow): Finding<WarningCode>[] =>
  flow.nodes.flatMap((node) => {
    const nodeType = definition(node);
    // Triggers have no templates.
    if (!nodeType || nodeType.kind === "trigger") return [];
    const templates = (nodeType.usesTools(splitParameters(node).config) ?? []).flatMap(
      ({ connection, at, tool }) => [
        ...(hasTemplate(connection) ? [writePath(at)] : []),
        ...(tool && hasTemplate(tool.name) ? [writePath(tool.at)] : []),
      ],
    );
    const message =
      "is a template, so the data of a run chooses which tool is called; write a fixed value if the data is untrusted";
    return [...new Set(templates)].map((path) =>
      fieldFinding("tool_from_data", node, path, message),
    );
  });

const MAX_NAMES = 10;

export const listNames = (names: readonly string[]): string =>
  names.length > MAX_NAMES ? `${names.slice(0, MAX_NAMES).join(", ")}, …` : names.join(", ");

/** Returns a warning if the tools and triggers of a connection are unknown, or may be outdated. */
export function connectionWarning({ name, tools, error }: KnownConnection) {
  if (error !== null)
    return {
      code: "connection_failed",
      message: `the last check of ${name} failed: ${error}`,
    } as const;
  if (!tools)
    return {
      code: "connection_not_checked",
      message: `${name} is not checked yet, so its tools and triggers are unknown`,
    } as const;
  return undefined;
}

function checkUse(node: FlowNode, use: ToolUse, context: ToolContext): Finding<WarningCode>[] {
  const { connection: id, tool } = use;
  const connection = context.connections.get(id);
  const warn = (code: WarningCode, keys: Keys, message: string) => {
    const path = writePath(keys);
    return [fieldFinding(code, node, path, message)];
  };
  if (!connection)
    return warn(
      "no_such_connection",
      use.at,
      `there is no connection ${id}; add it, or choose another`,
    );
  const warning = connectionWarning(connection);
  if (warning) return warn(warning.code, use.at, warning.message);
  const { name, tools = new Map() } = connection;
  if (!tool || isTemplate(tool.name) || tools.has(tool.name)) return [];
  const has = tools.size === 0 ? "it has no tools" : `it has ${listNames([...tools.keys()])}`;
  return warn("no_such_tool", tool.at, `${name} has no tool ${tool.name}; ${has}`);
}

const argumentErrors = (context: ToolContext, use: ToolUse): { keys: Keys; message: string }[] =>
  partsOfArguments(context, use).flatMap((part) => {
    if ("message" in part) return [part];
    const error = context.findError(part.check);
    return !error || error.isUnchecked
      ? []
      : [{ keys: [...part.keys, ...error.keys], message: error.message }];
  });

/** A part of the arguments: either it still has to be validated, or it has an error. */
type ArgumentPart = { keys: Keys; check: SchemaCheck } | { keys: Keys; message: string };

function partsOfArguments(context: Pick<ToolContext, "connections">, use: ToolUse): ArgumentPart[] {
  const schema = findTool(context, use)?.inputSchema;
  return schema && use.arguments
    ? splitArguments(schema, schema, use.arguments.value, use.arguments.at)
    : [];
}

/** If an object contains templates, its members are checked separately, without the templates. */
const splitArguments = (
  root: JsonSchema,
  schema: JsonObject,
  value: Json,
  keys: Keys,
): ArgumentPart[] =>
  hasTemplate(value)
    ? splitMembers(root, schema, value, keys)
    : [{ keys, check: { schema: withDefinitions(root, schema), value } }];

/** Checks the members of an object separately. Returns no parts for a value of another type. */
export function splitMembers(
  root: JsonSchema,
  schema: JsonObject,
  value: Json,
  keys: Keys,
): ArgumentPart[] {
  const objectSchema = isObject(value) ? resolveReference(root, schema)?.schema : undefined;
  if (!objectSchema || !isObject(value)) return [];
  const { properties = {}, required = [], additionalProperties, patternProperties } = objectSchema;
  const memberSchemas = isObject(properties) ? properties : {};
  const isClosed = additionalProperties === false && patternProperties === undefined;
  const missing = (Array.isArray(required) ? required : [])
    .filter((name) => typeof name === "string" && !Object.hasOwn(value, name))
    .map((name) => ({ keys, message: `missing required property ${JSON.stringify(name)}` }));
  const members = Object.entries(value).flatMap(([name, member]): ArgumentPart[] => {
    const memberKeys = [...keys, name];
    const memberSchema = Object.hasOwn(memberSchemas, name) ? memberSchemas[name] : undefined;
    if (isObject(memberSchema)) return splitArguments(root, memberSchema, member, memberKeys);
    return memberSchema === undefined && isClosed
      ? [{ keys: memberKeys, message: "unexpected property" }]
      : [];
  });
  return [...missing, ...members];
}

/** Copies the definitions of the root into the schema, because `$ref` is relative to the root. */
export function withDefinitions(root: JsonSchema, schema: JsonObject): JsonSchema {
  if (schema === root) return root;
  const { $defs, definitions } = root;
  return {
    ...($defs !== undefined && { $defs }),
    ...(definitions !== undefined && { definitions }),
    ...schema,
  };
}
