/** Serializes evaluations and results for the sandbox: data and output are JSON text. */
import {
  dataTooLarge,
  type Evaluation,
  type EvaluationResult,
  MAX_DATA_CHARACTERS,
  MAX_OUTPUT_DEPTH,
  outputTooDeep,
  type SerializedEvaluation,
  type SerializedResult,
} from "@signalbox/rules/flows/evaluation.ts";
import { isDeeperThan } from "@signalbox/rules/flows/model.ts";
import { LargeJson, parseUnlessLarge, writeJson } from "@signalbox/rules/large-json.ts";

/**
 * Returns undefined if the data exceed the limit. It exists because parsing cannot be interrupted.
 */
function serialize({ data, ...program }: Evaluation): SerializedEvaluation | undefined {
  const serialized = data instanceof Uint8Array ? data : writeJson(data);
  return serialized.length > MAX_DATA_CHARACTERS ? undefined : { ...program, data: serialized };
}

function deserialize(result: SerializedResult): EvaluationResult {
  if ("error" in result) return result;
  const { log, parts } = result;
  const output = parseUnlessLarge(result.output);
  // The worker has checked the depth of a large output.
  if (!(output instanceof LargeJson) && isDeeperThan(MAX_OUTPUT_DEPTH, output))
    return { log, ...outputTooDeep };
  if (!parts) return { log, output };
  return { log, output, parts: parts.map((part) => part && parseUnlessLarge(part)) };
}

/** Calls `evaluate` with the serialized evaluation, and deserializes its result. */
export async function evaluateThroughJson(
  evaluation: Evaluation,
  evaluate: (serialized: SerializedEvaluation) => Promise<SerializedResult>,
): Promise<EvaluationResult> {
  const serialized = serialize(evaluation);
  return serialized ? deserialize(await evaluate(serialized)) : { log: [], ...dataTooLarge };
}
