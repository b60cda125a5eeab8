/**
 * Values against JSON Schemas (2020-12, and what older drafts wrote otherwise) of strangers. All
 * that is looked at is counted, and a check that takes too much ends, in words: the product of a
 * schema and a value can be large. There is no `$ref`: schemas are written out.
 */
import { isObject, type Json, type JsonObject, type JsonSchema } from "../json.ts";
import { createEffort, type Effort, TooMuch } from "./effort.ts";
import { formatProblem } from "./formats.ts";
import { compilePattern, type Pattern } from "./linear-pattern.ts";
import { isMultipleOf } from "./multiple-of.ts";

interface SchemaError {
  /** Keys that lead to what does not fit. */
  keys: string[];
  message: string;
}

/** The first thing that does not fit, or undefined. Never throws. */
export type Check = (schema: JsonSchema, value: Json) => SchemaError | undefined;

export const checkAgainst: Check = (schema, value) => createCheck()(schema, value);

/** A tenth of a second or so, at the worst. */
const STEPS = 2_500_000;
/** A part of a value against a part of a schema. */
const STEPS_PER_VISIT = 10;
/** Of listing an object's members, which comes first: how many there are shows only then. */
const STEPS_PER_MEMBER = 3;
/** Of decimal numbers, in as many digits as their exponents ask for. */
const STEPS_PER_DIVISION = 50;
/** Of counting and copying texts. */
const LETTERS_PER_STEP = 4;
/** Longer ones have no hash but their length, and are compared with all others of that length. */
const HASHED_LENGTH = 16_000;
const LETTERS_PER_STEP_OF_EQUALS = 500;
const MESSAGE_LENGTH = 2000;

/** Words are made only of what is told in the end: lists of values can be long. */
interface Misfit {
  /** The innermost first. */
  keys: string[];
  words: () => string;
}
const misfit = (words: () => string): Misfit => ({ keys: [], words });
function below(key: string, inner: Misfit | undefined): Misfit | undefined {
  inner?.keys.push(key);
  return inner;
}

/** Of objects of schemas, which meet many values. */
const listed = new WeakMap<JsonObject, readonly string[]>();

class Broken extends Error {}

/** All that it checks may take so many steps together. */
export function createCheck(steps = STEPS, effort = createEffort(steps)): Check {
  const { spend } = effort;
  const patterns = new Map<string, Pattern>();
  const spendText = (length: number) => spend(STEPS_PER_VISIT + length / LETTERS_PER_STEP);

  function fits(source: unknown, text: string): boolean {
    if (typeof source !== "string") return true;
    let pattern = patterns.get(source);
    if (!pattern) {
      const compiled = compilePattern(source, effort);
      if ("problem" in compiled) throw new Broken(`its pattern ${compiled.problem}`);
      pattern = compiled.pattern;
      patterns.set(source, pattern);
    }
    return pattern.test(text, effort);
  }

  function keysOf(value: JsonObject): readonly string[] {
    const keys = Object.keys(value);
    spend(STEPS_PER_MEMBER * keys.length);
    return keys;
  }

  /** Lists what a schema has there once, not for each value. */
  function namesIn(part: Json | undefined): readonly string[] {
    if (!isObject(part)) return [];
    let names = listed.get(part);
    if (!names) {
      names = keysOf(part);
      listed.set(part, names);
    }
    return names;
  }

  /** `one` is the schema's. */
  function same(one: Json, other: Json): boolean {
    spend(1);
    if (Array.isArray(one))
      return (
        Array.isArray(other) &&
        one.length === other.length &&
        one.every((item, nth) => same(item, other[nth] as Json))
      );
    if (typeof one === "string" && typeof other === "string" && one.length === other.length)
      spend(one.length / LETTERS_PER_STEP_OF_EQUALS);
    if (!isObject(one)) return one === other;
    if (!isObject(other)) return false;
    const names = namesIn(one);
    return (
      names.every(
        (name) => Object.hasOwn(other, name) && same(one[name] as Json, other[name] as Json),
      ) && names.length === keysOf(other).length
    );
  }

  /** The same text for the same value, whatever the order of its members. */
  function canonical(value: Json): string {
    const text = Array.isArray(value)
      ? `[${value.map(canonical).join(",")}]`
      : isObject(value)
        ? `{${[...keysOf(value)]
            .sort()
            .map((key) => `${JSON.stringify(key)}:${canonical(value[key] as Json)}`)
            .join(",")}}`
        : JSON.stringify(value);
    spendText(text.length);
    return text;
  }

  /** `seen` takes in the members that the schema has something to say of, for `unevaluated…`. */
  function visit(schema: Json, value: Json, seen?: Set<string>): Misfit | undefined {
    spend(STEPS_PER_VISIT);
    if (schema === true) return undefined;
    if (schema === false) return misfit(() => "is not known here");
    if (!isObject(schema)) throw new Broken("a schema must be an object, true or false");
    if ("$ref" in schema || "$dynamicRef" in schema || "$recursiveRef" in schema)
      throw new Broken("it must not use $ref");
    const asks =
      schema.unevaluatedProperties !== undefined || schema.unevaluatedItems !== undefined;
    const told = seen ?? (asks ? new Set<string>() : undefined);
    return (
      checkType(schema, value) ??
      checkValues(schema, value) ??
      checkParts(schema, value, told) ??
      (typeof value === "string"
        ? checkText(schema, value)
        : typeof value === "number"
          ? checkNumber(schema, value, effort)
          : Array.isArray(value)
            ? checkList(schema, value, told)
            : isObject(value)
              ? checkObject(schema, value, told)
              : undefined)
    );
  }

  function checkType({ type }: JsonObject, value: Json): Misfit | undefined {
    if (type === undefined) return undefined;
    const types = Array.isArray(type) ? type : [type];
    spend(types.length);
    const is = typeOf(value);
    if (types.includes(is) || (types.includes("integer") && Number.isInteger(value)))
      return undefined;
    return misfit(() => `must be ${types.join(" or ")}, but is ${is}`);
  }

  function checkValues(schema: JsonObject, value: Json): Misfit | undefined {
    const { const: only, enum: values } = schema;
    if (only !== undefined && !same(only, value))
      return misfit(() => shorten(`must be ${JSON.stringify(only)}`));
    if (Array.isArray(values) && !values.some((one) => same(one, value)))
      return misfit(() =>
        shorten(`must be one of ${values.map((one) => JSON.stringify(one)).join(", ")}`),
      );
    return undefined;
  }

  /** Schemas of the same value. What one that does not fit has seen does not count. */
  function checkParts(schema: JsonObject, value: Json, seen?: Set<string>): Misfit | undefined {
    const tell = (part: Json): Misfit | undefined => {
      const told = seen && new Set<string>();
      const inner = visit(part, value, told);
      if (!inner && told && seen) {
        spend(STEPS_PER_MEMBER * told.size);
        for (const key of told) seen.add(key);
      }
      return inner;
    };
    const { allOf, anyOf, oneOf, not, if: condition, dependentSchemas, dependencies } = schema;
    for (const part of listOf(allOf)) {
      const inner = tell(part);
      if (inner) return inner;
    }
    if (Array.isArray(anyOf)) {
      const inner = anyOf.map(tell);
      if (inner.every((one) => one !== undefined)) return noneOf(inner, effort);
    }
    if (Array.isArray(oneOf)) {
      const inner = oneOf.map(tell);
      const fitting = inner.filter((one) => one === undefined).length;
      if (fitting === 0) return noneOf(inner as Misfit[], effort);
      if (fitting > 1) return misfit(() => `fits ${fitting} of the schemas in oneOf, not one`);
    }
    if (not !== undefined && !visit(not, value))
      return misfit(() => "must not fit the schema in not");
    if (condition !== undefined) {
      const inner = tell(tell(condition) ? (schema.else ?? true) : (schema.then ?? true));
      if (inner) return inner;
    }
    if (!isObject(value)) return undefined;
    for (const dependent of [dependentSchemas, dependencies])
      for (const name of namesIn(dependent)) {
        spend(1);
        if (!Object.hasOwn(value, name)) continue;
        const part = (dependent as JsonObject)[name] as Json;
        const inner = Array.isArray(part) ? undefined : tell(part);
        if (inner) return inner;
      }
    return undefined;
  }

  function checkText(schema: JsonObject, text: string): Misfit | undefined {
    const { minLength, maxLength, pattern, format } = schema;
    if (isNumber(minLength) || isNumber(maxLength)) {
      spendText(text.length);
      let length = 0;
      for (const _ of text) length++;
      const wrong = bounds(length, minLength, maxLength, "character");
      if (wrong) return wrong;
    }
    if (!fits(pattern, text)) return misfit(() => `must fit the pattern ${pattern}`);
    const problem = typeof format === "string" ? formatProblem(format, text, effort) : undefined;
    return problem === undefined ? undefined : misfit(() => problem);
  }

  function checkList(schema: JsonObject, list: Json[], seen?: Set<string>): Misfit | undefined {
    const { minItems, maxItems, uniqueItems, contains, unevaluatedItems } = schema;
    const wrong = bounds(list.length, minItems, maxItems, "item");
    if (wrong) return wrong;
    // Older drafts call the first ones `items`, and the others `additionalItems`.
    const isOld = Array.isArray(schema.items);
    const first = listOf(isOld ? schema.items : schema.prefixItems);
    const others = isOld ? schema.additionalItems : schema.items;
    for (const [nth, item] of list.entries()) {
      const part = nth < first.length ? first[nth] : others;
      if (part === undefined) break;
      const inner = below(String(nth), visit(part, item));
      if (inner) return inner;
      seen?.add(String(nth));
    }
    if (contains !== undefined) {
      let found = 0;
      for (const [nth, item] of list.entries())
        if (!visit(contains, item)) {
          found++;
          seen?.add(String(nth));
        }
      const { minContains = 1, maxContains } = schema;
      const inner = bounds(found, minContains, maxContains, "item");
      if (inner) return misfit(() => `${inner.words()} that fit the schema in contains`);
    }
    if (unevaluatedItems !== undefined)
      for (const [nth, item] of list.entries()) {
        if (seen?.has(String(nth))) continue;
        const inner = below(String(nth), visit(unevaluatedItems, item));
        if (inner) return inner;
        seen?.add(String(nth));
      }
    if (uniqueItems !== true) return undefined;
    const known = new Map<string, number>();
    let long = 0;
    for (const [nth, item] of list.entries()) {
      const text = canonical(item);
      if (text.length > HASHED_LENGTH) spend((long++ * text.length) / LETTERS_PER_STEP_OF_EQUALS);
      const before = known.get(text);
      if (before !== undefined)
        return misfit(() => `must not hold the same item twice, as at ${before} and ${nth}`);
      known.set(text, nth);
    }
    return undefined;
  }

  function checkObject(
    schema: JsonObject,
    value: JsonObject,
    seen?: Set<string>,
  ): Misfit | undefined {
    const { required, minProperties, maxProperties, propertyNames } = schema;
    const lacks = (names: Json | undefined): Misfit | undefined => {
      for (const name of listOf(names)) {
        spend(1);
        if (typeof name === "string" && !Object.hasOwn(value, name))
          return misfit(() => `lacks ${name}`);
      }
      return undefined;
    };
    const missing = lacks(required);
    if (missing) return missing;
    for (const dependent of [schema.dependentRequired, schema.dependencies])
      for (const name of namesIn(dependent)) {
        spend(1);
        const inner = Object.hasOwn(value, name)
          ? lacks((dependent as JsonObject)[name])
          : undefined;
        if (inner) return inner;
      }
    const keys = keysOf(value);
    const wrong = bounds(keys.length, minProperties, maxProperties, "member");
    if (wrong) return wrong;
    const properties = isObject(schema.properties) ? schema.properties : {};
    const { patternProperties } = schema;
    const sources = namesIn(patternProperties);
    for (const key of keys) {
      spend(1);
      const parts: Json[] = Object.hasOwn(properties, key) ? [properties[key] as Json] : [];
      for (const source of sources)
        if (fits(source, key)) parts.push((patternProperties as JsonObject)[source] as Json);
      if (parts.length === 0 && schema.additionalProperties !== undefined)
        parts.push(schema.additionalProperties);
      if (parts.length > 0) seen?.add(key);
      else if (schema.unevaluatedProperties !== undefined && !seen?.has(key))
        parts.push(schema.unevaluatedProperties);
      const name = propertyNames === undefined ? undefined : visit(propertyNames, key);
      if (name)
        return below(
          key,
          misfit(() => `as a name ${name.words()}`),
        );
      for (const part of parts) {
        const inner = below(key, visit(part, value[key] as Json));
        if (inner) return inner;
      }
      if (schema.unevaluatedProperties !== undefined) seen?.add(key);
    }
    return undefined;
  }

  return (schema, value) => {
    try {
      const found = visit(schema, value);
      return found && { keys: found.keys.reverse(), message: shorten(found.words()) };
    } catch (error) {
      if (error instanceof Broken)
        return { keys: [], message: `cannot be checked, its schema is broken: ${error.message}` };
      if (error instanceof TooMuch)
        return {
          keys: [],
          message: "is too much to check: make it shorter, or its schema simpler",
        };
      if (error instanceof RangeError)
        return { keys: [], message: "is nested too deep to be checked" };
      throw error;
    }
  };
}

const isNumber = (value: Json | undefined): value is number => typeof value === "number";
const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);
const shorten = (words: string): string =>
  words.length > MESSAGE_LENGTH ? `${words.slice(0, MESSAGE_LENGTH)}…` : words;

function typeOf(value: Json): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** What lies deepest says most; of several, all that they say. */
function noneOf(inner: readonly Misfit[], effort: Effort): Misfit {
  const depth = Math.max(0, ...inner.map(({ keys }) => keys.length));
  const deepest = inner.filter(({ keys }) => keys.length === depth);
  const [first] = deepest;
  if (!first) return misfit(() => "must fit a schema, but there is none to fit");
  effort.spend(depth * deepest.length);
  const along = deepest.filter(({ keys }) => keys.every((key, nth) => key === first.keys[nth]));
  return {
    keys: first.keys,
    words: () => shorten([...new Set(along.map(({ words }) => words()))].join(", or ")),
  };
}

function bounds(
  amount: number,
  least: Json | undefined,
  most: Json | undefined,
  unit: string,
): Misfit | undefined {
  const say = (word: string, limit: number) =>
    misfit(
      () => `must have at ${word} ${limit} ${unit}${limit === 1 ? "" : "s"}, but has ${amount}`,
    );
  if (isNumber(least) && amount < least) return say("least", least);
  if (isNumber(most) && amount > most) return say("most", most);
  return undefined;
}

function checkNumber(schema: JsonObject, value: number, effort: Effort): Misfit | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const say = (rule: string) => misfit(() => `must be ${rule}, but is ${value}`);
  if (isNumber(minimum) && value < minimum) return say(`at least ${minimum}`);
  if (isNumber(maximum) && value > maximum) return say(`at most ${maximum}`);
  if (isNumber(exclusiveMinimum) && value <= exclusiveMinimum)
    return say(`more than ${exclusiveMinimum}`);
  if (isNumber(exclusiveMaximum) && value >= exclusiveMaximum)
    return say(`less than ${exclusiveMaximum}`);
  if (!isNumber(multipleOf)) return undefined;
  effort.spend(STEPS_PER_DIVISION);
  return isMultipleOf(value, multipleOf) ? undefined : say(`a multiple of ${multipleOf}`);
}
