/**
 * Loads the data that the rules for flows need: analyses of the programs in flows, which jobs
 * compute and this module caches; the names of secrets; the tools and triggers of connections; and the
 * sources of events. The rules are synchronous and run inside transactions, so they cannot load data:
 * `requireAnalysis` throws if data is missing, and `withAnalysis` then loads it and calls `work` again.
 */
import type { ExpressionAnalysis } from "@signalbox/rules/flows/analyze-expression.ts";
import { programsIn } from "@signalbox/rules/flows/check-expressions.ts";
import { secretsIn } from "@signalbox/rules/flows/check-secrets.ts";
import { evaluateBatch } from "@signalbox/rules/flows/evaluate-batch.ts";
import type { Evaluation } from "@signalbox/rules/flows/evaluation.ts";
import type { FlowDraft } from "@signalbox/rules/flows/model.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import type { ValidationContext } from "@signalbox/rules/flows/validate.ts";
import { createToolLists } from "../../connections/tool-lists.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import { BoundedMap } from "../../kernel/lib/bounded-map.ts";
import type { Store } from "../../store.ts";
import { createToolAnalysis, type MissingTools, type SenderStore } from "./tool-analysis.ts";

const NEVER_ABORTED = new AbortController().signal;

interface Missing {
  tenant: string;
  expressions: readonly string[];
  code: readonly string[];
  secrets: boolean;
  tools: MissingTools | undefined;
}

/** `requireAnalysis` throws it, and `withAnalysis` catches it and loads the missing data. */
export class AnalysisMissing extends Error {
  readonly missing: Missing;

  constructor(missing: Missing) {
    super("The flow has to be analyzed first.");
    this.missing = missing;
  }
}

type FlowAnalysis = Required<Omit<ValidationContext, "calls">>;

/** Returns the analysis of a tenant's flow. Throws `AnalysisMissing` if data is not loaded yet. */
export type RequireAnalysis = (tenant: string, flow: Pick<FlowDraft, "nodes">) => FlowAnalysis;

export type WithAnalysis = <Result>(
  work: (requireAnalysis: RequireAnalysis) => Promise<Result>,
) => Promise<Result>;

/** The result of parsing JavaScript. */
interface SyntaxCheck {
  problem?: string;
}

export interface FlowAnalysisOptions {
  store: Pick<Store, "listSecretNames"> & Pick<Store, "getConnection" | "getOffers"> & SenderStore;
  runJob: RunJob;
  registry: NodeRegistry;
}

export function createFlowAnalysis(options: FlowAnalysisOptions): WithAnalysis {
  const { store, runJob, registry } = options;
  const expressions = createParser<ExpressionAnalysis>(
    runJob,
    "jsonata-analysis",
    { nodes: [], readsSecrets: false },
    { timeoutMs: 1000, cacheSize: 1000 },
  );
  // The parser takes linear time, so only a busy machine exceeds the limit.
  const code = createParser<SyntaxCheck>(
    runJob,
    "javascript-syntax",
    {},
    {
      timeoutMs: 20_000,
      cacheSize: 200,
    },
  );

  const lists = createToolLists(store);

  return async (work) => {
    // The results are stored here too, because the caches may evict them before `work` ends.
    const results = {
      expressions: new Map<string, ExpressionAnalysis>(),
      code: new Map<string, SyntaxCheck>(),
    };
    const secrets = new Map<string, ReadonlySet<string>>();
    const tools = createToolAnalysis({ lists, store, runJob, registry });
    const findAnalysis = (text: string) =>
      results.expressions.get(text) ?? expressions.getCached(text);
    const findSyntax = (text: string) => results.code.get(text) ?? code.getCached(text);
    const requireAnalysis: RequireAnalysis = (tenant, flow) => {
      const names = secretsIn(flow, registry).size === 0 ? new Set<string>() : secrets.get(tenant);
      const missing: Missing = {
        tenant,
        expressions: programsIn(flow, registry, "jsonata").filter((text) => !findAnalysis(text)),
        code: programsIn(flow, registry, "javascript").filter((text) => !findSyntax(text)),
        secrets: !names,
        tools: tools.missing(tenant, flow),
      };
      const hasAllPrograms = missing.expressions.length === 0 && missing.code.length === 0;
      if (!names || !hasAllPrograms || missing.tools) throw new AnalysisMissing(missing);
      return {
        findAnalysis,
        findSyntaxError: (text) => findSyntax(text)?.problem,
        secrets: names,
        tools: tools.context(tenant),
      };
    };
    for (;;)
      try {
        return await work(requireAnalysis);
      } catch (error) {
        if (!(error instanceof AnalysisMissing)) throw error;
        const { tenant, ...missing } = error.missing;
        await expressions.parse(tenant, missing.expressions, results.expressions);
        await code.parse(tenant, missing.code, results.code);
        if (missing.tools) await tools.load(tenant, missing.tools);
        if (!missing.secrets) continue;
        const stored = await store.listSecretNames(tenant);
        secrets.set(tenant, new Set(stored.map(({ name }) => name)));
      }
  };
}

/**
 * Parses programs of one language in jobs, and caches the results. The fields of `defaults` are used if
 * the job does not return them.
 */
function createParser<Result extends SyntaxCheck>(
  runJob: RunJob,
  job: "jsonata-analysis" | "javascript-syntax",
  defaults: Result,
  { timeoutMs, cacheSize }: { timeoutMs: number; cacheSize: number },
) {
  const cache = new BoundedMap<string, Result>(cacheSize);
  return {
    getCached: (text: string): Result | undefined => cache.get(text),
    /** Adds the results to `results`. */
    async parse(tenant: string, texts: readonly string[], results: Map<string, Result>) {
      const distinct = [...new Set(texts)];
      if (distinct.length === 0) return;
      const evaluated = await evaluateBatch<Result>((expressions) => {
        const evaluation: Evaluation = { job, expressions, data: null, timeoutMs };
        return runJob(evaluation, { tenant, signal: NEVER_ABORTED });
      }, distinct);
      for (const [index, result] of evaluated.entries()) {
        const text = distinct[index] as string;
        const analysis = { ...defaults, ...result };
        // A program may exceed a limit only because the machine is busy, so this result is not cached.
        if (!("isSkipped" in result || "isOverrun" in result)) cache.set(text, analysis);
        results.set(text, analysis);
      }
    },
  };
}
