/**
 * Converts the nodes of a legacy system to the hub's node types. Types without an equivalent stay
 * unchanged. A legacy template references a node by its id, and a missing value becomes empty text.
 * The converted template references the node by its slug, with an optional reference. Pure.
 */
import { parseTemplate, soleReference, writeReference } from "@signalbox/rules/flows/template.ts";
import { mapTexts } from "@signalbox/rules/flows/walk.ts";
import { isObject, type Json, type JsonObject, setOwn } from "@signalbox/rules/json.ts";
import { convertParameters } from "./convert-parameters.ts";

export interface ConvertOptions {
  /** The slugs that the nodes had before the import. In references, they take precedence over ids. */
  existingSlugs: ReadonlySet<string>;
  /**
   * Returns the trigger that a call of this flow starts; undefined if the flow has only one
   * trigger.
   */
  triggerOf: (flow: string) => string | undefined;
  /** Messages about dropped values are added here. */
  notes: string[];
}

type Path = readonly (string | number)[];

interface Conversion {
  type: string;
  /** Returns the parameters of the new type. Reports dropped values with `note`. */
  convertParameters(parameters: JsonObject, note: (message: string) => void): JsonObject;
  /** Returns the path in the new output; undefined if the new output has no such value. */
  convertPath?(path: Path): Path | undefined;
}

/** All nodes must have slugs. Values that are not nodes stay unchanged. */
export function convertNodes(nodes: readonly Json[], options: ConvertOptions): Json[] {
  const findNode = createNodeFinder(nodes, options.existingSlugs);
  const conversions = createConversions(options);
  return nodes.map((node) => {
    if (!isObject(node) || !isObject(node.parameters)) return node;
    const note = (message: string) => options.notes.push(`${String(node.name)}: ${message}`);
    const conversion = conversions.get(node.type);
    const { type, parameters } = conversion
      ? { type: conversion.type, parameters: conversion.convertParameters(node.parameters, note) }
      : { type: node.type as Json, parameters: node.parameters };
    const rewrite = (text: string): string =>
      text.replaceAll(/\{\{([^{}]+)\}\}/g, (template, inner: string) => {
        const { root, path } = parseReference(inner.trim());
        const target = findNode(root);
        if (!target) return template;
        const convertPath = conversions.get(target.type)?.convertPath ?? ((same: Path) => same);
        const converted = convertPath(path);
        if (!converted) note(`${template} has no equivalent in the output of ${target.name}.`);
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

/** True if only the legacy system has nodes of this type, or with these parameters. */
export function isLegacyNode(node: Json): boolean {
  if (!isObject(node)) return false;
  const hasParameter = (name: string) =>
    isObject(node.parameters) && Object.hasOwn(node.parameters, name);
  switch (node.type) {
    case "ApiCall":
    case "JavaScriptCodeTransform":
      return true;
    case "CallFlow":
      return hasParameter("targetFlowId");
    case "Return":
      return hasParameter("text") && !hasParameter("value");
    default:
      return false;
  }
}

/** Returns a function that finds the node of a reference by its slug or id. */
function createNodeFinder(nodes: readonly Json[], existingSlugs: ReadonlySet<string>) {
  const objects = nodes.filter(isObject);
  const byId = new Map(objects.map((node) => [node.id, node]));
  const bySlug = new Map(objects.map((node) => [node.slug, node]));
  return (root: string): JsonObject | undefined => {
    const node = existingSlugs.has(root) ? bySlug.get(root) : byId.get(root);
    // The output of a UserIntent node is the input of the run, which is `{{ trigger }}` here too.
    return root === "trigger" && node?.type === "UserIntent" ? undefined : node;
  };
}

/** Parses both formats: only the legacy system has `api1.body.first name`, and only the hub `[0]` and `?`. */
function parseReference(text: string): { root: string; path: Path } {
  const [, root = "", pathText = ""] = /^([^.[?\s]+)(.*)$/s.exec(text) ?? [];
  const reference = soleReference(parseTemplate(`{{x${pathText}}}`));
  return { root, path: reference?.path ?? pathText.split(".").slice(1) };
}

const createConversions = ({ triggerOf }: ConvertOptions): ReadonlyMap<unknown, Conversion> =>
  new Map<unknown, Conversion>([
    ["ApiCall", apiCall],
    ["CallFlow", createCallFlow(triggerOf)],
    ["JavaScriptCodeTransform", javaScriptCode],
    ["Return", returnText],
    ["UserIntent", userIntent],
  ]);

const MAX_TIMEOUT_MS = 300_000;

const apiCall: Conversion = {
  type: "HttpRequest",
  convertParameters(
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
      ...(hasValue(url) && { url }),
      ...(hasValue(headers) && { headers: headersOf(headers) }),
      ...(typeof timeout === "number" &&
        timeout > 0 && { timeoutMs: Math.min(Math.ceil(timeout), MAX_TIMEOUT_MS) }),
      ...rest,
    };
  },
  convertPath: (path) =>
    ["body", "headers", "status"].includes(String(path[0] ?? "body")) ? path : undefined,
};

/** Converts `[{ key, value }]` to an object. The legacy system never sent entries without a key. */
function headersOf(headers: Json): Json {
  if (!Array.isArray(headers)) return headers;
  const byName: JsonObject = {};
  for (const header of headers)
    if (isObject(header) && typeof header.key === "string" && header.key.trim())
      setOwn(byName, header.key.trim(), header.value ?? "");
  return byName;
}

const createCallFlow = (triggerOf: ConvertOptions["triggerOf"]): Conversion => ({
  type: "CallFlow",
  convertParameters(parameters, note) {
    if (!Object.hasOwn(parameters, "targetFlowId")) return parameters;
    const { targetFlowId, inputMapping, ...rest } = parameters;
    if (hasValue(inputMapping) && !isObject(inputMapping))
      note(`inputMapping: ${JSON.stringify(inputMapping)} is not an object, and was ignored.`);
    const flow = hasValue(targetFlowId) ? String(targetFlowId) : undefined;
    const trigger = flow === undefined ? undefined : triggerOf(flow);
    return {
      ...(flow !== undefined && { flow }),
      ...(trigger !== undefined && { trigger }),
      ...(isObject(inputMapping) && { input: inputMapping }),
      ...rest,
    };
  },
  convertPath: (path) => (path[0] === "result" ? path.slice(1) : path),
});

const returnText: Conversion = {
  type: "Return",
  convertParameters(parameters) {
    if (!Object.hasOwn(parameters, "text") || Object.hasOwn(parameters, "value")) return parameters;
    const { text, ...rest } = parameters;
    return { value: text ?? "", ...rest };
  },
};

const userIntent: Conversion = {
  type: "UserIntent",
  convertParameters: ({ parameters, ...rest }, note) => ({
    ...rest,
    ...(parameters !== undefined && { parameters: convertParameters(parameters, note) }),
  }),
};

const javaScriptCode: Conversion = {
  type: "Code",
  convertParameters: ({ code, resolvedOutputSchema: _, ...rest }) => ({
    ...(hasValue(code) && { code: typeof code === "string" ? toFunctionBody(code) : code }),
    // The legacy system had no time limit, so the code gets the maximum.
    timeoutMs: 2000,
    ...rest,
  }),
  convertPath: (path) =>
    path[0] === "_execution" ? undefined : path[0] === "_value" ? path.slice(1) : path,
};

/** If the code is the definition of a function, adds a call of it, as the legacy system did. */
function toFunctionBody(code: string): string {
  const [, declared, assigned] = FUNCTION_DEFINITION.exec(code) ?? [];
  const name = declared ?? assigned;
  return name === undefined ? code : `${code}\nreturn ${name}(input);`;
}

const FUNCTION_DEFINITION =
  /^\s*(?:(?:async\s+)?function\s+([\w$]+)\s*\(|(?:const|let|var)\s+([\w$]+)\s*=\s*(?:async\s*)?(?:function\b|\()).*\}\s*;?\s*$/s;

const hasValue = (value: Json | undefined): value is Json => value !== undefined && value !== null;
