/**
 * Checks the lengths of arrays before Zod validates the value. Zod validates every element of an
 * array before it checks the array's length, and reports a problem for each invalid element.
 */
import { writePath } from "@signalbox/rules/flows/issues.ts";
import type { z } from "zod";
import { MAX_ITEMS } from "./limits.ts";
import { RequestError } from "./request-error.ts";

type Schema = z.core.$ZodType;
type Definition = z.core.$ZodTypes["_zod"]["def"];

/** Throws a `RequestError` that names the first array that is too long. */
export function assertLengths(
  schema: Schema,
  value: unknown,
  keys: readonly PropertyKey[] = [],
): void {
  if (typeof value !== "object" || value === null) return;
  const def = schema._zod.def as Definition;
  switch (def.type) {
    case "array":
      if (Array.isArray(value)) assertLengthsOfArray(schema, def.element, value, keys);
      return;
    case "object":
      for (const [name, field] of Object.entries(def.shape))
        assertLengths(field, (value as Record<string, unknown>)[name], [...keys, name]);
      return;
    case "record":
      for (const [name, member] of Object.entries(value))
        assertLengths(def.valueType, member, [...keys, name]);
      return;
    case "optional":
    case "nullable":
    case "default":
    case "prefault":
    case "nonoptional":
    case "readonly":
    case "catch":
      assertLengths(def.innerType, value, keys);
      return;
    case "pipe":
      assertLengths(def.in, value, keys);
      return;
    case "union":
      assertLengthsOfUnion(def.options, value, keys);
  }
}

/** Throws the first error if the arrays are too long for every option that accepts the value's type. */
function assertLengthsOfUnion(
  options: readonly Schema[],
  value: object,
  keys: readonly PropertyKey[],
): void {
  const types = Array.isArray(value) ? ["array"] : ["object", "record"];
  let firstError: unknown;
  for (const option of options) {
    if (!types.includes(option._zod.def.type)) continue;
    try {
      assertLengths(option, value, keys);
      return;
    } catch (error) {
      firstError ??= error;
    }
  }
  if (firstError) throw firstError;
}

function assertLengthsOfArray(
  schema: Schema,
  element: Schema,
  items: readonly unknown[],
  keys: readonly PropertyKey[],
): void {
  const maximum = maxLengthOf(schema);
  if (items.length > maximum)
    throw new RequestError(
      "invalid",
      keys.length === 0 ? "body" : writePath(keys),
      `must have at most ${maximum} items, but has ${items.length}`,
    );
  for (const [index, item] of items.entries()) assertLengths(element, item, [...keys, index]);
}

function maxLengthOf({ _zod: { def } }: Schema): number {
  const limits = (def.checks ?? []).flatMap((check) => {
    const { check: checkType, maximum } = check._zod.def as z.core.$ZodCheckMaxLengthDef;
    return checkType === "max_length" ? [maximum] : [];
  });
  return limits.length === 0 ? MAX_ITEMS : Math.min(...limits);
}
