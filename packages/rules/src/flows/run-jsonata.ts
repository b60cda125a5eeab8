/** Evaluates the expression of a `Transform` node. Runs inside an evaluator, which enforces the deadline. */
import type { Json } from "../json.ts";
import { evaluateExpression, isJsonataFunction } from "../match/expression.ts";
import { MAX_OUTPUT_CHARACTERS, outputTooLarge, type SerializedResult } from "./evaluation.ts";

export async function runJsonata(expression: string, data: Json): Promise<SerializedResult> {
  const result = await evaluateExpression(expression, data);
  if ("problem" in result) return failed(result.problem);
  try {
    // An expression that selects nothing evaluates to undefined.
    const output = JSON.stringify(result.value ?? null, (_, value: unknown) => {
      if (isJsonataFunction(value))
        throw new Error("returns a function, which JSON cannot represent");
      return value;
    });
    return output.length > MAX_OUTPUT_CHARACTERS
      ? { log: [], ...outputTooLarge }
      : { log: [], output };
  } catch (error) {
    return failed((error as Error).message);
  }
}

const failed = (message: string): SerializedResult => ({ log: [], error: "code_failed", message });
