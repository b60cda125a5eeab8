/**
 * Validates values against JSON Schemas (2020-12) with @cfworker/json-schema, which generates no
 * code. The schemas come from authors and from other servers, so a validation can be slow: a regular
 * expression may take exponential time. Only cheap validations (`isCheap`) run in this process; the others
 * run in the sandbox, which enforces a deadline.
 */
import { format, type Schema, Validator } from "@cfworker/json-schema";
import type { Json, JsonSchema } from "../json.ts";
import { type MaybeLarge, parseIfLarge } from "../large-json.ts";
import type { Evaluation, EvaluationResult } from "./evaluation.ts";
import { isDeeperThan } from "./model.ts";
import { describeErrors, type SchemaError } from "./schema-errors.ts";

export interface SchemaCheck {
  schema: JsonSchema;
  value: Json;
}

/** Returns an error or undefined for each check, in the same order. */
export type ValidateSchemas = (
  checks: readonly SchemaCheck[],
) => Promise<(SchemaError | undefined)[]>;

const MAX_DEPTH = 200;

// The library would find a format such as `constructor` on the prototype.
Object.setPrototypeOf(format, null);

export const createSchemaValidator =
  (
    evaluate: (evaluation: Evaluation) => Promise<EvaluationResult>,
    timeoutMs = 1000,
  ): ValidateSchemas =>
  async (checks) => {
    const errors = checks.map(depthError);
    const shallow = checks.filter((_, index) => errors[index] === undefined);
    const results = isCheap(shallow)
      ? shallow.map(validateInProcess)
      : await validateInSandbox(evaluate, shallow, timeoutMs);
    return errors.map((error) => error ?? results.shift());
  };

/** Returns the first error. Never throws, but can be slow: see `isCheap`. */
export function validateInProcess({ schema, value }: SchemaCheck): SchemaError | undefined {
  try {
    const { valid, errors } = new Validator(schema as Schema, "2020-12").validate(value);
    return valid ? undefined : describeErrors(schema, value, errors);
  } catch (error) {
    // The stack overflowed: the library is recursive, and spreads lists of errors into arguments. QuickJS
    // throws an InternalError.
    if (error instanceof RangeError || (error as Error).name === "InternalError")
      return {
        keys: [],
        isUnchecked: true,
        message:
          "cannot be validated: the value or its schema is too large, too deeply nested or endlessly recursive",
      };
    const [reason] = (error as Error).message.split("\n");
    const message = `cannot be validated: its schema is invalid: ${reason}`;
    return { keys: [], isUnchecked: true, message };
  }
}

/** Keywords whose cost can grow faster than the size of the schema times the size of the value. */
const COSTLY = /"(?:pattern|patternProperties|format|uniqueItems|unevaluated\w+|\$\w*[rR]ef)":/;

/** The worst case, where every part of the schema applies to every part of the value, takes about 10 ms. */
const MAX_CHEAP = 250_000;

/**
 * A check is cheap if its schema has no regular expression, format, reference, `uniqueItems` or
 * `unevaluated…`, and the product of the sizes of schema and value is small. The sum of the products
 * of all checks must be small too.
 */
export function isCheap(checks: readonly SchemaCheck[]): boolean {
  let work = 0;
  return checks.every(({ schema, value }) => {
    const text = JSON.stringify(schema);
    work += text.length * sizeUpTo(MAX_CHEAP, value);
    return work <= MAX_CHEAP && !COSTLY.test(text);
  });
}

/** Returns the approximate length as JSON. Stops counting above `max`, since values can be large. */
function sizeUpTo(max: number, value: Json): number {
  let size = 0;
  const pending = [value];
  for (let next = pending.pop(); next !== undefined && size <= max; next = pending.pop()) {
    size += typeof next === "string" ? next.length + 2 : 2;
    if (typeof next !== "object" || next === null) continue;
    for (const [key, inner] of Object.entries(next)) {
      size += key.length;
      pending.push(inner);
    }
  }
  return size;
}

function depthError({ schema, value }: SchemaCheck): SchemaError | undefined {
  if (isDeeperThan(MAX_DEPTH, value))
    return { keys: [], message: `must not be nested deeper than ${MAX_DEPTH} levels` };
  return isDeeperThan(MAX_DEPTH, schema)
    ? {
        keys: [],
        isUnchecked: true,
        message: `cannot be validated: its schema is nested deeper than ${MAX_DEPTH} levels`,
      }
    : undefined;
}

/**
 * Sends all checks in one message. If this message exceeds a limit, sends them one by one, each with its
 * share of the time, until one of them exceeds its limit. The checks after that one have no result.
 */
async function validateInSandbox(
  evaluate: (evaluation: Evaluation) => Promise<EvaluationResult>,
  checks: readonly SchemaCheck[],
  timeoutMs: number,
): Promise<(SchemaError | undefined)[]> {
  const run = (batch: readonly SchemaCheck[]) =>
    evaluate({
      job: "json-schema",
      timeoutMs: Math.ceil((timeoutMs * batch.length) / checks.length),
      data: batch as readonly object[] as Json[],
    });
  const batchResult = await run(checks);
  if ("output" in batchResult) return readErrors(batchResult.output);
  const errors: (SchemaError | undefined)[] = [];
  for (const check of checks) {
    const result = checks.length === 1 ? batchResult : await run([check]);
    if (!("output" in result)) {
      const message = `validation ${result.message}: shorten the value or simplify its schema`;
      return [...errors, { keys: [], isUnchecked: true, message }];
    }
    errors.push(...readErrors(result.output));
  }
  return errors;
}

const readErrors = (output: MaybeLarge): (SchemaError | undefined)[] =>
  (parseIfLarge(output) as unknown as (SchemaError | null)[]).map((error) => error ?? undefined);
