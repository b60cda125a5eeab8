import type { SpelledEvaluated, SpelledEvaluation } from "./evaluation.ts";
import { type JavaScriptHost, runJavaScript } from "./run-javascript.ts";
import { runJsonata } from "./run-jsonata.ts";

/** In this thread, which has to be one that nobody waits for: see hosts/node/sandbox.ts. */
export const evaluateHere = (
  evaluation: SpelledEvaluation,
  host: JavaScriptHost,
): Promise<SpelledEvaluated> =>
  evaluation.language === "jsonata" ? runJsonata(evaluation) : runJavaScript(evaluation, host);
