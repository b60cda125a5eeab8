/** What a tool wants to be told: parameters as people write them, JSON Schema underneath. */
import { z } from "zod";
import { isObject, type Json, type JsonObject, type JsonSchema, setOwn } from "../json.ts";
import { writePath } from "./issues.ts";
import { createCheck } from "./json-schema.ts";
import { schemaProblem } from "./schema-problem.ts";

const scalarTypes = ["string", "number", "integer", "boolean"] as const;

const parameterSchema = z.strictObject({
  name: z
    .string()
    .regex(
      /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/,
      "must start with a letter or _, and go on with letters, digits, _, . and - (at most 64)",
    )
    .describe("As agents and templates call it."),
  type: z
    .enum([...scalarTypes, "enum", "array", "object"])
    .default("string")
    .describe("What it is."),
  description: z.string().max(2000).default("").describe("What agents are told of it."),
  optional: z.boolean().optional().describe("Whether it may be left out."),
  required: z.boolean().optional().describe("The older spelling, the other way round."),
  default: z.json().optional().describe("What it is where it is left out."),
  format: z.string().max(50).optional().describe("Of a string: date-time, email, uri and so on."),
  enum: z
    .array(z.union([z.string(), z.number()]))
    .min(1)
    .max(500)
    .optional()
    .describe("The values of an enum."),
  items: z
    .enum([...scalarTypes, "object"])
    .optional()
    .describe("What an array holds."),
  schema: z
    .record(z.string(), z.json())
    .optional()
    .describe("JSON Schema, written out, in place of type, format, enum and items."),
});
export type Parameter = z.output<typeof parameterSchema>;

const parameterList = z.array(parameterSchema).max(100);

/** Those of a flow that is published: what must be right was seen then, by the rules of then. */
export const readParameters = (published: unknown): Parameter[] => parameterList.parse(published);

/** For the defaults of all parameters together. */
const DEFAULT_STEPS = 100_000;

export const parametersSchema = parameterList.superRefine((parameters, context) => {
  const names = parameters.map(({ name }) => name);
  const check = createCheck(DEFAULT_STEPS);
  for (const [at, parameter] of parameters.entries()) {
    const { name, type, enum: values, schema, default: fallback } = parameter;
    const issue = (path: keyof Parameter, message: string) =>
      context.addIssue({ code: "custom", path: [at, path], message });
    if (names.indexOf(name) !== at) issue("name", `${name} is there twice`);
    // No argument of that name gets through: objects have a meaning of their own for it.
    if (name === "__proto__") issue("name", "must not be __proto__: call it something else");
    if (type === "enum" && !values && !schema) issue("enum", "must list the values");
    const problem = schema && schemaProblem(schema);
    if (problem) issue("schema", problem);
    else if (fallback !== undefined) {
      const misfit = check(schemaOf(parameter), fallback);
      if (misfit) issue("default", misfit.message);
    }
  }
});

const isOptional = ({ optional, required, default: fallback }: Parameter): boolean =>
  fallback !== undefined || (optional ?? required === false);

function schemaOf(parameter: Parameter): JsonSchema {
  const { type, description, format, enum: values, items, schema, default: fallback } = parameter;
  return {
    ...(schema ?? {
      // The values of an enum say their types themselves.
      ...(type === "enum" ? {} : { type }),
      ...(format !== undefined ? { format } : {}),
      ...(values ? { enum: values } : {}),
      ...(items ? { items: { type: items } } : {}),
    }),
    ...(description ? { description } : {}),
    ...(fallback !== undefined ? { default: fallback } : {}),
  };
}

export interface InputSchema extends JsonObject {
  type: "object";
  properties: JsonObject;
  required: string[];
  additionalProperties: false;
}

/** The `inputSchema` of the MCP tool. */
export function inputSchema(parameters: readonly Parameter[]): InputSchema {
  const properties: JsonObject = {};
  for (const parameter of parameters) setOwn(properties, parameter.name, schemaOf(parameter));
  const required = parameters.filter((one) => !isOptional(one)).map(({ name }) => name);
  return { type: "object", properties, required, additionalProperties: false };
}

export type CheckedArguments =
  | { ok: true; input: JsonObject }
  | { ok: false; errors: { path: string; message: string }[] };

/** Checks the arguments of a call, each by name, and adds the defaults of those left out. */
export function checkArguments(parameters: readonly Parameter[], given: unknown): CheckedArguments {
  if (given !== undefined && !isObject(given))
    return { ok: false, errors: [{ path: "arguments", message: "must be an object" }] };
  const input: JsonObject = {};
  const errors: { path: string; message: string }[] = [];
  const check = createCheck();
  for (const parameter of parameters) {
    const { name, default: fallback } = parameter;
    const value: Json | undefined = given && Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined) {
      if (fallback !== undefined) setOwn(input, name, structuredClone(fallback));
      else if (!isOptional(parameter)) errors.push({ path: name, message: "is missing" });
      continue;
    }
    const misfit = check(schemaOf(parameter), value);
    if (misfit)
      errors.push({
        path: writePath([name, ...misfit.keys.map(indexOrName)]),
        message: misfit.message,
      });
    else setOwn(input, name, value);
  }
  const known = new Set(parameters.map(({ name }) => name));
  const unknown = Object.keys(given ?? {}).filter((name) => !known.has(name));
  const words = known.size > 0 ? `it has ${[...known].join(", ")}` : "it has none";
  for (const name of unknown.slice(0, MOST_UNKNOWN))
    errors.push({
      path: writePath([name.slice(0, 100)]),
      message: `is not an argument of this tool; ${words}`,
    });
  if (unknown.length > MOST_UNKNOWN)
    errors.push({
      path: "arguments",
      message: `${unknown.length - MOST_UNKNOWN} more are not arguments of this tool`,
    });
  return errors.length > 0 ? { ok: false, errors } : { ok: true, input };
}

/** That are told by name: a caller can send any number. */
const MOST_UNKNOWN = 10;

const indexOrName = (key: string): string | number => (/^\d+$/.test(key) ? Number(key) : key);
