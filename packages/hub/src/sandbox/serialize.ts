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
import type { Json } from "@signalbox/rules/json.ts";

/** Undefined if the data exceeds the limit, which exists because parsing cannot be interrupted. */
function serialize({ data, ...program }: Evaluation): SerializedEvaluation | undefined {
  const text = JSON.stringify(data);
  return text.length > MAX_DATA_CHARACTERS ? undefined : { ...program, data: text };
}

function deserialize(result: SerializedResult): EvaluationResult {
  if ("error" in result) return result;
  const output = JSON.parse(result.output) as Json;
  return isDeeperThan(MAX_OUTPUT_DEPTH, output)
    ? { log: result.log, ...outputTooDeep }
    : { log: result.log, output };
}

/** Calls `evaluate` with the serialized evaluation, and deserializes its result. */
export async function throughJson(
  evaluation: Evaluation,
  evaluate: (serialized: SerializedEvaluation) => Promise<SerializedResult>,
): Promise<EvaluationResult> {
  const serialized = serialize(evaluation);
  return serialized ? deserialize(await evaluate(serialized)) : { log: [], ...dataTooLarge };
}
