/**
 * Reads the triggers that a server offers, from the answer of its tool `TRIGGER_LIST`. Servers describe
 * params in several formats; all are converted to a record of JSON Schemas.
 */
import { isDeeperThan } from "@signalbox/rules/flows/model.ts";
import { isObject, type JsonObject, type JsonSchema, setOwn } from "@signalbox/rules/json.ts";
import { ConnectionError } from "./connection-error.ts";
import type { ToolAnswer } from "./connections.ts";
import { MAX_DEPTH, MAX_TRIGGERS } from "./limits.ts";
import type { OfferedTool, OfferedTrigger } from "./model.ts";
import { quote } from "./quote.ts";

export const TRIGGER_LIST = "TRIGGER_LIST";
export const TRIGGER_CONFIGURE = "TRIGGER_CONFIGURE";
export const TRIGGER_TOOLS: ReadonlySet<string> = new Set([TRIGGER_LIST, TRIGGER_CONFIGURE]);

export const hasTriggers = (tools: readonly OfferedTool[]): boolean =>
  [...TRIGGER_TOOLS].every((name) => tools.some((tool) => tool.name === name));

/** Whether the server keeps one credential per subscription instead of one per connection. */
export function isPerSubscription(tools: readonly OfferedTool[]): boolean {
  const configure = tools.find(({ name }) => name === TRIGGER_CONFIGURE);
  const properties = configure?.inputSchema.properties;
  return isObject(properties) && Object.hasOwn(properties, "subscriptionId");
}

const invalidAnswer = (problem: string) =>
  new ConnectionError("invalid_response", `The answer of ${TRIGGER_LIST} is invalid: ${problem}.`);

export function readTriggers(answer: ToolAnswer): OfferedTrigger[] {
  if (answer.isError)
    throw new ConnectionError("rejected", `${TRIGGER_LIST} failed: ${quote(textOf(answer))}`);
  const value = readValue(answer);
  if (isDeeperThan(MAX_DEPTH, value))
    throw invalidAnswer(`it is nested deeper than ${MAX_DEPTH} levels`);
  const list = isObject(value) ? value.triggers : value;
  if (!Array.isArray(list)) throw invalidAnswer("triggers must be an array");
  if (list.length > MAX_TRIGGERS) throw invalidAnswer(`it has more than ${MAX_TRIGGERS} triggers`);
  const triggers = new Map<string, OfferedTrigger>();
  for (const [index, item] of list.entries()) {
    const trigger = readTrigger(item, `triggers[${index}]`);
    if (!triggers.has(trigger.type)) triggers.set(trigger.type, trigger);
  }
  return [...triggers.values()];
}

function readTrigger(item: unknown, path: string): OfferedTrigger {
  if (!isObject(item)) throw invalidAnswer(`${path} must be an object`);
  const { type, title, description, payloadSchema, sample } = item;
  if (typeof type !== "string" || type === "")
    throw invalidAnswer(`${path}.type must be a non-empty string`);
  const paramsSchema = readParams(item.paramsSchema ?? item.params, `${path}.paramsSchema`);
  return {
    type,
    ...(typeof title === "string" ? { title } : {}),
    description: typeof description === "string" ? description : "",
    binding: "callback",
    inputSchema: isObject(item.inputSchema) ? item.inputSchema : schemaFromParams(paramsSchema),
    paramsSchema,
    ...(isObject(payloadSchema) ? { payloadSchema } : {}),
    ...(isObject(sample) ? { sample } : {}),
    ...(item.omittedParams === "any" ? { omittedParams: "any" } : {}),
  };
}

/** Accepts a record of params, an array of `{ name, … }`, or a JSON Schema of an object. */
function readParams(description: unknown, path: string): JsonObject {
  const params: JsonObject = {};
  const add = (name: string, value: unknown, valuePath: string) => {
    if (!isObject(value)) throw invalidAnswer(`${valuePath} must be an object`);
    const { name: _, ...schema } = value;
    setOwn(params, name, { type: "string", ...schema });
  };
  if (description === undefined || description === null) return params;
  if (Array.isArray(description)) {
    for (const [index, value] of description.entries()) {
      const name = isObject(value) ? value.name : undefined;
      if (typeof name !== "string" || name === "")
        throw invalidAnswer(`${path}[${index}].name must be a non-empty string`);
      add(name, value, `${path}[${index}]`);
    }
    return params;
  }
  if (!isObject(description)) throw invalidAnswer(`${path} must be an object`);
  if (description.type === "object" && isObject(description.properties))
    return paramsFromSchema(description);
  for (const [name, value] of Object.entries(description)) add(name, value, `${path}.${name}`);
  return params;
}

/** The properties of the schema. Each required one has the field `required: true`. */
export function paramsFromSchema(schema: JsonSchema): JsonObject {
  const params: JsonObject = {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  for (const [name, value] of Object.entries(isObject(schema.properties) ? schema.properties : {}))
    if (isObject(value))
      setOwn(params, name, required.includes(name) ? { ...value, required: true } : value);
  return params;
}

/** The opposite of `paramsFromSchema`. */
function schemaFromParams(params: JsonObject): JsonSchema {
  const properties: JsonObject = {};
  const required: string[] = [];
  for (const [name, param] of Object.entries(params)) {
    if (!isObject(param)) continue;
    const { required: isRequired, ...schema } = param;
    setOwn(properties, name, schema);
    if (isRequired === true) required.push(name);
  }
  return { type: "object", properties, ...(required.length > 0 ? { required } : {}) };
}

function readValue(answer: ToolAnswer): unknown {
  if (answer.structuredContent !== undefined) return answer.structuredContent;
  const text = textOf(answer);
  try {
    return JSON.parse(text);
  } catch {
    throw invalidAnswer(`it contains no JSON, but ${quote(text)}`);
  }
}

const textOf = ({ content }: ToolAnswer): string =>
  content.map(({ type, text }) => (type === "text" ? String(text) : "")).join("");
