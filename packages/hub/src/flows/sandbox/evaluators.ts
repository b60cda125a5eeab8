/** The evaluators of all languages. They enforce no deadline; the worker pool does. */
import { runComparisons } from "@signalbox/rules/flows/compare.ts";
import {
  MAX_OUTPUT_DEPTH,
  outputTooDeep,
  type Program,
  type SerializedEvaluation,
  type SerializedResult,
  type WebhookToRead,
} from "@signalbox/rules/flows/evaluation.ts";
import { runSelect } from "@signalbox/rules/flows/select.ts";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import {
  type EvaluateFilters,
  type FilterResult,
  runFilters,
} from "@signalbox/rules/match/filter.ts";
import { runMatches } from "@signalbox/rules/match/match-request.ts";
import { readWebhookInSandbox } from "../../events/admit/read-webhook.ts";
import type { SourceDefinition } from "../../events/admit/source.ts";
import { readCallbackInSandbox } from "../../events/callback/read-large-callback.ts";
import { areFulfilled, readPart } from "../../events/inbox/payload-part.ts";
import { sources } from "../../events/sources/index.ts";
import { readPayload } from "../../events/sources/read-payload.ts";
import { isTextDeeperThan } from "../../kernel/lib/count-values.ts";
import { type AuthorProgram, evaluateAuthorProgram } from "./author-programs.ts";
import type { RunIsolated } from "./run-isolated.ts";
import { checkSyntax, type JavaScriptHost, runJavaScript } from "./run-javascript.ts";

export interface EvaluatorHost extends JavaScriptHost {
  /** Set if the host has no deadline: evaluates expressions and schemas of authors. */
  runIsolated?: RunIsolated;
}

type Language = Program["language"];
type Evaluator<Name extends Language, Data = string> = (
  evaluation: Extract<SerializedEvaluation, { language: Name }> & { data: Data },
  host: EvaluatorHost,
) => Promise<SerializedResult>;

/** The data of these languages are the body of a payload, which may not be JSON. */
type BodyLanguage = "payload" | "webhook" | "callback" | "match";

const bodyEvaluators: { [Name in BodyLanguage]: Evaluator<Name, Uint8Array> } = {
  payload: async ({ payload, data: body }) =>
    toResult(readPayload(payload.source, { ...payload, body })),
  match: async ({ expressions, event, payload, data: body, timeoutMs }, host) => {
    const data = readPayload(payload.source, { ...payload, body });
    // Together, the triggers have the time limit of the evaluation.
    const evaluateFilters = isolateFilters(host, Math.ceil(timeoutMs / expressions.length));
    try {
      return toResult(await runMatches(expressions, event, data, evaluateFilters));
    } catch (error) {
      if (error instanceof FilterLimitExceeded) return error.result;
      throw error;
    }
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

const runAuthorProgram = (
  program: AuthorProgram & { timeoutMs: number },
  { runIsolated = evaluateAuthorProgram }: EvaluatorHost,
): Promise<SerializedResult> => runIsolated(program);

const evaluators: { [Name in Exclude<Language, BodyLanguage>]: Evaluator<Name> } = {
  jsonata: runAuthorProgram,
  "jsonata-filters": runAuthorProgram,
  "jsonata-analysis": runAuthorProgram,
  "json-schema": runAuthorProgram,
  javascript: runJavaScript,
  "javascript-syntax": checkSyntax,
  comparisons: async ({ data }) => toResult(runComparisons(JSON.parse(data))),
  select: async ({ data, ...selection }) => runSelect(selection, data),
  "payload-part": async ({ data, ...request }) =>
    toResult(readPart({ value: JSON.parse(data), text: data }, request) ?? null),
  "payload-match": async ({ data, conditions }) =>
    toResult(areFulfilled(conditions, JSON.parse(data))),
};

const isolateFilters =
  ({ runIsolated }: EvaluatorHost, timeoutMs: number): EvaluateFilters =>
  async (expressions, event) => {
    if (!runIsolated) return runFilters(expressions, event);
    const program = { language: "jsonata-filters", expressions, timeoutMs } as const;
    const result = await runIsolated({ ...program, data: JSON.stringify(event) });
    if ("error" in result) throw new FilterLimitExceeded(result);
    return JSON.parse(result.output) as FilterResult[];
  };

class FilterLimitExceeded extends Error {
  readonly result: SerializedResult;
  constructor(result: SerializedResult) {
    super("A filter has exceeded a limit.");
    this.result = result;
  }
}

const toResult = (output: unknown): SerializedResult => ({
  log: [],
  output: JSON.stringify(output),
});

const decoder = new TextDecoder();

const isBodyLanguage = (language: Language): language is BodyLanguage => language in bodyEvaluators;

function evaluate(
  evaluation: SerializedEvaluation,
  host: EvaluatorHost,
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
  host: EvaluatorHost,
): Promise<SerializedResult> {
  const result = await evaluate(evaluation, host);
  if ("error" in result) return result;
  const { log, output, parts = [] } = result;
  // The depth of a small output is checked after it was parsed; see serialize.ts.
  const isTooDeep =
    (output.length > LARGE_BYTES && isTextDeeperThan(MAX_OUTPUT_DEPTH, output)) ||
    parts.some((part) => part !== undefined && isTextDeeperThan(MAX_OUTPUT_DEPTH, part));
  return isTooDeep ? { log, ...outputTooDeep } : result;
}
