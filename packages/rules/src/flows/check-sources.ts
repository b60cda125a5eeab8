/**
 * Checks the sources of event triggers: that they exist, and that the server of a connection offers the
 * type and the params. Most findings are warnings, which do not prevent publishing: the hub matches
 * every event itself, and servers describe their triggers incompletely. A plain value that does not match
 * the schema of its param is an error, because the server gets the value and rejects it.
 */
import { isObject, type Json, type JsonObject } from "../json.ts";
import { looselyEquals, numberOf } from "../match/loosely-equals.ts";
import { readParam } from "../match/param.ts";
import { parsePath } from "../match/path.ts";
import { connectionWarning, listNames, type ToolFindings, withDefinitions } from "./check-tools.ts";
import { allowedValues, declaredParams } from "./declared-params.ts";
import { type Finding, fieldFinding, type WarningCode } from "./finding.ts";
import { writePath } from "./issues.ts";
import type { FlowDraft, FlowNode } from "./model.ts";
import type { ToolContext } from "./node-schemas.ts";
import type { ConnectionTrigger, EventSelection, NodeRegistry } from "./node-type.ts";
import type { ResolvedFlow } from "./resolved-flow.ts";
import { schemaAt } from "./schema-path.ts";
import { splitParameters } from "./split-parameters.ts";
import type { SchemaCheck } from "./validate-schema.ts";

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

/** Returns the validations whose results `checkSources` looks up with `findError`. */
export const paramChecks = (
  { nodes }: Pick<FlowDraft, "nodes">,
  registry: NodeRegistry,
  { connections }: Pick<ToolContext, "connections">,
): SchemaCheck[] =>
  nodes.flatMap((node) => {
    const selection = registry.get(node.type)?.listensTo(splitParameters(node).config);
    if (!selection || selection.poll) return [];
    const { source, type = "", params = {} } = selection;
    const trigger = connections.get(source)?.triggers?.get(type);
    if (!trigger) return [];
    const declared = declaredParams(trigger);
    return Object.entries(params).flatMap(([name, param]) => {
      const schema = declared.get(name)?.schema;
      return schema
        ? valueChecks(trigger, name, schema, param).flatMap(({ checks }) => checks)
        : [];
    });
  });

export function checkSources(resolved: ResolvedFlow, context: ToolContext): ToolFindings {
  const findings: ToolFindings = { errors: [], warnings: [] };
  for (const node of resolved.triggers) {
    const selection = resolved.definition(node)?.listensTo(splitParameters(node).config);
    if (!selection) continue;
    const { source, poll } = selection;
    if (!context.senders.has(source))
      for (const { code, ...finding } of checkConnection(node, selection, context))
        if (code === "invalid_config") findings.errors.push({ code, ...finding });
        else findings.warnings.push({ code, ...finding });
    else if (poll) {
      const problem = `${source} is not a connection, so it has no tools; remove poll, or choose a connection as the source`;
      findings.errors.push(fieldFinding("invalid_config", node, "poll", problem));
    }
  }
  return findings;
}

function checkConnection(
  node: FlowNode,
  { source, type = "", params = {}, poll }: EventSelection,
  { connections, findError }: ToolContext,
): Finding<"invalid_config" | WarningCode>[] {
  const report = (
    code: "invalid_config" | WarningCode,
    keys: readonly string[],
    message: string,
  ) => {
    const path = writePath(keys);
    return fieldFinding(code, node, path, message);
  };
  const connection = connections.get(source);
  if (!connection)
    return [
      report(
        "no_such_source",
        ["source"],
        `there is no connection or webhook endpoint ${source}, and no kind of sender with this name, so the trigger never fires; GET /api/connections and GET /api/sources list the ids`,
      ),
    ];
  // If the trigger polls, check-tools.ts checks the connection and the tool.
  if (poll) return [];
  const warning = connectionWarning(connection);
  if (warning) return [report(warning.code, ["source"], warning.message)];
  const { name, triggers = new Map<string, ConnectionTrigger>() } = connection;
  if (triggers.size === 0)
    return [
      report(
        "no_such_event_type",
        ["source"],
        `${name} has no triggers, so no events arrive; set poll to call one of its tools`,
      ),
    ];
  const reportProblem = ({ code, param, message }: ParamProblem) =>
    report(code, ["params", param], message);
  const problemsOf = (offered: ConnectionTrigger, label: string) =>
    checkParams(offered, params, `the trigger ${label} of ${name}`, findError);
  const trigger = triggers.get(type);
  if (trigger) return problemsOf(trigger, type).map(reportProblem);
  if (!type) {
    // The hub subscribes to each type. Problems such as an unknown param can concern another type.
    const byType = [...triggers].map(
      ([label, offered]) => [label, problemsOf(offered, label)] as const,
    );
    const incomplete = byType.flatMap(([label, problems]) => {
      const missing = problems.filter(({ code }) => code === "missing_param");
      return missing.length === 0
        ? []
        : `${label} (${missing.map(({ param }) => param).join(", ")})`;
    });
    const assumed = byType.flatMap(([, problems]) =>
      problems.filter(({ code }) => code === "assumed_default").map(reportProblem),
    );
    const message = `without a type, the trigger subscribes to every type, but ${name} requires params for ${listNames(incomplete)}. Choose a type, or set these params`;
    return [
      ...(incomplete.length > 0 ? [report("missing_param", ["type"], message)] : []),
      ...new Map(assumed.map((warning) => [warning.message, warning])).values(),
    ];
  }
  const message = `${name} has no trigger ${type}; it has ${listNames([...triggers.keys()])}`;
  return [report("no_such_event_type", ["type"], message)];
}

interface ParamProblem {
  code:
    | "invalid_config"
    | Extract<
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
  findError: ToolContext["findError"],
): ParamProblem[] {
  const { additionalProperties } = trigger.inputSchema;
  const declared = declaredParams(trigger);
  const allowsOthers = declared.size === 0 || (additionalProperties ?? false) !== false;
  const problems: ParamProblem[] = [];
  for (const [param, value] of Object.entries(params)) {
    const declaration = declared.get(param);
    if (declaration) {
      const message =
        enumProblem(declaration.schema, value) ??
        schemaProblem(trigger, param, declaration.schema, value, findError);
      // The server gets only plain values.
      const code = typeof value === "object" ? "invalid_param_value" : "invalid_config";
      if (message) problems.push({ code, param, message });
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

/**
 * Returns a plain value, or the values of the operators eq, ne and in. Other conditions, such as `glob`,
 * are valid.
 */
function comparedValues(param: Json): readonly Json[] {
  const test = readParam(param);
  if (test === "any" || "problem" in test || !["eq", "ne", "in"].includes(test.op)) return [];
  return Array.isArray(test.value) ? test.value : [test.value];
}

interface ValueChecks {
  value: Json;
  /** The value is valid if one of them succeeds. */
  checks: SchemaCheck[];
}

/** `enumProblem` checks the params with an enum. */
function valueChecks(
  { inputSchema }: ConnectionTrigger,
  name: string,
  declared: JsonObject,
  param: Json,
): ValueChecks[] {
  if (allowedValues(declared)) return [];
  // Servers often describe a param as a string for forms, and exactly in `inputSchema`.
  const { properties } = inputSchema;
  const exact =
    isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : declared;
  if (!isObject(exact)) return [];
  // A list in the event matches if one of its items does.
  const schema = withDefinitions(inputSchema, isObject(exact.items) ? exact.items : exact);
  return comparedValues(param).map((value) => ({
    value,
    checks: readings(value).map((reading) => ({ schema, value: reading })),
  }));
}

/** Params are strings on the wire, and servers convert them as their schema requires. */
function readings(value: Json): Json[] {
  if (typeof value === "number" || typeof value === "boolean") return [String(value), value];
  if (value === "true" || value === "false") return [value, value === "true"];
  const number = numberOf(value);
  return number === undefined ? [value] : [value, number];
}

function schemaProblem(
  trigger: ConnectionTrigger,
  name: string,
  declared: JsonObject,
  param: Json,
  findError: ToolContext["findError"],
): string | undefined {
  for (const { value, checks } of valueChecks(trigger, name, declared, param)) {
    const errors = checks.map(findError);
    const error = errors.at(-1);
    if (error && errors.every((each) => each && !each.isUnchecked))
      return `${JSON.stringify(value)} is invalid: ${error.message}`;
  }
  return undefined;
}

function enumProblem(schema: JsonObject, param: Json): string | undefined {
  const allowed = allowedValues(schema);
  if (!allowed) return undefined;
  const values = comparedValues(param);
  const invalid = values.filter((value) => !allowed.some((item) => looselyEquals(item, value)));
  if (invalid.length === 0) return undefined;
  const show = (list: readonly Json[]) => listNames(list.map((value) => JSON.stringify(value)));
  return `${show(invalid)} is not one of ${show(allowed)}`;
}
