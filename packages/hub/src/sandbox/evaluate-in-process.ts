import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import { evaluateSerialized } from "./evaluators.ts";
import type { JavaScriptHost } from "./run-javascript.ts";
import { evaluateThroughJson } from "./serialize.ts";

/**
 * Evaluates in the calling isolate, for hosts without processes, such as Durable Objects. The clock does
 * not advance there during a computation, so the number of steps limits `Code` and JSONata
 * (`stepsPerMs`). Nothing limits regular expressions and JSON schemas: they block the isolate until
 * the host ends it.
 */
export const createEvaluateInProcess =
  (host: JavaScriptHost): Evaluate =>
  async (evaluation, { signal }) => {
    signal.throwIfAborted();
    return evaluateThroughJson(evaluation, (serialized) => evaluateSerialized(serialized, host));
  };
