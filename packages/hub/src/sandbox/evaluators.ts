/** The evaluators of all languages. They enforce no deadline; the worker pool does. */

import { analyzeExpression } from "@signalbox/rules/flows/analyze-expression.ts";
import type {
  Program,
  SerializedEvaluation,
  SerializedResult,
} from "@signalbox/rules/flows/evaluation.ts";
import { runJsonata } from "@signalbox/rules/flows/run-jsonata.ts";
import { type SchemaCheck, validateInProcess } from "@signalbox/rules/flows/validate-schema.ts";
import { runFilters } from "@signalbox/rules/match/filter.ts";
import { checkSyntax, type JavaScriptHost, runJavaScript } from "./run-javascript.ts";

type Language = Program["language"];
type Evaluator<Name extends Language> = (
  evaluation: Extract<SerializedEvaluation, { language: Name }>,
  host: JavaScriptHost,
) => Promise<SerializedResult>;

const evaluators: { [Name in Language]: Evaluator<Name> } = {
  javascript: runJavaScript,
  "javascript-syntax": checkSyntax,
  jsonata: ({ expression, data }) => runJsonata(expression, JSON.parse(data)),
  "jsonata-filters": async ({ expressions, data }) =>
    succeeded(await runFilters(expressions, JSON.parse(data))),
  "jsonata-analysis": async ({ expressions }) => succeeded(expressions.map(analyzeExpression)),
  "json-schema": async ({ data }) =>
    succeeded((JSON.parse(data) as SchemaCheck[]).map((check) => validateInProcess(check) ?? null)),
};

const succeeded = (output: unknown): SerializedResult => ({
  log: [],
  output: JSON.stringify(output),
});

export const evaluateSerialized = (
  evaluation: SerializedEvaluation,
  host: JavaScriptHost,
): Promise<SerializedResult> =>
  (evaluators[evaluation.language] as Evaluator<Language>)(evaluation, host);
