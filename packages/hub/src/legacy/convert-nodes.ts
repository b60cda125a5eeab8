/**
 * Converts the nodes of a legacy system to the hub's node types. Types without an equivalent stay
 * unchanged. In that system, templates refer to a node by its id, and a missing value is empty text:
 * here they refer to it by its slug, as an optional reference. Pure.
 */
import { parseTemplate, soleReference, writeReference } from "@signalbox/rules/flows/template.ts";
import { mapTexts } from "@signalbox/rules/flows/walk.ts";
import { isObject, type Json, type JsonObject, setOwn } from "@signalbox/rules/json.ts";

export interface ConvertOptions {
  /** Slugs that the nodes already had. They take precedence over ids. */
  givenSlugs: ReadonlySet<string>;
  /** The trigger that a call of this flow starts; undefined if the flow has only one. */
  triggerOf: (flow: string) => string | undefined;
  notes: string[];
}

type Path = readonly (string | number)[];

interface Conversion {
  type: string;
  /** The parameters of the new type. Reports dropped values with `note`. */
  parameters(parameters: JsonObject, note: (message: string) => void): JsonObject;
  /** The path into the new output; undefined if the new output has no such value. */
  output?(path: Path): Path | undefined;
}

/** `nodes` have slugs. Values that are not nodes stay unchanged. */
export function convertNodes(nodes: readonly Json[], options: ConvertOptions): Json[] {
  const find = nodeFinder(nodes, options.givenSlugs);
  const conversions = conversionsFor(options);
  return nodes.map((node) => {
    if (!isObject(node) || !isObject(node.parameters)) return node;
    const note = (message: string) => options.notes.push(`${String(node.name)}: ${message}`);
    const conversion = conversions.get(node.type);
    const { type, parameters } = conversion
      ? { type: conversion.type, parameters: conversion.parameters(node.parameters, note) }
      : { type: node.type as Json, parameters: node.parameters };
    const rewrite = (text: string): string =>
      text.replaceAll(/\{\{([^{}]+)\}\}/g, (whole, inner: string) => {
        const { root, path } = parseReference(inner.trim());
        const target = find(root);
        if (!target) return whole;
        const output = conversions.get(target.type)?.output ?? ((same: Path) => same);
        const converted = output(path);
        if (!converted) note(`${whole} has no equivalent in the output of ${target.name}.`);
        return `{{ ${writeReference({ root: String(target.slug), path: converted ?? path })}? }}`;
      });
    const isTemplate = (keys: readonly (string | number)[]) =>
      type !== "UserIntent" && !(type === "Code" && keys[0] === "code");
    return {
      ...node,
      type,
      parameters: mapTexts(parameters, (text, keys) => (isTemplate(keys) ? rewrite(text) : text)),
    };
  });
}

/** Whether only the legacy system has such a node. */
export function isLegacyNode(node: Json): boolean {
  if (!isObject(node)) return false;
  const has = (name: string) => isObject(node.parameters) && Object.hasOwn(node.parameters, name);
  switch (node.type) {
    case "ApiCall":
    case "JavaScriptCodeTransform":
      return true;
    case "CallFlow":
      return has("targetFlowId");
    case "Return":
      return has("text") && !has("value");
    default:
      return false;
  }
}

function nodeFinder(nodes: readonly Json[], givenSlugs: ReadonlySet<string>) {
  const all = nodes.filter(isObject);
  const byId = new Map(all.map((node) => [node.id, node]));
  const bySlug = new Map(all.map((node) => [node.slug, node]));
  return (root: string): JsonObject | undefined => {
    const found = givenSlugs.has(root) ? bySlug.get(root) : byId.get(root);
    // `trigger` has the same value, whatever starts the run.
    return root === "trigger" && found?.type === "UserIntent" ? undefined : found;
  };
}

/** `api1.body.first name` is valid in the legacy system; `[0]` and `?` are valid only here. */
function parseReference(text: string): { root: string; path: Path } {
  const [, root = "", rest = ""] = /^([^.[?\s]+)(.*)$/s.exec(text) ?? [];
  const reference = soleReference(parseTemplate(`{{x${rest}}}`));
  return { root, path: reference?.path ?? rest.split(".").slice(1) };
}

const conversionsFor = ({ triggerOf }: ConvertOptions): ReadonlyMap<unknown, Conversion> =>
  new Map<unknown, Conversion>([
    ["ApiCall", apiCall],
    ["CallFlow", callFlow(triggerOf)],
    ["JavaScriptCodeTransform", javaScriptCode],
    ["Return", returnText],
  ]);

const MAX_TIMEOUT_MS = 300_000;

const apiCall: Conversion = {
  type: "HttpRequest",
  parameters(
    { method, url, headers, timeout, inputMappings, resolvedOutputSchema: _, ...rest },
    note,
  ) {
    if (Array.isArray(inputMappings) && inputMappings.length > 0)
      note(
        `inputMappings: ${JSON.stringify(inputMappings)} was ignored: write references such as {{ node.path }} in url or headers.`,
      );
    if (typeof timeout === "number" && timeout > MAX_TIMEOUT_MS)
      note(`timeout: was ${timeout}; it is now ${MAX_TIMEOUT_MS}, the maximum.`);
    return {
      ...(typeof method === "string" && { method: method.toUpperCase() }),
      ...(isGiven(url) && { url }),
      ...(isGiven(headers) && { headers: headersOf(headers) }),
      ...(typeof timeout === "number" &&
        timeout > 0 && { timeoutMs: Math.min(Math.ceil(timeout), MAX_TIMEOUT_MS) }),
      ...rest,
    };
  },
  output: (path) =>
    ["body", "headers", "status"].includes(String(path[0] ?? "body")) ? path : undefined,
};

/** `[{ key, value }]` as an object. Entries without a key were never sent. */
function headersOf(headers: Json): Json {
  if (!Array.isArray(headers)) return headers;
  const byName: JsonObject = {};
  for (const header of headers)
    if (isObject(header) && typeof header.key === "string" && header.key.trim())
      setOwn(byName, header.key.trim(), header.value ?? "");
  return byName;
}

const callFlow = (triggerOf: ConvertOptions["triggerOf"]): Conversion => ({
  type: "CallFlow",
  parameters(parameters, note) {
    if (!Object.hasOwn(parameters, "targetFlowId")) return parameters;
    const { targetFlowId, inputMapping, ...rest } = parameters;
    if (isGiven(inputMapping) && !isObject(inputMapping))
      note(`inputMapping: ${JSON.stringify(inputMapping)} is not an object, and was ignored.`);
    const flow = isGiven(targetFlowId) ? String(targetFlowId) : undefined;
    const trigger = flow === undefined ? undefined : triggerOf(flow);
    return {
      ...(flow !== undefined && { flow }),
      ...(trigger !== undefined && { trigger }),
      ...(isObject(inputMapping) && { input: inputMapping }),
      ...rest,
    };
  },
  output: (path) => (path[0] === "result" ? path.slice(1) : path),
});

const returnText: Conversion = {
  type: "Return",
  parameters(parameters) {
    if (!Object.hasOwn(parameters, "text") || Object.hasOwn(parameters, "value")) return parameters;
    const { text, ...rest } = parameters;
    return { value: text ?? "", ...rest };
  },
};

const javaScriptCode: Conversion = {
  type: "Code",
  parameters: ({ code, resolvedOutputSchema: _, ...rest }) => ({
    ...(isGiven(code) && { code: typeof code === "string" ? asFunctionBody(code) : code }),
    // The legacy system had no limit; this is the maximum.
    timeoutMs: 2000,
    ...rest,
  }),
  output: (path) =>
    path[0] === "_execution" ? undefined : path[0] === "_value" ? path.slice(1) : path,
};

/** The code can also be the definition of a function, which the legacy system then called. */
function asFunctionBody(code: string): string {
  const [, declared, assigned] = DEFINITION.exec(code) ?? [];
  const name = declared ?? assigned;
  return name === undefined ? code : `${code}\nreturn ${name}(input);`;
}

const DEFINITION =
  /^\s*(?:(?:async\s+)?function\s+([\w$]+)\s*\(|(?:const|let|var)\s+([\w$]+)\s*=\s*(?:async\s*)?(?:function\b|\()).*\}\s*;?\s*$/s;

const isGiven = (value: Json | undefined): value is Json => value !== undefined && value !== null;
