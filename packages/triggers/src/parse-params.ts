/** Parses the params of TRIGGER_CONFIGURE. Clients may send numbers and booleans as strings. */
import { isObject, type JsonObject } from "./json.ts";
import { isBlank, isNumeric } from "./matches.ts";
import { formatIssues, type ObjectSchema, type Schema } from "./schema.ts";
import { TriggerError } from "./trigger-error.ts";

/**
 * Throws a `TriggerError` that names each invalid param. A param that the client omits is not in the
 * result, even if it has a default: the default prefills forms, and does not filter events.
 */
export async function parseParams(
  type: string,
  schema: ObjectSchema<object> | undefined,
  params: unknown,
): Promise<JsonObject> {
  if (params !== undefined && !isObject(params))
    throw new TriggerError("bad_params", `params of "${type}" must be an object`);
  const values: Record<string, unknown> = { ...params };
  if (!schema) return {};
  // A form submits an empty field as "". The param is removed if the schema allows that it is missing.
  for (const [name, field] of Object.entries(schema.shape))
    if (isBlank(values[name]) && accepts(field as Schema, undefined)) delete values[name];

  const first = await schema.safeParseAsync(values);
  if (first.success) return pickSent(first.data, values);
  for (const { path } of first.error.issues) {
    const name = String(path[0]);
    const converted = convert(values[name]);
    if (converted !== undefined) values[name] = converted;
  }
  const second = await schema.safeParseAsync(values);
  if (second.success) return pickSent(second.data, values);
  throw new TriggerError(
    "bad_params",
    `invalid params of "${type}": ${formatIssues("params", second.error.issues)}`,
  );
}

function accepts(schema: Schema, value: unknown): boolean {
  try {
    return schema.safeParse(value).success;
  } catch {
    return false; // `safeParse` throws for an asynchronous schema
  }
}

/** Converts a number or boolean to a string, or a string to a number or boolean. */
function convert(value: unknown): unknown {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value !== "string") return undefined;
  const text = value.trim();
  if (isNumeric(text)) return Number(text);
  if (text === "true" || text === "false") return text === "true";
  return undefined;
}

/** Removes the params that only the schema's defaults have added. */
const pickSent = (params: object, sent: object): JsonObject =>
  JSON.parse(
    JSON.stringify(
      Object.fromEntries(Object.entries(params).filter(([name]) => Object.hasOwn(sent, name))),
    ),
  ) as JsonObject;
