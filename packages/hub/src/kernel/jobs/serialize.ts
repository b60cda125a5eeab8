/** Serializes the requests and results of jobs: data and output are JSON text. */
import {
  dataTooLarge,
  type EvaluationResult,
  MAX_DATA_CHARACTERS,
  MAX_OUTPUT_DEPTH,
  outputTooDeep,
  type SerializedResult,
} from "@signalbox/rules/flows/evaluation.ts";
import { isDeeperThan } from "@signalbox/rules/flows/model.ts";
import { LargeJson, parseUnlessLarge, writeJson } from "@signalbox/rules/large-json.ts";
import type { JobRequest, SerializedRequest } from "./job.ts";

/**
 * Returns undefined if the data exceed the limit. It exists because parsing cannot be interrupted.
 */
function serialize({ data, ...request }: JobRequest): SerializedRequest | undefined {
  const serialized = data instanceof Uint8Array ? data : writeJson(data);
  return serialized.length > MAX_DATA_CHARACTERS ? undefined : { ...request, data: serialized };
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

/** Calls `run` with the serialized request, and deserializes its result. */
export async function runThroughJson(
  request: JobRequest,
  run: (serialized: SerializedRequest) => Promise<SerializedResult>,
): Promise<EvaluationResult> {
  const serialized = serialize(request);
  return serialized ? deserialize(await run(serialized)) : { log: [], ...dataTooLarge };
}
