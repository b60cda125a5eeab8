/** Loads the tools that flows call, and the sources of their events; see flow-analysis.ts. */
import { paramChecks, sourcesIn } from "@signalbox/rules/flows/check-sources.ts";
import { argumentChecks, connectionsIn } from "@signalbox/rules/flows/check-tools.ts";
import type { FlowDraft } from "@signalbox/rules/flows/model.ts";
import type { KnownConnection, ToolContext } from "@signalbox/rules/flows/node-schemas.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import type { SchemaError } from "@signalbox/rules/flows/schema-errors.ts";
import { createSchemaValidator, type SchemaCheck } from "@signalbox/rules/flows/validate-schema.ts";
import type { ListedConnection, ToolLists } from "../../connections/tool-lists.ts";
import { sources } from "../../events/sources/index.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import type { Store } from "../../store.ts";
import { OWN_SOURCE } from "../matching/event-input.ts";

export interface ToolAnalysisOptions {
  lists: ToolLists;
  store: SenderStore;
  runJob: RunJob;
  registry: NodeRegistry;
}

export type SenderStore = Pick<Store, "listSources"> & Pick<Store, "getFlow">;

/** A connection; "sender" for any other source of events; undefined if the id is unknown. */
type LoadedSource = KnownConnection | "sender" | undefined;

/** The sources that every tenant has: the kinds of webhook senders, and the events that flows emit. */
const COMMON_SOURCES: ReadonlySet<string> = new Set([...sources.map(({ id }) => id), OWN_SOURCE]);

export interface MissingTools {
  /** Ids of connections, endpoints or flows that the flow uses. */
  sources: readonly string[];
  /** Validations of arguments and params. They can be listed only after the sources are loaded. */
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
  const { lists, store, runJob, registry } = options;
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
