/**
 * Loads the data that the rules for flows need: analyses of the programs in flows, which jobs
 * compute and this module caches; the names of secrets; the tools and triggers of connections; and the
 * sources of events. The rules are synchronous and run inside transactions, so they cannot load data:
 * `requireAnalysis` throws if data is missing, and `withAnalysis` then loads it and calls `work` again.
 */
import type { ExpressionAnalysis } from "@signalbox/rules/flows/analyze-expression.ts";
import {
  type CalledFlow,
  callsIn,
  triggerOf,
  triggersIn,
} from "@signalbox/rules/flows/check-calls.ts";
import { programsIn } from "@signalbox/rules/flows/check-expressions.ts";
import { secretsIn } from "@signalbox/rules/flows/check-secrets.ts";
import { paramChecks, sourcesIn } from "@signalbox/rules/flows/check-sources.ts";
import { argumentChecks, connectionsIn } from "@signalbox/rules/flows/check-tools.ts";
import { evaluateBatch } from "@signalbox/rules/flows/evaluate-batch.ts";
import type { Evaluation } from "@signalbox/rules/flows/evaluation.ts";
import type { FlowDraft, FlowNode } from "@signalbox/rules/flows/model.ts";
import type { KnownConnection, ToolContext } from "@signalbox/rules/flows/node-schemas.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import type { SchemaError } from "@signalbox/rules/flows/schema-errors.ts";
import type { ValidationContext } from "@signalbox/rules/flows/validate.ts";
import { createSchemaValidator, type SchemaCheck } from "@signalbox/rules/flows/validate-schema.ts";
import {
  createToolLists,
  type ListedConnection,
  type ToolLists,
} from "../../connections/tool-lists.ts";
import { sources } from "../../events/sources/index.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import { BoundedMap } from "../../kernel/lib/bounded-map.ts";
import type { Store } from "../../store.ts";
import { OWN_SOURCE } from "../matching/event-input.ts";
import type { FlowGraph } from "../model.ts";
import { findRenamed } from "../runs/published-trigger.ts";

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
  store: Pick<Store, "listSecretNames" | "getConnection" | "getOffers" | "listSources" | "getFlow">;
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
    const tools = createToolAnalysis(options, lists);
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

/** A connection; "sender" for any other source of events; undefined if the id is unknown. */
type LoadedSource = KnownConnection | "sender" | undefined;

/** The sources that every tenant has: the kinds of webhook senders, and the events that flows emit. */
const COMMON_SOURCES: ReadonlySet<string> = new Set([...sources.map(({ id }) => id), OWN_SOURCE]);

interface MissingTools {
  /** Ids of connections, endpoints or flows that the flow uses. */
  sources: readonly string[];
  /** Validations of arguments and params. They can be listed only after the sources are loaded. */
  checks: readonly SchemaCheck[];
}

interface ToolAnalysis {
  /** Undefined if everything that the flow needs is loaded. */
  missing(tenant: string, flow: Pick<FlowDraft, "nodes">): MissingTools | undefined;
  load(tenant: string, missing: MissingTools): Promise<void>;
  context(tenant: string): ToolContext;
}

/** Loads the tools that flows call, and the sources of their events. */
function createToolAnalysis(
  { store, runJob, registry }: FlowAnalysisOptions,
  lists: ToolLists,
): ToolAnalysis {
  const loaded = new Map<string, Map<string, LoadedSource>>();
  const errors = new Map<string, SchemaError | undefined>();

  const loadedOf = (tenant: string) => {
    const sourcesById = loaded.get(tenant) ?? new Map<string, LoadedSource>();
    loaded.set(tenant, sourcesById);
    return sourcesById;
  };
  const context = (tenant: string): ToolContext => {
    const connections = new Map<string, KnownConnection>();
    const senders = new Set(COMMON_SOURCES);
    for (const [id, source] of loadedOf(tenant))
      if (source === "sender") senders.add(id);
      else if (source) connections.set(id, source);
    return { connections, senders, findError: (check) => errors.get(keyOf(check)) };
  };

  const find = async (tenant: string, id: string): Promise<LoadedSource> => {
    const listed = await lists.find(tenant, id);
    if (listed) return toKnownConnection(listed);
    const isEndpoint = (await store.listSources(tenant)).some((source) => source.id === id);
    // The id of a flow is the source of the events that it emits.
    return isEndpoint || (await store.getFlow(tenant, id)) ? "sender" : undefined;
  };

  return {
    context,
    missing(tenant, flow) {
      const ids = new Set([...connectionsIn(flow, registry), ...sourcesIn(flow, registry)]);
      const used = [...ids].filter((id) => !COMMON_SOURCES.has(id));
      if (used.length === 0) return undefined;
      const sourcesById = loadedOf(tenant);
      const unloaded = used.filter((id) => !sourcesById.has(id));
      const known = context(tenant);
      const checks = [
        ...argumentChecks(flow, registry, known),
        ...paramChecks(flow, registry, known),
      ].filter((check) => !errors.has(keyOf(check)));
      return unloaded.length + checks.length > 0 ? { sources: unloaded, checks } : undefined;
    },
    async load(tenant, { sources: ids, checks }) {
      const sourcesById = loadedOf(tenant);
      for (const id of ids) sourcesById.set(id, await find(tenant, id));
      const validate = createSchemaValidator((evaluation) =>
        runJob(evaluation, { tenant, signal: NEVER_ABORTED }),
      );
      const results = await validate(checks);
      for (const [index, check] of checks.entries()) errors.set(keyOf(check), results[index]);
    },
  };
}

const toKnownConnection = ({ connection, tools, triggers }: ListedConnection): KnownConnection => {
  const { name, status, error } = connection;
  return { name, tools, triggers, error: status === "failed" ? (error ?? "unknown") : null };
};

const keyOf = ({ schema, value }: SchemaCheck): string => JSON.stringify([schema, value]);

/** Loads the flows that other flows call, for validation. */
export async function loadCalledFlows(
  store: Pick<Store, "getFlow" | "getVersion" | "listVersions">,
  registry: NodeRegistry,
  tenant: string,
  callers: readonly { graph: FlowGraph }[],
): Promise<Map<string, CalledFlow>> {
  const calls = Map.groupBy(
    callers.flatMap(({ graph }) => callsIn(graph, registry)),
    (call) => call.flow,
  );
  const calledFlows = new Map<string, CalledFlow>();
  for (const [id, callsOfFlow] of calls) {
    const flow = await store.getFlow(tenant, id);
    if (!flow) continue;
    const { name, version } = flow;
    const draftTriggers = triggersIn(flow.graph, registry);
    const graph = version === null ? undefined : await store.getVersion(tenant, id, version);
    const triggers = graph && triggersIn(graph, registry);
    const renamed = new Map<string, FlowNode>();
    for (const slug of new Set(callsOfFlow.map(({ trigger }) => trigger))) {
      if (!triggers || slug === undefined || triggerOf(triggers, slug)) continue;
      const trigger = await findRenamed(store, tenant, id, triggers, slug);
      if (trigger) renamed.set(slug, trigger);
    }
    calledFlows.set(id, { name, triggers, draftTriggers, renamed });
  }
  return calledFlows;
}
