/**
 * Reduces the errors of @cfworker/json-schema to one readable message, which names the value that does
 * not match and the rule. For each keyword that failed, the library reports its location in the schema
 * and in the value. Errors of keywords that only contain other schemas are skipped.
 */
import type { OutputUnit } from "@cfworker/json-schema";
import { isObject, type Json, type JsonObject, type JsonSchema } from "../json.ts";
import { nameType } from "./type-names.ts";

export interface SchemaError {
  /** The path to the part of the value that does not match. */
  keys: (string | number)[];
  message: string;
  /** The value was not validated, because of its schema or a limit. */
  isUnchecked?: boolean;
}

const MAX_MESSAGE_LENGTH = 2000;

const CONTAINERS: ReadonlySet<string> = new Set([
  "$ref",
  "$recursiveRef",
  "additionalItems",
  "additionalProperties",
  "allOf",
  "dependentSchemas",
  "if",
  "items",
  "patternProperties",
  "prefixItems",
  "properties",
  "propertyNames",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

export function describeErrors(
  schema: JsonSchema,
  value: Json,
  errors: readonly OutputUnit[],
): SchemaError {
  const describe = (error: OutputUnit): SchemaError => describeError(schema, value, error);
  const firstIndex = errors.findIndex((error, index) => isLeaf(schema, error, errors[index + 1]));
  const first = errors[firstIndex];
  if (!first) return { keys: [], message: "does not match its schema" };
  const branches = hasNoMatchingBranch(first) ? branchErrors(schema, errors, firstIndex) : [];
  const depth = Math.max(0, ...branches.map(depthOf));
  const deepest = branches.filter((error) => depthOf(error) === depth);
  const [chosen] = deepest;
  if (!chosen) return truncate(describe(first));
  // The branch with the deepest error is most likely the intended one.
  const messages = deepest
    .filter(({ instanceLocation }) => instanceLocation === chosen.instanceLocation)
    .map((error) => describe(error).message);
  return truncate({
    keys: describe(chosen).keys,
    message: [...new Set(messages)].join(", or "),
  });
}

const truncate = ({ keys, message }: SchemaError): SchemaError => ({
  keys,
  message:
    message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH)}…` : message,
});

const matchCount = ({ error }: OutputUnit): number => Number(/\((\d+) matches\)/.exec(error)?.[1]);

/** Whether the error is that no branch of an `anyOf` or `oneOf` matched. The branches' errors follow it. */
const hasNoMatchingBranch = (error: OutputUnit): boolean =>
  error.keyword === "anyOf" || (error.keyword === "oneOf" && matchCount(error) === 0);

/** Whether the error describes the problem itself, not only that an inner schema failed. */
function isLeaf(schema: JsonSchema, error: OutputUnit, next: OutputUnit | undefined): boolean {
  const { keyword, keywordLocation } = error;
  if (CONTAINERS.has(keyword)) return false;
  // The value of a dependency is either a list of names, or a schema whose errors follow.
  if (keyword === "dependencies" && next?.keywordLocation.startsWith(`${keywordLocation}/`))
    return false;
  // `contains` fails as a whole: the errors of single items do not matter.
  return !locateKeyword(schema, error)?.path.includes("contains");
}

function branchErrors(
  schema: JsonSchema,
  errors: readonly OutputUnit[],
  unionIndex: number,
): readonly OutputUnit[] {
  const prefix = `${errors[unionIndex]?.keywordLocation}/`;
  const isBranch = ({ keyword, keywordLocation }: OutputUnit) =>
    // The library reports no schema location for the schema `false`.
    keyword === "false" || keywordLocation.startsWith(prefix);
  const leaves: OutputUnit[] = [];
  for (let index = unionIndex + 1; index < errors.length; index++) {
    const error = errors[index] as OutputUnit;
    if (!isBranch(error)) break;
    if (!hasNoMatchingBranch(error) && isLeaf(schema, error, errors[index + 1])) leaves.push(error);
  }
  return leaves;
}

const segments = (pointer: string): string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((text) => decodePercent(text).replaceAll("~1", "/").replaceAll("~0", "~"));

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const depthOf = ({ instanceLocation }: OutputUnit): number => instanceLocation.split("/").length;

export function resolvePointer(root: Json, pointer: string): Json | undefined {
  let value: Json | undefined = root;
  for (const key of segments(pointer)) value = memberOf(value, key);
  return value;
}

function memberOf(value: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(value)) return value[Number(key)];
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Keywords whose values are objects of schemas by name. */
const NAMED: ReadonlySet<string> = new Set([
  "dependencies",
  "dependentSchemas",
  "patternProperties",
  "properties",
]);

interface KeywordLocation {
  /** The schema object that contains the keyword. */
  schema: JsonObject;
  /** The keywords that lead to this schema object. */
  path: string[];
}

function locateKeyword(root: JsonSchema, error: OutputUnit): KeywordLocation | undefined {
  if (error.keyword === "false") return undefined;
  const keys = segments(error.keywordLocation).slice(0, -1);
  const path: string[] = [];
  let schema: Json | undefined = root;
  for (let index = 0; index < keys.length; index++) {
    const keyword = keys[index] as string;
    const inner: Json | undefined = memberOf(schema, keyword);
    path.push(keyword);
    if (keyword === "$ref") schema = resolvePointer(root, String(inner));
    else if (NAMED.has(keyword) || Array.isArray(inner))
      schema = memberOf(inner, keys[++index] ?? "");
    else schema = inner;
  }
  return isObject(schema) ? { schema, path } : undefined;
}

function describeError(root: JsonSchema, value: Json, error: OutputUnit): SchemaError {
  const keys: (string | number)[] = [];
  let part: Json | undefined = value;
  for (const key of segments(error.instanceLocation)) {
    keys.push(Array.isArray(part) ? Number(key) : key);
    part = memberOf(part, key);
  }
  if (error.keyword === "false") return { keys, message: describeUnexpected(keys.at(-1)) };
  const location = locateKeyword(root, error);
  if (!location || part === undefined) return { keys, message: error.error };
  const isName = location.path.includes("propertyNames");
  const message = describeRule(error, location.schema, isName ? String(keys.at(-1)) : part);
  return { keys, message: isName ? `property name ${message}` : message };
}

const describeUnexpected = (key: string | number | undefined): string =>
  key === undefined
    ? "no value is allowed"
    : `unexpected ${typeof key === "number" ? "item" : "property"}`;

function describeRule(error: OutputUnit, schema: JsonObject, value: Json): string {
  const { keyword } = error;
  const rule = schema[keyword] as Json;
  const actual = isObject(value) ? Object.keys(value).length : lengthOf(value);
  switch (keyword) {
    case "type":
      return `must be ${[rule].flat().map(nameType).join(" or ")}, but is ${nameType(typeOf(value))}`;
    case "const":
      return `must be ${JSON.stringify(rule)}`;
    case "enum":
      return `must be one of ${(rule as Json[]).map((allowed) => JSON.stringify(allowed)).join(", ")}`;
    case "required":
      return `missing required property ${JSON.stringify(firstMissing(rule, value))}`;
    case "dependentRequired":
    case "dependencies":
      return describeDependency(rule as JsonObject, value);
    case "minLength":
      return `must have at least ${count(rule, "character")}, but has ${actual}`;
    case "maxLength":
      return `must have at most ${count(rule, "character")}, but has ${actual}`;
    case "minItems":
      return `must have at least ${count(rule, "item")}, but has ${actual}`;
    case "maxItems":
      return `must have at most ${count(rule, "item")}, but has ${actual}`;
    case "minProperties":
      return `must have at least ${count(rule, "property")}, but has ${actual}`;
    case "maxProperties":
      return `must have at most ${count(rule, "property")}, but has ${actual}`;
    case "minimum":
      return `must be at least ${rule}, but is ${value}`;
    case "maximum":
      return `must be at most ${rule}, but is ${value}`;
    case "exclusiveMinimum":
      return `must be more than ${rule}, but is ${value}`;
    case "exclusiveMaximum":
      return `must be less than ${rule}, but is ${value}`;
    case "multipleOf":
      return `must be a multiple of ${rule}, but is ${value}`;
    case "pattern":
      return `must match the pattern ${rule}`;
    case "format":
      return `must match the format ${rule}`;
    case "uniqueItems": {
      const [, first, second] = /indexes (\d+) and (\d+)/.exec(error.error) ?? [];
      return `must not contain duplicates: items ${first} and ${second} are equal`;
    }
    case "contains":
      return "must contain an item that matches the schema in contains";
    case "minContains":
      return `must contain at least ${count(rule, "item")} that match the schema in contains`;
    case "maxContains":
      return `must contain at most ${count(rule, "item")} that match the schema in contains`;
    case "not":
      return "must not match the schema in not";
    case "oneOf":
      return `matches ${matchCount(error)} of the schemas in oneOf, but must match exactly one`;
    case "anyOf":
      return "must match one of the schemas in anyOf";
    default:
      return error.error;
  }
}

function typeOf(value: Json): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

const lengthOf = (value: Json): number =>
  Array.isArray(value) ? value.length : [...String(value)].length;

function count(limit: Json, unit: "character" | "item" | "property"): string {
  const plural = unit === "property" ? "properties" : `${unit}s`;
  return `${limit} ${limit === 1 ? unit : plural}`;
}

const firstMissing = (names: Json, value: Json): Json | undefined =>
  (names as Json[]).find((name) => isObject(value) && !Object.hasOwn(value, String(name)));

function describeDependency(dependencies: JsonObject, value: Json): string {
  for (const [name, names] of Object.entries(dependencies)) {
    if (!Array.isArray(names) || !isObject(value) || !Object.hasOwn(value, name)) continue;
    const missing = firstMissing(names, value);
    if (missing !== undefined)
      return `missing property ${JSON.stringify(missing)}, which ${JSON.stringify(name)} requires`;
  }
  return "does not match the schema in dependencies";
}
