/** Creates the entry of a definition in TRIGGER_LIST. */
import type { TriggerDefinition } from "./definition.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";
import { jsonSchemaOf } from "./schema.ts";

/** Describes a param for clients that show a form. They send all values as strings. */
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
  /** An omitted param matches every value: its default only prefills forms. */
  omittedParams: "any";
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
    omittedParams: "any",
  };
}

function describeParam(schema: JsonObject): ParamDescription {
  const description = descriptionOf(schema);
  const values = allowedValuesOf(schema);
  return {
    type: "string",
    ...(description === undefined ? {} : { description }),
    ...(values ? { enum: values.map(String) } : {}),
    ...(isScalar(schema.default) ? { default: String(schema.default) } : {}),
  };
}

const isScalar = (value: Json | undefined): value is string | number | boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean";

/** For `.nullable()` and unions, descriptions and values are in the members of `anyOf`. */
const membersOf = ({ anyOf, oneOf, allOf }: JsonObject): JsonObject[] =>
  [anyOf, oneOf, allOf].flatMap((list) => (Array.isArray(list) ? (list as JsonObject[]) : []));

function descriptionOf(schema: JsonObject): string | undefined {
  if (typeof schema.description === "string") return schema.description;
  for (const member of membersOf(schema)) {
    const description = descriptionOf(member);
    if (description !== undefined) return description;
  }
  return undefined;
}

/** Returns undefined if the schema does not list its values. */
function allowedValuesOf(schema: JsonObject): Json[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum.filter((value) => value !== null);
  if (schema.const !== undefined) return [schema.const];
  if (schema.type === "boolean") return ["true", "false"];
  const members = membersOf(schema).filter(({ type }) => type !== "null");
  if (members.length === 0) return undefined;
  const values = members.map(allowedValuesOf);
  return values.every((list) => list !== undefined) ? values.flat() : undefined;
}
