/**
 * Analyses of the JSONata in flows, computed by the sandbox and cached. The rules for flows are
 * synchronous and run inside transactions, so they cannot await an analysis: `requireAnalyses`
 * throws if one is missing, and `withAnalyses` then computes it and calls `work` again.
 */
import type {
  ExpressionAnalysis,
  FindAnalysis,
} from "@signalbox/rules/flows/analyze-expression.ts";
import { expressionsIn } from "@signalbox/rules/flows/check-expressions.ts";
import { evaluateBatch } from "@signalbox/rules/flows/evaluate-batch.ts";
import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import type { FlowDraft } from "@signalbox/rules/flows/model.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { BoundedMap } from "../lib/bounded-map.ts";

const PARSE_TIMEOUT_MS = 1000;
const NEVER_ABORTED = new AbortController().signal;

/** Not a failure: `withAnalyses` catches it. */
export class AnalysisMissing extends Error {
  readonly expressions: readonly string[];

  constructor(expressions: readonly string[]) {
    super("Expressions have to be analyzed first.");
    this.expressions = expressions;
  }
}

/** Finds the analyses of a flow's expressions; throws `AnalysisMissing` if one is missing. */
export type RequireAnalyses = (flow: Pick<FlowDraft, "nodes">) => FindAnalysis;

export type WithAnalyses = <Result>(
  tenant: string,
  work: (requireAnalyses: RequireAnalyses) => Promise<Result>,
) => Promise<Result>;

export function createExpressionAnalysis(evaluate: Evaluate, registry: NodeRegistry): WithAnalyses {
  const cache = new BoundedMap<string, ExpressionAnalysis>(1000);

  const analyze = async (tenant: string, expressions: readonly string[]) => {
    const results = await evaluateBatch<ExpressionAnalysis>(
      (evaluation) => evaluate(evaluation, { tenant, signal: NEVER_ABORTED }),
      {
        language: "jsonata-analysis",
        expressions,
        data: null,
        timeoutMs: PARSE_TIMEOUT_MS,
      },
    );
    return results.map((result, nth): [string, ExpressionAnalysis] => {
      const expression = expressions[nth] as string;
      const analysis = { nodes: [], readsSecrets: false, ...result };
      // A limit may be exceeded because the machine is busy, so that result is not cached.
      if (!("isSkipped" in result || "isOverrun" in result)) cache.set(expression, analysis);
      return [expression, analysis];
    });
  };

  return async (tenant, work) => {
    // Needed besides the cache, which may evict these analyses before `work` ends.
    const found = new Map<string, ExpressionAnalysis>();
    const find: FindAnalysis = (expression) => found.get(expression) ?? cache.get(expression);
    const requireAnalyses: RequireAnalyses = (flow) => {
      const missing = expressionsIn(flow, registry).filter((expression) => !find(expression));
      if (missing.length > 0) throw new AnalysisMissing([...new Set(missing)]);
      return find;
    };
    for (;;)
      try {
        return await work(requireAnalyses);
      } catch (error) {
        if (!(error instanceof AnalysisMissing)) throw error;
        for (const [expression, analysis] of await analyze(tenant, error.expressions))
          found.set(expression, analysis);
      }
  };
}
