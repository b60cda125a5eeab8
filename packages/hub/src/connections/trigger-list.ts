/**
 * Reads the triggers that a server offers, from the answer of its tool `TRIGGER_LIST`. Servers in the
 * field describe params in several ways; all of them become a record of JSON Schemas.
 */
import { isDeeperThan } from "@signalbox/rules/flows/model.ts";
import { isObject, type JsonObject, type JsonSchema, setOwn } from "@signalbox/rules/json.ts";
import type { OfferedTool, OfferedTrigger } from "../store/connection-store.ts";
import { ConnectionError } from "./connection-error.ts";
import type { ToolAnswer } from "./connections.ts";
import { MAX_DEPTH, MAX_TRIGGERS } from "./limits.ts";
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

const invalid = (problem: string) =>
  new ConnectionError("invalid_response", `The answer of ${TRIGGER_LIST} is wrong: ${problem}.`);

export function readTriggers(answer: ToolAnswer): OfferedTrigger[] {
  if (answer.isError)
    throw new ConnectionError("rejected", `${TRIGGER_LIST} failed: ${quote(textOf(answer))}`);
  const value = readValue(answer);
  if (isDeeperThan(MAX_DEPTH, value)) throw invalid(`it is nested deeper than ${MAX_DEPTH} levels`);
  const list = isObject(value) ? value.triggers : value;
  if (!Array.isArray(list)) throw invalid("triggers must be an array");
  if (list.length > MAX_TRIGGERS) throw invalid(`it has more than ${MAX_TRIGGERS} triggers`);
  const triggers = new Map<string, OfferedTrigger>();
  for (const [at, given] of list.entries()) {
    const trigger = readTrigger(given, `triggers[${at}]`);
    if (!triggers.has(trigger.type)) triggers.set(trigger.type, trigger);
  }
  return [...triggers.values()];
}

function readTrigger(given: unknown, path: string): OfferedTrigger {
  if (!isObject(given)) throw invalid(`${path} must be an object`);
  const { type, title, description, payloadSchema, sample } = given;
  if (typeof type !== "string" || type === "")
    throw invalid(`${path}.type must be a non-empty string`);
  const paramsSchema = readParams(given.paramsSchema ?? given.params, `${path}.paramsSchema`);
  return {
    type,
    ...(typeof title === "string" ? { title } : {}),
    description: typeof description === "string" ? description : "",
    binding: "callback",
    inputSchema: isObject(given.inputSchema) ? given.inputSchema : schemaOf(paramsSchema),
    paramsSchema,
    ...(isObject(payloadSchema) ? { payloadSchema } : {}),
    ...(isObject(sample) ? { sample } : {}),
  };
}

/** A record of params, an array of `{ name, … }`, or a JSON Schema of an object. */
function readParams(given: unknown, path: string): JsonObject {
  const params: JsonObject = {};
  const add = (name: string, value: unknown, at: string) => {
    if (!isObject(value)) throw invalid(`${at} must be an object`);
    const { name: _, ...schema } = value;
    setOwn(params, name, { type: "string", ...schema });
  };
  if (given === undefined || given === null) return params;
  if (Array.isArray(given)) {
    for (const [at, value] of given.entries()) {
      const name = isObject(value) ? value.name : undefined;
      if (typeof name !== "string" || name === "")
        throw invalid(`${path}[${at}].name must be a non-empty string`);
      add(name, value, `${path}[${at}]`);
    }
    return params;
  }
  if (!isObject(given)) throw invalid(`${path} must be an object`);
  return given.type === "object" && isObject(given.properties)
    ? fromSchema(given)
    : fromRecord(given);

  function fromRecord(record: JsonObject): JsonObject {
    for (const [name, value] of Object.entries(record)) add(name, value, `${path}.${name}`);
    return params;
  }
}

/** The params of a JSON Schema, with `required` as a field of each. */
export function fromSchema(schema: JsonSchema): JsonObject {
  const params: JsonObject = {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  for (const [name, value] of Object.entries(isObject(schema.properties) ? schema.properties : {}))
    if (isObject(value))
      setOwn(params, name, required.includes(name) ? { ...value, required: true } : value);
  return params;
}

/** The JSON Schema of params. `required` is a field of the param in `paramsSchema`. */
function schemaOf(params: JsonObject): JsonSchema {
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
    throw invalid(`it contains no JSON, but ${quote(text)}`);
  }
}

const textOf = ({ content }: ToolAnswer): string =>
  content.map(({ type, text }) => (type === "text" ? String(text) : "")).join("");
