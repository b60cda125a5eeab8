/** Params as they come over the wire: clients send numbers and booleans as strings. */
import { isObject, type JsonObject } from "./json.ts";
import { isBlank, isNumeric } from "./matches.ts";
import { issuesText, type ObjectSchema, type Schema } from "./schema.ts";
import { TriggerError } from "./trigger-error.ts";

/** Throws a `TriggerError` that names each wrong field. */
export async function parseParams(
  type: string,
  schema: ObjectSchema<object> | undefined,
  params: unknown,
): Promise<JsonObject> {
  if (params !== undefined && !isObject(params))
    throw new TriggerError("bad_params", `params of "${type}" must be an object`);
  const given: Record<string, unknown> = { ...params };
  if (!schema) return {};
  // A form submits an empty field as "": it is left out if the schema allows that.
  for (const [name, field] of Object.entries(schema.shape))
    if (isBlank(given[name]) && accepts(field as Schema, undefined)) delete given[name];

  const first = await schema.safeParseAsync(given);
  if (first.success) return toJson(first.data);
  for (const { path } of first.error.issues) {
    const name = String(path[0]);
    const converted = convert(given[name]);
    if (converted !== undefined) given[name] = converted;
  }
  const second = await schema.safeParseAsync(given);
  if (second.success) return toJson(second.data);
  throw new TriggerError(
    "bad_params",
    `wrong params of "${type}": ${issuesText("params", second.error.issues)}`,
  );
}

function accepts(schema: Schema, value: unknown): boolean {
  try {
    return schema.safeParse(value).success;
  } catch {
    return false; // an asynchronous schema
  }
}

/** The same value in the other notation, for a schema that did not accept the first. */
function convert(value: unknown): unknown {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value !== "string") return undefined;
  const text = value.trim();
  if (isNumeric(text)) return Number(text);
  if (text === "true" || text === "false") return text === "true";
  return undefined;
}

const toJson = (params: unknown): JsonObject => JSON.parse(JSON.stringify(params)) as JsonObject;
