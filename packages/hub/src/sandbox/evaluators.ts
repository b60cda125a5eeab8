/** The evaluators of all languages. They enforce no deadline; the worker pool does. */
import { analyzeExpression } from "@signalbox/rules/flows/analyze-expression.ts";
import { runComparisons } from "@signalbox/rules/flows/compare.ts";
import {
  MAX_OUTPUT_DEPTH,
  outputTooDeep,
  type Program,
  type SerializedEvaluation,
  type SerializedResult,
  timeLimitExceeded,
  type WebhookToRead,
} from "@signalbox/rules/flows/evaluation.ts";
import { runJsonata } from "@signalbox/rules/flows/run-jsonata.ts";
import { runSelect } from "@signalbox/rules/flows/select.ts";
import { type SchemaCheck, validateInProcess } from "@signalbox/rules/flows/validate-schema.ts";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { type StepBudget, StepLimitExceeded } from "@signalbox/rules/match/expression.ts";
import { runFilters } from "@signalbox/rules/match/filter.ts";
import { runMatches } from "@signalbox/rules/match/match-request.ts";
import { readCallbackInSandbox } from "../ingest/callback/read-large-callback.ts";
import { readWebhookInSandbox } from "../ingest/read-webhook.ts";
import type { SourceDefinition } from "../ingest/source.ts";
import { sources } from "../ingest/sources/index.ts";
import { readPayload } from "../ingest/sources/read-payload.ts";
import { isTextDeeperThan } from "../lib/count-values.ts";
import { areFulfilled, readPart } from "./payload-part.ts";
import { checkSyntax, type JavaScriptHost, runJavaScript } from "./run-javascript.ts";

type Language = Program["language"];
type Evaluator<Name extends Language, Data = string> = (
  evaluation: Extract<SerializedEvaluation, { language: Name }> & { data: Data },
  host: JavaScriptHost,
) => Promise<SerializedResult>;

/** The data of these languages are the body of a payload, which may not be JSON. */
type BodyLanguage = "payload" | "webhook" | "callback" | "match";

const bodyEvaluators: { [Name in BodyLanguage]: Evaluator<Name, Uint8Array> } = {
  payload: async ({ payload, data: body }) =>
    toResult(readPayload(payload.source, { ...payload, body })),
  match: async ({ expressions, event, payload, data: body, timeoutMs }, host) => {
    const data = readPayload(payload.source, { ...payload, body });
    return toResult(await runMatches(expressions, event, data, createStepBudget(timeoutMs, host)));
  },
  callback: async ({ data }) => toResult(readCallbackInSandbox(data)),
  webhook: async ({ webhook, data }) =>
    toResult(readWebhookInSandbox(sourceOf(webhook), webhook, data)),
};

const sourceOf = ({ source }: WebhookToRead): SourceDefinition => {
  const definition = sources.find(({ id }) => id === source);
  if (!definition) throw new Error(`There is no source ${source}.`);
  return definition;
};

const evaluators: { [Name in Exclude<Language, BodyLanguage>]: Evaluator<Name> } = {
  javascript: runJavaScript,
  "javascript-syntax": checkSyntax,
  jsonata: ({ expression, data, timeoutMs }, host) =>
    runJsonata(expression, JSON.parse(data), createStepBudget(timeoutMs, host)),
  "jsonata-filters": async ({ expressions, data, timeoutMs }, host) =>
    toResult(await runFilters(expressions, JSON.parse(data), createStepBudget(timeoutMs, host))),
  "jsonata-analysis": async ({ expressions }) => toResult(expressions.map(analyzeExpression)),
  "json-schema": async ({ data }) =>
    toResult((JSON.parse(data) as SchemaCheck[]).map((check) => validateInProcess(check) ?? null)),
  comparisons: async ({ data }) => toResult(runComparisons(JSON.parse(data))),
  select: async ({ data, ...selection }) => runSelect(selection, data),
  "payload-part": async ({ data, ...request }) =>
    toResult(readPart({ value: JSON.parse(data), text: data }, request) ?? null),
  "payload-match": async ({ data, conditions }) =>
    toResult(areFulfilled(conditions, JSON.parse(data))),
};

const createStepBudget = (
  timeoutMs: number,
  { stepsPerMs }: JavaScriptHost,
): StepBudget | undefined =>
  stepsPerMs === undefined ? undefined : { left: timeoutMs * stepsPerMs };

const toResult = (output: unknown): SerializedResult => ({
  log: [],
  output: JSON.stringify(output),
});

const decoder = new TextDecoder();

const isBodyLanguage = (language: Language): language is BodyLanguage => language in bodyEvaluators;

function evaluate(
  evaluation: SerializedEvaluation,
  host: JavaScriptHost,
): Promise<SerializedResult> {
  const { language, data } = evaluation;
  if (isBodyLanguage(language)) {
    const evaluator = bodyEvaluators[language] as Evaluator<Language, Uint8Array>;
    return evaluator({ ...evaluation, data: data as Uint8Array }, host);
  }
  const text = typeof data === "string" ? data : decoder.decode(data);
  return (evaluators[language] as Evaluator<Language>)({ ...evaluation, data: text }, host);
}

export async function evaluateSerialized(
  evaluation: SerializedEvaluation,
  host: JavaScriptHost,
): Promise<SerializedResult> {
  const result = await evaluate(evaluation, host).catch((error: unknown): SerializedResult => {
    if (!(error instanceof StepLimitExceeded)) throw error;
    return { log: [], ...timeLimitExceeded(evaluation.timeoutMs) };
  });
  if ("error" in result) return result;
  const { log, output, parts = [] } = result;
  // The depth of a small output is checked after it was parsed; see serialize.ts.
  const isTooDeep =
    (output.length > LARGE_BYTES && isTextDeeperThan(MAX_OUTPUT_DEPTH, output)) ||
    parts.some((part) => part !== undefined && isTextDeeperThan(MAX_OUTPUT_DEPTH, part));
  return isTooDeep ? { log, ...outputTooDeep } : result;
}
