/**
 * Converts the parameters of a legacy tool to a list. They can be a list already, a JSON Schema of an
 * object, or an object such as `{ city: { type: "string", required: true } }`. A value whose meaning is
 * not clear stays unchanged: the validation of the flow reports it, so the flow stays a draft. Pure.
 */
import { withDefinitions } from "@signalbox/rules/flows/check-tools.ts";
import { writePath } from "@signalbox/rules/flows/issues.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { truncate } from "@signalbox/rules/truncate.ts";

const MAX_QUOTED = 201;
const quote = (value: Json) => truncate(JSON.stringify(value), MAX_QUOTED);

type Note = (message: string) => void;

/** `note` gets a message for each change and problem, which begins with the path. */
export function convertParameters(value: Json | undefined, note: Note): Json {
  if (Array.isArray(value)) return value;
  if (value === undefined || value === null || value === "") return [];
  if (isObject(value) && Object.keys(value).length === 0) return [];
  const parameters = isJsonSchema(value) ? fromJsonSchema(value) : fromObject(value, note);
  if (!parameters) {
    note(
      `parameters: ${quote(value)} is neither a list of parameters nor a JSON Schema of an object; it is unchanged, and the flow cannot be published: write a list such as [{ "name": "city", "type": "string" }].`,
    );
    return value;
  }
  note(
    `parameters: was ${isJsonSchema(value) ? "a JSON Schema" : "an object"}; each property is now a parameter.`,
  );
  return parameters;
}

/** In an object of parameters, the value of each property is an object or the name of a type. */
const isJsonSchema = (value: Json): value is JsonObject =>
  isObject(value) &&
  (typeof value.$schema === "string" ||
    value.type === "object" ||
    (isObject(value.properties) && Object.values(value.properties).every(isSchema)));

const isSchema = (value: Json): boolean => isObject(value) || typeof value === "boolean";

/** The other keywords of a schema cannot be converted to parameters. */
const SCHEMA_FIELDS = [
  "$schema",
  "$id",
  "$comment",
  "$defs",
  "definitions",
  "type",
  "title",
  "description",
  "properties",
  "required",
  "additionalProperties",
  "default",
  "examples",
];

function fromJsonSchema(schema: JsonObject): Json[] | undefined {
  const { type = "object", properties = {}, required = [] } = schema;
  const isClear =
    type === "object" &&
    isObject(properties) &&
    Object.values(properties).every(isSchema) &&
    Array.isArray(required) &&
    Object.keys(schema).every((name) => SCHEMA_FIELDS.includes(name));
  if (!isClear) return undefined;
  const names = new Set([...Object.keys(properties), ...required.map(String)]);
  return [...names].map((name) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : true;
    const ownSchema: JsonObject = isObject(property)
      ? property
      : property === false
        ? { not: {} }
        : {};
    const hasReference = JSON.stringify(ownSchema).includes('"$ref"');
    const { required: flag, ...others } = hasReference
      ? withDefinitions(schema, ownSchema)
      : ownSchema;
    const isList = Array.isArray(flag);
    return {
      name,
      ...splitSchema(isList ? { ...others, required: flag } : others),
      optional: !required.includes(name) && (isList || flag !== true),
    };
  });
}

function fromObject(value: Json, note: Note): Json[] | undefined {
  if (!isObject(value) || typeof value.type === "string") return undefined;
  return Object.entries(value).map(([name, described]) => {
    const parameter = fromProperty(name, described);
    if (parameter) return parameter;
    const path = writePath(["parameters", name]);
    note(
      `${path}: ${quote(described)} does not describe a parameter: write an object such as { "type": "string" }.`,
    );
    // Not a valid type, so the validation of the flow reports this parameter.
    return { name, type: described };
  });
}

function fromProperty(name: string, described: Json): JsonObject | undefined {
  const schema = typeof described === "string" ? { type: described } : described;
  if (!isObject(schema)) return undefined;
  const {
    name: ownName = name,
    type: ownType,
    required,
    optional,
    ...property
  } = withoutNull(schema);
  const isFlag = (flag: Json | undefined) => flag === undefined || toFlag(flag) !== undefined;
  // A list is the keyword of a JSON Schema: it names the required properties of the value.
  const isList = Array.isArray(required);
  const isUntyped = Object.keys(property).every((field) =>
    ["description", "default"].includes(field),
  );
  // As in a list of parameters, the default type is a string.
  const fallbackType = isUntyped ? "string" : undefined;
  const type = typeof ownType === "string" ? typeOf(ownType) : (ownType ?? fallbackType);
  const hasUnknownType = ownType !== undefined && type === undefined;
  if (ownName !== name || hasUnknownType || !isFlag(optional) || !(isList || isFlag(required)))
    return undefined;
  const isRequired = isList ? undefined : toFlag(required);
  const isOptional = toFlag(optional) ?? (isRequired === undefined ? undefined : !isRequired);
  return {
    name,
    ...splitSchema({
      ...property,
      // The values of an enum imply their types.
      ...(type === undefined || (type === "enum" && property.enum) ? {} : { type }),
      ...(isList && { required }),
    }),
    ...(isOptional !== undefined && { optional: isOptional }),
  };
}

/** Databases store a missing field as null too. */
const withoutNull = (fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

const TYPES = ["string", "number", "integer", "boolean", "array", "object", "enum"];
const TYPE_ALIASES = new Map([
  ["text", "string"],
  ["int", "integer"],
  ["float", "number"],
  ["bool", "boolean"],
  ["list", "array"],
]);

function typeOf(text: string): string | undefined {
  const name = text.trim().toLowerCase();
  return TYPES.includes(name) ? name : TYPE_ALIASES.get(name);
}

/** Databases store booleans as numbers or text too. */
const toFlag = (value: Json | undefined): boolean | undefined =>
  value === true || value === 1 || value === "true"
    ? true
    : value === false || value === 0 || value === "false"
      ? false
      : undefined;

/** Uses the fields of a parameter where they suffice, and `schema` for all other schemas. */
function splitSchema({ description, default: fallback, ...schema }: JsonObject): JsonObject {
  const { type, format, enum: values, items, ...others } = schema;
  const hasValues =
    Array.isArray(values) &&
    values.every((value) => typeof value === "string" || typeof value === "number");
  const itemType = isObject(items) && Object.keys(items).length === 1 ? items.type : items;
  const isType = (value: Json | undefined) => typeof value === "string" && TYPES.includes(value);
  const isSimple =
    Object.keys(others).length === 0 &&
    (type === undefined ? hasValues : isType(type)) &&
    (values === undefined || hasValues) &&
    (format === undefined || typeof format === "string") &&
    (items === undefined || (isType(itemType) && itemType !== "array" && itemType !== "enum"));
  return {
    ...(!isSimple
      ? { schema }
      : {
          ...(type !== undefined ? { type } : hasValues ? { type: "enum" } : {}),
          ...(format !== undefined && { format }),
          ...(values !== undefined && { enum: values }),
          ...(items !== undefined && { items: itemType as Json }),
        }),
    ...(description !== undefined && { description }),
    ...(fallback !== undefined && { default: fallback }),
  };
}
