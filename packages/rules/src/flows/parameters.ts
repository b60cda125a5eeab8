/** The parameters of a tool: their config, their JSON Schema, and the validation of arguments. */
import { z } from "zod";
import { isObject, type Json, type JsonObject, type JsonSchema, setOwn } from "../json.ts";
import { writePath } from "./issues.ts";
import { jsonObject, jsonValue } from "./json-value.ts";
import { schemaProblem } from "./schema-problem.ts";
import { embedSchema } from "./subschemas.ts";
import {
  isCheap,
  type SchemaCheck,
  type ValidateSchemas,
  validateInProcess,
} from "./validate-schema.ts";

const scalarTypes = ["string", "number", "integer", "boolean"] as const;

const parameterSchema = z.strictObject({
  name: z
    .string()
    .regex(
      /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/,
      "must start with a letter or _, followed by letters, digits, _, . or - (at most 64)",
    )
    .describe("The argument's name for agents and templates."),
  type: z
    .enum([...scalarTypes, "enum", "array", "object"])
    .default("string")
    .describe("The type of its value."),
  description: z.string().max(2000).default("").describe("Shown to agents."),
  optional: z.boolean().optional().describe("Whether it may be omitted."),
  required: z.boolean().optional().describe("Legacy: the opposite of `optional`."),
  default: jsonValue().optional().describe("Its value when it is omitted."),
  format: z
    .string()
    .max(50)
    .optional()
    .describe("The format of a string: date-time, email, uri and so on."),
  enum: z
    .array(z.union([z.string(), z.number()]))
    .min(1)
    .max(500)
    .optional()
    .describe("The values of an enum."),
  items: z
    .enum([...scalarTypes, "object"])
    .optional()
    .describe("The type of an array's items."),
  schema: jsonObject()
    .optional()
    .describe(
      "JSON Schema that replaces type, format, enum and items. `$ref` may point into it, such as `#/$defs/name`.",
    ),
});
export type Parameter = z.output<typeof parameterSchema>;

const parameterList = z.array(parameterSchema).max(100);

/** Reads the parameters of published flows, which may violate rules that were added later. */
export const readParameters = (published: unknown): Parameter[] => parameterList.parse(published);

export const parametersSchema = parameterList.superRefine((parameters, context) => {
  const names = parameters.map(({ name }) => name);
  for (const [index, parameter] of parameters.entries()) {
    const { name, type, enum: values, schema } = parameter;
    const addIssue = (path: keyof Parameter, message: string) =>
      context.addIssue({ code: "custom", path: [index, path], message });
    if (names.indexOf(name) !== index) addIssue("name", `duplicate parameter ${name}`);
    // An assignment to this property sets the prototype of the object.
    if (name === "__proto__") addIssue("name", "must not be __proto__: choose another name");
    if (type === "enum" && !values && !schema) addIssue("enum", "must list the values");
    const problem = schema && schemaProblem(schema);
    if (problem) addIssue("schema", problem);
    else {
      const check = defaultCheck(parameter);
      // A default whose validation could be slow is validated when a call uses it.
      const error = check && isCheap([check]) ? validateInProcess(check) : undefined;
      if (error) addIssue("default", error.message);
    }
  }
});

const defaultCheck = (parameter: Parameter): SchemaCheck | undefined =>
  parameter.default === undefined
    ? undefined
    : { schema: schemaOf(parameter), value: parameter.default };

const isOptional = ({ optional, required, default: fallback }: Parameter): boolean =>
  fallback !== undefined || (optional ?? required === false);

function schemaOf(parameter: Parameter): JsonSchema {
  const { type, description, format, enum: values, items, schema, default: fallback } = parameter;
  return {
    ...(schema ?? {
      // The values of an enum imply their types.
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

/** Returns the `inputSchema` of the MCP tool. */
export function inputSchema(parameters: readonly Parameter[]): InputSchema {
  const properties: JsonObject = {};
  for (const parameter of parameters)
    setOwn(
      properties,
      parameter.name,
      embedSchema(schemaOf(parameter), `/properties/${parameter.name}`),
    );
  const required = parameters.filter((parameter) => !isOptional(parameter)).map(({ name }) => name);
  return { type: "object", properties, required, additionalProperties: false };
}

type ArgumentError = { path: string; message: string };

export type CheckedArguments =
  | { ok: true; input: JsonObject }
  | { ok: false; errors: ArgumentError[] };

/** Validates the arguments of a call, and adds the defaults of omitted arguments. */
export async function checkArguments(
  parameters: readonly Parameter[],
  args: unknown,
  validate: ValidateSchemas,
): Promise<CheckedArguments> {
  if (args !== undefined && !isObject(args))
    return { ok: false, errors: [{ path: "arguments", message: "must be an object" }] };
  const input: JsonObject = {};
  const errors = new Map<string, ArgumentError>();
  const checks: (SchemaCheck & { name: string })[] = [];
  for (const parameter of parameters) {
    const { name } = parameter;
    const value: Json | undefined = args && Object.hasOwn(args, name) ? args[name] : undefined;
    const fallback = defaultCheck(parameter);
    if (value !== undefined) {
      checks.push({ name, schema: schemaOf(parameter), value });
      setOwn(input, name, value);
    } else if (fallback) {
      if (!isCheap([fallback])) checks.push({ name, ...fallback });
      setOwn(input, name, structuredClone(fallback.value));
    } else if (!isOptional(parameter)) errors.set(name, { path: name, message: "is missing" });
  }
  for (const [index, error] of (await validate(checks)).entries())
    if (error) {
      const name = checks[index]?.name ?? "";
      errors.set(name, { path: writePath([name, ...error.keys]), message: error.message });
    }
  const allErrors = [
    ...parameters.flatMap(({ name }) => errors.get(name) ?? []),
    ...unexpectedArguments(parameters, args ?? {}),
  ];
  return allErrors.length > 0 ? { ok: false, errors: allErrors } : { ok: true, input };
}

/** The maximum number of unexpected arguments that errors name. */
const MAX_NAMED = 10;

function unexpectedArguments(parameters: readonly Parameter[], args: JsonObject): ArgumentError[] {
  const names = new Set(parameters.map(({ name }) => name));
  const unexpected = Object.keys(args).filter((name) => !names.has(name));
  const expected =
    names.size > 0 ? `the tool has ${[...names].join(", ")}` : "the tool has no arguments";
  const errors = unexpected.slice(0, MAX_NAMED).map((name) => ({
    path: writePath([name.slice(0, 100)]),
    message: `unexpected argument; ${expected}`,
  }));
  const more = unexpected.length - errors.length;
  return more > 0
    ? [...errors, { path: "arguments", message: `${more} more unexpected arguments` }]
    : errors;
}
