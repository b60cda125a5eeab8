import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import { evaluateSerialized } from "./evaluators.ts";
import type { JavaScriptHost } from "./run-javascript.ts";
import { throughJson } from "./serialize.ts";

/**
 * Evaluates in the calling isolate, for hosts without processes, such as Durable Objects. A slow
 * expression blocks the isolate: `Code` has its CPU limit, but JSONata has no limit here.
 */
export const createEvaluateInProcess =
  (host: JavaScriptHost): Evaluate =>
  async (evaluation, { signal }) => {
    signal.throwIfAborted();
    return throughJson(evaluation, (serialized) => evaluateSerialized(serialized, host));
  };
