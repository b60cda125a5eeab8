/**
 * Checks the sources of event triggers: that they exist, and that the server of a connection offers the
 * type and the params. Most findings are warnings, which do not prevent publishing: the hub matches
 * every event itself, and servers describe their triggers incompletely.
 */
import type { Json, JsonObject } from "../json.ts";
import { looselyEquals } from "../match/loosely-equals.ts";
import { readParam } from "../match/param.ts";
import { parsePath } from "../match/path.ts";
import {
  connectionWarning,
  listNames,
  type ToolContext,
  type ToolFindings,
} from "./check-tools.ts";
import { allowedValues, declaredParams } from "./declared-params.ts";
import { type Finding, nodeFinding, type WarningCode } from "./finding.ts";
import { writePath } from "./issues.ts";
import type { FlowDraft, FlowNode } from "./model.ts";
import type { ConnectionTrigger, EventSelection, NodeRegistry } from "./node-type.ts";
import type { ResolvedFlow } from "./resolved-flow.ts";
import { schemaAt } from "./schema-path.ts";
import { splitParameters } from "./split-parameters.ts";

/** Returns the sources of the flow's event triggers. */
export const sourcesIn = (
  { nodes }: Pick<FlowDraft, "nodes">,
  registry: NodeRegistry,
): Set<string> =>
  new Set(
    nodes.flatMap((node) => {
      const selection = registry.get(node.type)?.listensTo(splitParameters(node).config);
      return selection ? [selection.source] : [];
    }),
  );

export function checkSources(resolved: ResolvedFlow, context: ToolContext): ToolFindings {
  const findings: ToolFindings = { errors: [], warnings: [] };
  for (const node of resolved.triggers) {
    const selection = resolved.definition(node)?.listensTo(splitParameters(node).config);
    if (!selection) continue;
    const { source, poll } = selection;
    if (!context.senders.has(source))
      findings.warnings.push(...checkConnection(node, selection, context));
    else if (poll) {
      const message = `poll: ${source} is not a connection, so it has no tools; remove poll, or choose a connection as the source`;
      findings.errors.push(nodeFinding("invalid_config", node, message, "poll"));
    }
  }
  return findings;
}

function checkConnection(
  node: FlowNode,
  { source, type = "", params = {}, poll }: EventSelection,
  { connections }: ToolContext,
): Finding<WarningCode>[] {
  const warn = (code: WarningCode, keys: readonly string[], message: string) => {
    const path = writePath(keys);
    return nodeFinding(code, node, `${path}: ${message}`, path);
  };
  const connection = connections.get(source);
  if (!connection)
    return [
      warn(
        "no_such_source",
        ["source"],
        `there is no connection or webhook endpoint ${source}, and no kind of sender with this name, so the trigger never fires; GET /api/connections and GET /api/sources list the ids`,
      ),
    ];
  // If the trigger polls, check-tools.ts checks the connection and the tool.
  if (poll) return [];
  const warning = connectionWarning(connection);
  if (warning) return [warn(warning.code, ["source"], warning.message)];
  const { name, triggers = new Map<string, ConnectionTrigger>() } = connection;
  if (triggers.size === 0)
    return [
      warn(
        "no_such_event_type",
        ["source"],
        `${name} has no triggers, so no events arrive; set poll to call one of its tools`,
      ),
    ];
  const trigger = triggers.get(type);
  if (trigger)
    return checkParams(trigger, params, `the trigger ${type} of ${name}`).map((problem) =>
      warn(problem.code, ["params", problem.param], problem.message),
    );
  if (!type) return [];
  const message = `${name} has no trigger ${type}; it has ${listNames([...triggers.keys()])}`;
  return [warn("no_such_event_type", ["type"], message)];
}

interface ParamProblem {
  code: Extract<
    WarningCode,
    "no_such_param" | "invalid_param_value" | "missing_param" | "assumed_default"
  >;
  param: string;
  message: string;
}

function checkParams(
  trigger: ConnectionTrigger,
  params: JsonObject,
  label: string,
): ParamProblem[] {
  const { additionalProperties } = trigger.inputSchema;
  const declared = declaredParams(trigger);
  const allowsOthers = declared.size === 0 || (additionalProperties ?? false) !== false;
  const problems: ParamProblem[] = [];
  for (const [param, value] of Object.entries(params)) {
    const declaration = declared.get(param);
    if (declaration) {
      const message = enumProblem(declaration.schema, value);
      if (message) problems.push({ code: "invalid_param_value", param, message });
    } else if (!allowsOthers && !isInPayload(trigger, param)) {
      const names = listNames([...declared.keys()]);
      const message = `${label} has no such param; it has ${names}. Only the hub compares this param with the event's data`;
      problems.push({ code: "no_such_param", param, message });
    }
  }
  for (const [param, { schema, isRequired }] of declared) {
    const value = Object.hasOwn(params, param) ? (params[param] as Json) : null;
    if (trigger.omittedParams !== "any" && isNarrowedByDefault(schema, value)) {
      const message = `the server may assume ${JSON.stringify(schema.default)}, because the hub sends only plain values; if so, no other events arrive. Write the value that you need`;
      problems.push({ code: "assumed_default", param, message });
    }
    if (!isRequired) continue;
    const isSet = readParam(value) !== "any";
    if (isSet && typeof value !== "object") continue;
    const fix = isSet ? ", and a server gets only plain values; write a plain value" : "";
    problems.push({ code: "missing_param", param, message: `${label} requires it${fix}` });
  }
  return problems;
}

function isInPayload({ payloadSchema }: ConnectionTrigger, param: string): boolean {
  const path = payloadSchema && parsePath(param);
  if (!path) return false;
  const keys = path.map((step) => (typeof step === "symbol" ? 0 : step));
  const value = schemaAt(payloadSchema, keys);
  return value !== undefined && "schema" in value;
}

/**
 * Whether the hub sends no value for the param, and the server may then apply its default, although the
 * condition also accepts other values.
 */
function isNarrowedByDefault({ default: assumed = null }: JsonObject, param: Json): boolean {
  if (assumed === null || assumed === "") return false;
  const test = readParam(param);
  if (test === "any") return true;
  if (typeof param !== "object" || "problem" in test) return false;
  return !(test.op === "eq" && looselyEquals(test.value, assumed));
}

/** Checks a plain value and the operators eq, ne and in; other conditions, such as `glob`, are valid. */
function enumProblem(schema: JsonObject, param: Json): string | undefined {
  const allowed = allowedValues(schema);
  const test = readParam(param);
  if (!allowed || test === "any" || "problem" in test || !["eq", "ne", "in"].includes(test.op))
    return undefined;
  const values = Array.isArray(test.value) ? test.value : [test.value];
  const invalid = values.filter((value) => !allowed.some((item) => looselyEquals(item, value)));
  if (invalid.length === 0) return undefined;
  const show = (list: readonly Json[]) => listNames(list.map((value) => JSON.stringify(value)));
  return `${show(invalid)} is not one of ${show(allowed)}`;
}
