/** An entry of TRIGGER_LIST: the schemas of a definition, in the notation of the wire. */
import type { TriggerDefinition } from "./definition.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";
import { jsonSchemaOf } from "./schema.ts";

/** A param for clients that draw a form from it. Values are sent as strings. */
type ParamDescription = { type: "string"; description?: string; enum?: string[]; default?: string };

export type TriggerDescription = {
  type: string;
  title?: string;
  description: string;
  paramsSchema: Record<string, ParamDescription>;
  /** The full JSON Schema of the params. */
  inputSchema: JsonObject;
  payloadSchema?: JsonObject;
  sample?: JsonObject;
};

export function describeTrigger(definition: TriggerDefinition): TriggerDescription {
  const { type, title, description, params, payload, sample } = definition;
  const inputSchema = params ? jsonSchemaOf(params, "input") : { type: "object", properties: {} };
  const properties = isObject(inputSchema.properties) ? inputSchema.properties : {};
  return {
    type,
    ...(title === undefined ? {} : { title }),
    description,
    paramsSchema: Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [
        name,
        describeParam(schema as JsonObject),
      ]),
    ),
    inputSchema,
    ...(payload ? { payloadSchema: jsonSchemaOf(payload, "output") } : {}),
    ...(sample ? { sample: JSON.parse(JSON.stringify(sample)) as JsonObject } : {}),
  };
}

function describeParam(schema: JsonObject): ParamDescription {
  const description = descriptionOf(schema);
  const values = valuesOf(schema);
  return {
    type: "string",
    ...(description === undefined ? {} : { description }),
    ...(values ? { enum: values.map(String) } : {}),
    ...(isPlain(schema.default) ? { default: String(schema.default) } : {}),
  };
}

const isPlain = (value: Json | undefined): value is string | number | boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean";

/** `.nullable()` and unions have the description and the values of their members inside `anyOf`. */
const members = ({ anyOf, oneOf, allOf }: JsonObject): JsonObject[] =>
  [anyOf, oneOf, allOf].flatMap((list) => (Array.isArray(list) ? (list as JsonObject[]) : []));

function descriptionOf(schema: JsonObject): string | undefined {
  if (typeof schema.description === "string") return schema.description;
  for (const member of members(schema)) {
    const found = descriptionOf(member);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The allowed values; undefined if other values are allowed too. */
function valuesOf(schema: JsonObject): Json[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum.filter((value) => value !== null);
  if (schema.const !== undefined) return [schema.const];
  if (schema.type === "boolean") return ["true", "false"];
  const list = members(schema).filter(({ type }) => type !== "null");
  if (list.length === 0) return undefined;
  const values = list.map(valuesOf);
  return values.every((found) => found !== undefined) ? values.flat() : undefined;
}
