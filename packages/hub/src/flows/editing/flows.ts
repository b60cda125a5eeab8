/**
 * Operations on flows: create, import, edit, publish, roll back. Each edit is a pure function that
 * runs inside the transaction that stores its result. A draft may have errors; a published version
 * has none.
 */
import { missingEnds } from "@signalbox/rules/flows/check-graph.ts";
import { findSubscriptionProblems } from "@signalbox/rules/flows/find-subscription-problems.ts";
import { findTripped } from "@signalbox/rules/flows/find-tripped.ts";
import type { FlowDraft, FlowEdge, FlowNode } from "@signalbox/rules/flows/model.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { createSlugNamer } from "@signalbox/rules/flows/slug.ts";
import { describeFlow, type FlowDescription } from "@signalbox/rules/flows/validate.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { mergePatch } from "@signalbox/rules/merge-patch.ts";
import type { StoredSubscriptionState } from "../../connections/model.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Store } from "../../store.ts";
import { importDraft } from "../import/import-draft.ts";
import type {
  DraftState,
  EditFlow,
  EditResult,
  FlowGraph,
  Publication,
  RejectedEdit,
  StoredFlow,
} from "../model.ts";
import type { StoredSchedule } from "../schedule-model.ts";
import { changeNode, finishDraft, requireNode } from "./edit-draft.ts";
import { createFlowAnalysis, loadCalledFlows, type RequireAnalysis } from "./flow-analysis.ts";
import { ALIAS_MS, publicationOf } from "./publication.ts";

export interface FlowsOptions {
  store: Store;
  registry: NodeRegistry;
  runJob: RunJob;
  newId: () => string;
  now: () => number;
  /** How long the former name of a tool stays an alias. */
  aliasMs?: number;
}

/** A flow with its tools, schedules, errors and warnings. */
export type DescribedFlow = StoredFlow &
  FlowDescription & {
    schedules: StoredSchedule[];
    subscriptions: StoredSubscriptionState[];
    draft: DraftState;
  };

export interface FlowKey {
  tenant: string;
  id: string;
  ifRevision?: number | undefined;
}

type WithOptional<Whole, Name extends keyof Whole> = Omit<Whole, Name> & {
  [Key in Name]?: Whole[Key] | undefined;
};
/** Omitted ids, slugs and positions are generated. */
export type NewNode = WithOptional<FlowNode, "id" | "slug" | "position" | "parameters">;
export type NewEdge = WithOptional<FlowEdge, "id">;
export type NodeChange = {
  [Key in "name" | "position" | "parameters"]?: FlowNode[Key] | undefined;
};
/** Omitted fields keep their values. */
export type NodeReplacement = WithOptional<FlowNode, Exclude<keyof FlowNode, "parameters">>;
export interface FlowChange {
  name?: string | undefined;
  description?: string | undefined;
  nodes?: NewNode[] | undefined;
  edges?: NewEdge[] | undefined;
}

export type Flows = ReturnType<typeof createFlows>;

/** `takenNames` are the names of the app's other tools. */
type Change = (
  draft: FlowDraft,
  takenNames: ReadonlySet<string>,
  requireAnalysis: RequireAnalysis,
) => FlowDraft;

const HOUR_MS = 3_600_000;

export function createFlows(options: FlowsOptions) {
  const { store, registry, runJob, newId, now, aliasMs = ALIAS_MS } = options;
  const withAnalysis = createFlowAnalysis({ store, runJob, registry });

  /**
   * Adds warnings about triggers that the breaker stopped in the last hour, about subscriptions that do
   * not work, and about called flows.
   */
  const describeAll = async (
    tenant: string,
    stored: readonly StoredFlow[],
  ): Promise<DescribedFlow[]> => {
    const ids = stored.map(({ id }) => id);
    const trips = await store.listTrips(tenant, ids, now() - HOUR_MS);
    const schedules = await store.listSchedules(tenant, ids);
    const subscriptions = await store.listSubscriptionStates(tenant, ids);
    const drafts = await store.listDraftStates(tenant, ids);
    const calledFlows = await loadCalledFlows(store, registry, tenant, stored);
    const analysis = await withAnalysis(async (requireAnalysis) =>
      requireAnalysis(tenant, { nodes: stored.flatMap(({ graph }) => graph.nodes) }),
    );
    return stored.map((flow) => {
      const calls = { id: flow.id, flows: calledFlows };
      const described = { ...flow, ...describeFlow(flow.graph, registry, { ...analysis, calls }) };
      const belongsToFlow = ({ flow_id }: { flow_id: string }) => flow_id === flow.id;
      const ownSubscriptions = subscriptions.filter(belongsToFlow);
      return {
        ...described,
        schedules: schedules.filter(belongsToFlow),
        subscriptions: ownSubscriptions,
        draft: drafts.get(flow.id) ?? "unpublished",
        warnings: [
          ...findTripped(flow.graph, trips.filter(belongsToFlow)),
          ...findSubscriptionProblems(flow.graph, ownSubscriptions, now()),
          ...described.warnings,
        ],
      };
    });
  };
  const describeOne = async (flow: StoredFlow): Promise<DescribedFlow> =>
    (await describeAll(flow.tenant, [flow]))[0] as DescribedFlow;

  /**
   * Turns a change of a draft into an edit of the stored flow. The edit also names tools, and rejects
   * graphs that must not be stored, such as cycles.
   */
  const toEdit =
    (change: (draft: FlowDraft, takenNames: ReadonlySet<string>) => FlowDraft): EditFlow =>
    ({ flow, takenNames, callable }) => {
      const before: FlowDraft = flow
        ? { name: flow.name, description: flow.description, ...flow.graph }
        : { name: "", description: "", nodes: [], edges: [] };
      return finishDraft(change(before, takenNames), before.nodes, takenNames, registry, callable);
    };

  /** Adds missing ids, slugs and positions. A node keeps the slug that it has in `before`. */
  const completeNodes = (nodes: readonly NewNode[], before: readonly FlowNode[]): FlowNode[] => {
    const slugsBefore = new Map(before.map((node) => [node.id, node.slug]));
    const slugs = nodes.map(
      ({ id, slug }) => slug ?? (id === undefined ? undefined : slugsBefore.get(id)),
    );
    const nameNode = createSlugNamer(slugs.filter((slug) => slug !== undefined));
    return nodes.map(({ id = newId(), type, name, position, parameters = {} }, index) => {
      const slug = slugs[index] ?? nameNode(name);
      return { id, type, name, slug, position: position ?? { x: 100, y: 100 }, parameters };
    });
  };
  const completeEdges = (edges: readonly NewEdge[]): FlowEdge[] =>
    edges.map(({ id, ...edge }) => ({ id: id ?? newId(), ...edge }));
  const apply = (draft: FlowDraft, { name, description, nodes, edges }: FlowChange): FlowDraft => ({
    name: name ?? draft.name,
    description: description ?? draft.description,
    nodes: nodes ? completeNodes(nodes, draft.nodes) : draft.nodes,
    edges: edges ? completeEdges(edges) : draft.edges,
  });

  const describeSaved = async (edited: EditResult, key: FlowIds): Promise<DescribedFlow> => {
    if (edited.outcome !== "saved") throw requestError(edited, key);
    return describeOne(edited.flow);
  };

  const edit = async (key: FlowKey, change: Change): Promise<DescribedFlow> => {
    const edited = await withAnalysis((requireAnalysis) =>
      store.editFlow(
        key,
        now(),
        toEdit((draft, takenNames) => change(draft, takenNames, requireAnalysis)),
      ),
    );
    return describeSaved(edited, key);
  };

  const editNode = (
    key: FlowKey,
    id: string,
    name: string | undefined,
    change: (node: FlowNode) => FlowNode,
  ) =>
    edit(key, (draft, takenNames, requireAnalysis) =>
      changeNode(
        draft,
        { id, name, change },
        { tenant: key.tenant, registry, takenNames, requireAnalysis },
      ),
    );

  /** The called flows are loaded before the transaction, since only warnings and errors depend on them. */
  const loadPublication = async (
    { tenant }: FlowKey,
    graph: FlowGraph | undefined,
    details: Pick<Publication, "note" | "by" | "at">,
  ) => {
    const callers = graph ? [{ graph }] : [];
    const calledFlows = await loadCalledFlows(store, registry, tenant, callers);
    const aliasUntil = details.at + aliasMs;
    return (requireAnalysis: RequireAnalysis) => (flow: StoredFlow) =>
      publicationOf(flow, registry, { ...details, aliasUntil }, requireAnalysis, calledFlows);
  };

  return {
    async create(tenant: string, app: string, fields: FlowChange): Promise<DescribedFlow> {
      const key = { id: newId(), tenant, app, at: now() };
      return describeSaved(
        await store.createFlow(
          key,
          toEdit((draft) => apply(draft, fields)),
        ),
        { app },
      );
    },

    /** Imports a flow in the current or a legacy format. Notes report every change. */
    async import(
      tenant: string,
      app: string,
      input: Json,
    ): Promise<{ flow: DescribedFlow; notes: string[] }> {
      let notes: string[] = [];
      const key = { id: newId(), tenant, app, at: now() };
      const edited = await store.createFlow(key, ({ takenNames }) => {
        const imported = importDraft(input, registry, takenNames, newId);
        notes = imported.notes;
        return finishDraft(imported.draft, imported.draft.nodes, takenNames, registry);
      });
      return { flow: await describeSaved(edited, { app }), notes };
    },

    async get(tenant: string, id: string): Promise<DescribedFlow> {
      const flow = await store.getFlow(tenant, id);
      if (!flow) throw new RequestError("not_found", "flow", `There is no flow ${id}.`);
      return describeOne(flow);
    },

    async list(
      tenant: string,
      query: { app?: string | undefined; after?: string | undefined; limit: number },
    ): Promise<{ flows: DescribedFlow[]; hasMore: boolean }> {
      const { flows, hasMore } = await store.listFlows(tenant, query);
      return { flows: await describeAll(tenant, flows), hasMore };
    },

    /** Replaces the given fields. */
    change: (key: FlowKey, change: FlowChange) => edit(key, (draft) => apply(draft, change)),

    addNode: (key: FlowKey, node: NewNode) =>
      edit(key, (draft) => ({ ...draft, nodes: completeNodes([...draft.nodes, node], []) })),

    /** Merges `parameters`. A new name also rewrites every reference to the node. */
    changeNode: (key: FlowKey, nodeId: string, { name, position, parameters }: NodeChange) =>
      editNode(key, nodeId, name, (node) => ({
        ...node,
        ...(position && { position }),
        ...(parameters && { parameters: mergePatch(node.parameters, parameters) }),
      })),

    /** Replaces `parameters`, and the other given fields. The id and the slug cannot be changed. */
    replaceNode: (key: FlowKey, nodeId: string, { name, ...fields }: NodeReplacement) =>
      editNode(key, nodeId, name, (node) => {
        for (const field of ["id", "slug"] as const)
          if (fields[field] !== undefined && fields[field] !== node[field])
            throw new RequestError("invalid", field, `cannot be changed: it is ${node[field]}`);
        const { type = node.type, position = node.position, parameters } = fields;
        return { ...node, type, position, parameters };
      }),

    removeNode: (key: FlowKey, nodeId: string) =>
      edit(key, (draft) => {
        requireNode(draft, nodeId);
        return {
          ...draft,
          nodes: draft.nodes.filter(({ id }) => id !== nodeId),
          edges: draft.edges.filter(({ source, target }) => source !== nodeId && target !== nodeId),
        };
      }),

    addEdge: (key: FlowKey, edge: NewEdge) =>
      edit(key, (draft) => {
        const [missing] = missingEnds(edge, draft.nodes);
        if (missing) throw new RequestError("invalid", missing.end, missing.message);
        return { ...draft, edges: completeEdges([...draft.edges, edge]) };
      }),

    removeEdge: (key: FlowKey, edgeId: string) =>
      edit(key, (draft) => {
        if (!draft.edges.some(({ id }) => id === edgeId))
          throw new RequestError("not_found", "edge", `The flow has no edge ${edgeId}.`);
        return { ...draft, edges: draft.edges.filter(({ id }) => id !== edgeId) };
      }),

    async remove(key: FlowKey): Promise<void> {
      const deleted = await store.deleteFlow(key, now());
      if (deleted.outcome !== "deleted") throw requestError(deleted, key);
    },

    async publish(key: FlowKey, details: { note: string; by: string }): Promise<DescribedFlow> {
      const draft = await store.getFlow(key.tenant, key.id);
      const toPublication = await loadPublication(key, draft?.graph, { ...details, at: now() });
      const published = await withAnalysis((requireAnalysis) =>
        store.publishFlow(key, toPublication(requireAnalysis)),
      );
      return describeSaved(published, key);
    },

    /** Publishes an earlier version again, and makes it the draft. */
    async rollBack(key: FlowKey, version: number, by: string): Promise<DescribedFlow> {
      const at = now();
      // The rule for new tool names does not apply to names of an earlier version.
      const restore =
        (graph: FlowGraph): EditFlow =>
        ({ flow, takenNames }) =>
          finishDraft(
            { name: flow?.name, description: flow?.description, ...graph },
            graph.nodes,
            takenNames,
            registry,
          );
      const graph = await store.getVersion(key.tenant, key.id, version);
      const details = { note: `Back to version ${version}`, by, at };
      const toPublication = await loadPublication(key, graph, details);
      const published = await withAnalysis((requireAnalysis) =>
        store.rollBackFlow(key, version, at, restore, toPublication(requireAnalysis)),
      );
      return describeSaved(published, { ...key, version });
    },
  };
}

/** The ids for error messages. */
interface FlowIds {
  app?: string;
  id?: string;
  version?: number;
}

function requestError(rejected: RejectedEdit, { app, id, version }: FlowIds): RequestError {
  switch (rejected.outcome) {
    case "no_app":
      return new RequestError("not_found", "app", `There is no app ${app}.`);
    case "no_flow":
      return new RequestError("not_found", "flow", `There is no flow ${id}.`);
    case "no_version":
      return new RequestError("not_found", "version", `The flow has no version ${version}.`);
    case "changed":
      return new RequestError(
        "changed",
        "If-Match",
        `The flow was changed by another edit and is now at revision ${rejected.revision}. Load it again, and repeat your change.`,
      );
  }
}
