/** JSON Schema of others: checked when it is saved, and values checked against it. */
import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/server/validators/cf-worker";
import { isObject, type Json, type JsonObject, type JsonSchema } from "../lib/json.ts";
import { writePath } from "./issues.ts";

export interface SchemaError {
  /** Keys that lead to what does not fit. */
  keys: string[];
  message: string;
}

// Interprets schemas: Workers and strict pages do not allow code to be made.
const validators = new CfWorkerJsonSchemaValidator({ draft: "2020-12" });

/** The innermost thing that does not fit, or undefined. Never throws. */
export function checkAgainst(schema: JsonSchema, value: Json): SchemaError | undefined {
  try {
    const { errorMessage } = validators.getValidator(schema)(value);
    return errorMessage === undefined ? undefined : readError(errorMessage);
  } catch (error) {
    return { keys: [], message: `its schema is broken: ${(error as Error).message}` };
  }
}

/** From "#: Items did not match schema.; #/1: Instance type …": each part says more than the last. */
function readError(chain: string): SchemaError {
  const last = chain.slice(chain.lastIndexOf("; #") + 1).trim();
  const [, pointer = "", message = last] = /^#((?:\/[^:]*)?): (.*)$/s.exec(last) ?? [];
  const keys = pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  return { keys, message: inOurWords(message) };
}

const WORDS: readonly [RegExp, (...found: string[]) => string][] = [
  [
    /^Instance type "(.+)" is invalid\. Expected "(.+)"\.$/,
    (is, must) => `must be ${must}, but is ${is}`,
  ],
  [
    /^Instance does not match any of \[(.*)\]\.$/s,
    (list) => `must be one of ${list?.replaceAll('","', '", "')}`,
  ],
  [/^Instance does not have required property "(.*)"\.$/s, (name) => `lacks ${name}`],
  [/^String does not match format "(.*)"\.$/, (format) => `must be as the format ${format} has it`],
  [/^False boolean schema\.$/, () => "is not known here"],
];

function inOurWords(message: string): string {
  for (const [pattern, words] of WORDS) {
    const found = pattern.exec(message);
    if (found) return words(...found.slice(1));
  }
  return message.replace(/\.$/, "");
}

/** What is wrong with a schema that somebody wrote, or undefined. */
export function schemaProblem(schema: Json): string | undefined {
  if (!isObject(schema)) return "must be a JSON Schema as an object";
  for (const [keys, part] of partsOf(schema)) {
    const at = writePath(keys);
    // It is put into a larger one, where references would lead elsewhere.
    if ("$ref" in part || "$dynamicRef" in part || "$id" in part)
      return `${at}: must not use $ref or $id; write the schema out`;
    if (typeof part.pattern === "string" && !isPattern(part.pattern))
      return `${at}: pattern is not a regular expression`;
    if (typeof part.type === "string" && !TYPES.includes(part.type))
      return `${at}: type must be one of ${TYPES.join(", ")}`;
  }
  return undefined;
}

const TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"];

/** Names of properties are no keywords, and examples no schemas. */
function* partsOf(schema: JsonObject): Generator<[string[], JsonObject]> {
  const waiting: [string[], Json][] = [[[], schema]];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [keys, part] = next;
    if (Array.isArray(part)) waiting.push(...part.map((one): [string[], Json] => [keys, one]));
    if (!isObject(part)) continue;
    yield [keys, part];
    for (const [name, value] of Object.entries(part)) {
      if (["const", "enum", "default", "examples"].includes(name)) continue;
      const named = ["properties", "patternProperties", "$defs", "dependentSchemas"].includes(name);
      if (named && isObject(value))
        waiting.push(
          ...Object.entries(value).map(([k, v]): [string[], Json] => [[...keys, name, k], v]),
        );
      else waiting.push([[...keys, name], value]);
    }
  }
}

function isPattern(source: string): boolean {
  try {
    new RegExp(source, "u");
    return true;
  } catch {
    return false;
  }
}
