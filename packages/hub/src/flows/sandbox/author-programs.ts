/** The evaluators of expressions and schemas of authors. They enforce no limits; their callers do. */
import { analyzeExpression } from "@signalbox/rules/flows/analyze-expression.ts";
import type { Program, SerializedResult } from "@signalbox/rules/flows/evaluation.ts";
import { runJsonata } from "@signalbox/rules/flows/run-jsonata.ts";
import { type SchemaCheck, validateInProcess } from "@signalbox/rules/flows/validate-schema.ts";
import { type FilterResult, isSimpleFilter, runFilters } from "@signalbox/rules/match/filter.ts";
import type { MarkedResult } from "./simple-filters.ts";

type AuthorLanguage = "jsonata" | "jsonata-filters" | "jsonata-analysis" | "json-schema";

/** The data is JSON. */
export type AuthorProgram<Name extends AuthorLanguage = AuthorLanguage> = Extract<
  Program,
  { language: Name }
> & { data: string };

const evaluators: {
  [Name in AuthorLanguage]: (program: AuthorProgram<Name>) => Promise<SerializedResult>;
} = {
  jsonata: ({ expression, data }) => runJsonata(expression, JSON.parse(data)),
  "jsonata-filters": async ({ expressions, data }) => {
    const results = await runFilters(expressions, JSON.parse(data));
    return toResult(results.map((result, index) => markSimple(result, expressions[index] ?? "")));
  },
  "jsonata-analysis": async ({ expressions }) => toResult(expressions.map(analyzeExpression)),
  "json-schema": async ({ data }) =>
    toResult((JSON.parse(data) as SchemaCheck[]).map((check) => validateInProcess(check) ?? null)),
};

/** The caller can evaluate a simple filter itself the next time; see simple-filters.ts. */
const markSimple = (result: FilterResult, filter: string): MarkedResult =>
  "holds" in result && isSimpleFilter(filter) ? { ...result, isSimple: true } : result;

const toResult = (output: unknown): SerializedResult => ({
  log: [],
  output: JSON.stringify(output),
});

export const evaluateAuthorProgram = (program: AuthorProgram): Promise<SerializedResult> =>
  (evaluators[program.language] as (program: AuthorProgram) => Promise<SerializedResult>)(program);
