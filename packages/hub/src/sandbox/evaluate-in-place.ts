import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import { evaluateSerialized } from "./evaluators.ts";
import type { JavaScriptHost } from "./run-javascript.ts";
import { throughJson } from "./serialize.ts";

/**
 * For a host without processes, such as a Durable Object: evaluates in the calling isolate, which a
 * slow expression blocks. `Code` keeps its CPU limit; JSONata has none here.
 */
export const createEvaluateInPlace =
  (host: JavaScriptHost): Evaluate =>
  async (evaluation, { signal }) => {
    signal.throwIfAborted();
    return throughJson(evaluation, (serialized) => evaluateSerialized(serialized, host));
  };
