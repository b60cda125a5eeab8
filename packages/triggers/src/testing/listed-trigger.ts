/** A trigger as TRIGGER_LIST describes it, and values for its params. */
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
  /** From `inputSchema` if there is one, as `paramsSchema` describes all params as strings. */
  type: unknown;
  values: string[] | undefined;
}

export type Values = Record<string, string>;

/** Throws if the entry has not the form of the contract. */
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
    const full = isObject(properties[name]) ? properties[name] : {};
    const values = Array.isArray(param.enum) ? param.enum : full.enum;
    return {
      name,
      isRequired: required.includes(name),
      type: full.type ?? param.type,
      values: Array.isArray(values) ? values.map(String) : undefined,
    };
  });
  return { type, description, params, sample };
}

/** A record; some servers send a list of `{ name, … }`. */
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

/** A value for each required param. */
export function exampleParams({ params, sample }: ListedTrigger): Values {
  return Object.fromEntries(
    params
      .filter(({ isRequired }) => isRequired)
      .map((param) => [param.name, example(param, sample)]),
  );
}

function example({ name, type, values }: ListedParam, sample: unknown): string {
  const [found] = valuesAt(sample, name);
  if (found !== undefined && !isObject(found) && !Array.isArray(found)) return String(found);
  if (values?.[0] !== undefined) return values[0];
  return isNumber(type) ? "1" : type === "boolean" ? "true" : "test";
}

export const isNumber = (type: unknown): boolean => type === "number" || type === "integer";

/** Params that differ from the given ones in one value; undefined if no other value is known. */
export function otherParams({ params }: ListedTrigger, given: Values): Values | undefined {
  for (const { name, type, values } of params) {
    const value = given[name];
    if (value === undefined) continue;
    const other = values
      ? values.find((one) => one !== value)
      : isNumber(type)
        ? String(Number(value) + 1)
        : type === "boolean"
          ? String(value !== "true")
          : `${value}-other`;
    if (other !== undefined) return { ...given, [name]: other };
  }
  return undefined;
}
