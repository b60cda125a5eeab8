/** Parses a trigger of TRIGGER_LIST, and chooses values for its params. */
import { isObject } from "../json.ts";
import { valuesAt } from "../matches.ts";

export interface ListedTrigger {
  type: string;
  description: unknown;
  params: ListedParam[];
  sample: unknown;
}

interface ListedParam {
  name: string;
  isRequired: boolean;
  /** The type in `inputSchema` if it exists, because `paramsSchema` describes all params as strings. */
  type: unknown;
  values: string[] | undefined;
}

export type Values = Record<string, string>;

/** Throws if the entry does not have the format of the contract. */
export function readTrigger(entry: unknown): ListedTrigger {
  if (!isObject(entry)) throw new Error(`an entry is not an object: ${JSON.stringify(entry)}`);
  const { type, description, sample } = entry;
  if (typeof type !== "string" || type === "")
    throw new Error(`an entry has no type: ${JSON.stringify(entry).slice(0, 200)}`);
  if (typeof description !== "string" || description === "")
    throw new Error(`"${type}" has no description`);
  const schema = paramsSchemaOf(type, entry.paramsSchema ?? entry.params ?? {});
  const input = isObject(entry.inputSchema) ? entry.inputSchema : {};
  const properties = isObject(input.properties) ? input.properties : {};
  const required = Array.isArray(input.required) ? input.required : [];
  const params = Object.entries(schema).map(([name, param]) => {
    const property = isObject(properties[name]) ? properties[name] : {};
    const values = Array.isArray(param.enum) ? param.enum : property.enum;
    return {
      name,
      isRequired: required.includes(name),
      type: property.type ?? param.type,
      values: Array.isArray(values) ? values.map(String) : undefined,
    };
  });
  return { type, description, params, sample };
}

/** Returns the params by name. Some servers send a list of `{ name, … }` instead of a record. */
function paramsSchemaOf(type: string, schema: unknown): Record<string, Record<string, unknown>> {
  const entries = Array.isArray(schema)
    ? schema.map((param) => [isObject(param) ? param.name : undefined, param])
    : isObject(schema)
      ? Object.entries(schema)
      : [[undefined]];
  for (const [name, param] of entries)
    if (typeof name !== "string" || !isObject(param))
      throw new Error(`paramsSchema of "${type}" is not a record of { type, description?, enum? }`);
  return Object.fromEntries(entries) as Record<string, Record<string, unknown>>;
}

/** Returns a value for each required param. */
export function exampleParams({ params, sample }: ListedTrigger): Values {
  return Object.fromEntries(
    params
      .filter(({ isRequired }) => isRequired)
      .map((param) => [param.name, exampleValue(param, sample)]),
  );
}

function exampleValue({ name, type, values }: ListedParam, sample: unknown): string {
  const [value] = valuesAt(sample, name);
  if (value !== undefined && !isObject(value) && !Array.isArray(value)) return String(value);
  if (values?.[0] !== undefined) return values[0];
  return isNumber(type) ? "1" : type === "boolean" ? "true" : "test";
}

export const isNumber = (type: unknown): boolean => type === "number" || type === "integer";

/** Returns params that differ from `current` in one value; undefined if there is no other value. */
export function otherParams({ params }: ListedTrigger, current: Values): Values | undefined {
  for (const { name, type, values } of params) {
    const value = current[name];
    if (value === undefined) continue;
    const other = values
      ? values.find((allowed) => allowed !== value)
      : isNumber(type)
        ? String(Number(value) + 1)
        : type === "boolean"
          ? String(value !== "true")
          : `${value}-other`;
    if (other !== undefined) return { ...current, [name]: other };
  }
  return undefined;
}
