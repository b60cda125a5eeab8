import type { SpelledEvaluated, SpelledEvaluation } from "@signalbox/rules/flows/evaluation.ts";
import { runJsonata } from "@signalbox/rules/flows/run-jsonata.ts";
import { type JavaScriptHost, runJavaScript } from "./run-javascript.ts";

/** In this thread, which has to be one that nobody waits for: see hosts/node/sandbox.ts. */
export const evaluateHere = (
  evaluation: SpelledEvaluation,
  host: JavaScriptHost,
): Promise<SpelledEvaluated> =>
  evaluation.language === "jsonata" ? runJsonata(evaluation) : runJavaScript(evaluation, host);
