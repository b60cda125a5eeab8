import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import { evaluateThroughJson } from "../../kernel/jobs/serialize.ts";
import { type EvaluatorHost, evaluateSerialized } from "./evaluators.ts";

/**
 * Evaluates in the calling isolate, for hosts without processes, such as Durable Objects. The clock does
 * not advance there during a computation, so steps limit everything that authors write: `Code`, and
 * with `runIsolated`, expressions and schemas.
 */
export const createEvaluateInProcess =
  (host: EvaluatorHost): Evaluate =>
  async (evaluation, { signal }) => {
    signal.throwIfAborted();
    return evaluateThroughJson(evaluation, (serialized) => evaluateSerialized(serialized, host));
  };
