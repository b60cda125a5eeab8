/** What the rules need to know of the tools that flows call: see flow-analysis.ts. */
import {
  argumentChecks,
  connectionsIn,
  type KnownConnection,
  type ToolContext,
} from "@signalbox/rules/flows/check-tools.ts";
import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import type { FlowDraft } from "@signalbox/rules/flows/model.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import type { SchemaError } from "@signalbox/rules/flows/schema-errors.ts";
import { createSchemaValidator, type SchemaCheck } from "@signalbox/rules/flows/validate-schema.ts";
import type { ListedConnection, ToolLists } from "../connections/tool-lists.ts";

export interface ToolAnalysisOptions {
  lists: ToolLists;
  evaluate: Evaluate;
  registry: NodeRegistry;
}

export interface MissingTools {
  connections: readonly string[];
  /** Validations of arguments. They are known once the connections are loaded. */
  checks: readonly SchemaCheck[];
}

export interface ToolAnalysis {
  /** Undefined if everything that the flow needs is loaded. */
  missing(tenant: string, flow: Pick<FlowDraft, "nodes">): MissingTools | undefined;
  load(tenant: string, missing: MissingTools): Promise<void>;
  context(tenant: string): ToolContext;
}

const NEVER_ABORTED = new AbortController().signal;

export function createToolAnalysis(options: ToolAnalysisOptions): ToolAnalysis {
  const { lists, evaluate, registry } = options;
  const loaded = new Map<string, Map<string, KnownConnection | undefined>>();
  const errors = new Map<string, SchemaError | undefined>();

  const loadedOf = (tenant: string) => {
    const known = loaded.get(tenant) ?? new Map<string, KnownConnection | undefined>();
    loaded.set(tenant, known);
    return known;
  };
  const context = (tenant: string): ToolContext => {
    const connections = new Map<string, KnownConnection>();
    for (const [id, known] of loadedOf(tenant)) if (known) connections.set(id, known);
    return { connections, findError: (check) => errors.get(keyOf(check)) };
  };

  return {
    context,
    missing(tenant, flow) {
      const used = [...connectionsIn(flow, registry)];
      if (used.length === 0) return undefined;
      const known = loadedOf(tenant);
      const connections = used.filter((id) => !known.has(id));
      const checks = argumentChecks(flow, registry, context(tenant)).filter(
        (check) => !errors.has(keyOf(check)),
      );
      return connections.length + checks.length > 0 ? { connections, checks } : undefined;
    },
    async load(tenant, { connections, checks }) {
      const known = loadedOf(tenant);
      for (const id of connections) known.set(id, toKnown(await lists.find(tenant, id)));
      const validate = createSchemaValidator((evaluation) =>
        evaluate(evaluation, { tenant, signal: NEVER_ABORTED }),
      );
      const found = await validate(checks);
      for (const [nth, check] of checks.entries()) errors.set(keyOf(check), found[nth]);
    },
  };
}

const toKnown = (listed: ListedConnection | undefined): KnownConnection | undefined => {
  if (!listed) return undefined;
  const { name, status, error } = listed.connection;
  return { name, tools: listed.tools, error: status === "failed" ? (error ?? "unknown") : null };
};

const keyOf = ({ schema, value }: SchemaCheck): string => JSON.stringify([schema, value]);
