import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import { evaluateSerialized } from "./evaluators.ts";
import type { JavaScriptHost } from "./run-javascript.ts";
import { throughJson } from "./serialize.ts";

/**
 * Evaluates in the calling isolate, for hosts without processes, such as Durable Objects. The clock does
 * not advance there during a computation, so `Code` and JSONata (`stepsPerMs`) are limited by their
 * steps. Regular expressions and JSON schemas are not: they block the isolate until the host ends it.
 */
export const createEvaluateInProcess =
  (host: JavaScriptHost): Evaluate =>
  async (evaluation, { signal }) => {
    signal.throwIfAborted();
    return throughJson(evaluation, (serialized) => evaluateSerialized(serialized, host));
  };
