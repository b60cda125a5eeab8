/** The evaluators of expressions and schemas of authors. They enforce no limits; their callers do. */
import { analyzeExpression } from "@signalbox/rules/flows/analyze-expression.ts";
import type { SerializedProgram, SerializedResult } from "@signalbox/rules/flows/evaluation.ts";
import { runJsonata } from "@signalbox/rules/flows/run-jsonata.ts";
import { type SchemaCheck, validateInProcess } from "@signalbox/rules/flows/validate-schema.ts";
import { type FilterResult, isSimpleFilter, runFilters } from "@signalbox/rules/match/filter.ts";
import { toResult } from "../../kernel/jobs/job.ts";
import type { MarkedResult } from "./simple-filters.ts";

type ProgramName = "jsonata" | "jsonata-filters" | "jsonata-analysis" | "json-schema";
export type AuthorProgram<Name extends ProgramName = ProgramName> = Extract<
  SerializedProgram,
  { job: Name }
>;

/** Evaluates programs within their limits, on hosts that cannot interrupt an evaluation. */
export type RunIsolated = (program: AuthorProgram) => Promise<SerializedResult>;

const evaluators: {
  [Name in ProgramName]: (program: AuthorProgram<Name>) => Promise<SerializedResult>;
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

export const evaluateAuthorProgram = (program: AuthorProgram): Promise<SerializedResult> =>
  (evaluators[program.job] as (program: AuthorProgram) => Promise<SerializedResult>)(program);
