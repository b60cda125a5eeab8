/**
 * What people and programs do with flows: make, edit, publish, roll back. Every edit is made inside
 * the transaction that stores it, by pure rules; a draft may be unfinished, what runs may not.
 */
import { findTripped } from "@signalbox/rules/flows/find-tripped.ts";
import type { FlowDraft, FlowEdge, FlowNode } from "@signalbox/rules/flows/model.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { renameNode } from "@signalbox/rules/flows/rename-node.ts";
import { slugFor } from "@signalbox/rules/flows/slug.ts";
import { describeFlow, type FlowDescription } from "@signalbox/rules/flows/validate.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { RequestError } from "../lib/request-error.ts";
import type {
  EditFlow,
  EditResult,
  FlowGraph,
  Publication,
  RejectedEdit,
  StoredFlow,
} from "../store/flow-store.ts";
import type { Store } from "../store/store.ts";
import { calledFlows } from "./called-flows.ts";
import { finishDraft } from "./finish-draft.ts";
import { importDraft } from "./import-draft.ts";
import { ALIAS_MS, publicationOf } from "./publication.ts";

export interface FlowsOptions {
  store: Store;
  registry: NodeRegistry;
  newId: () => string;
  now: () => number;
  /** How long a tool answers to its former name. */
  aliasMs?: number;
}

/** A flow with all that follows from it. */
export type DescribedFlow = StoredFlow & FlowDescription;

export interface FlowPlace {
  tenant: string;
  id: string;
  ifRevision?: number | undefined;
}

type Loose<Whole, Name extends keyof Whole> = Omit<Whole, Name> & {
  [Key in Name]?: Whole[Key] | undefined;
};
/** What is left out is made up: ids, slugs and places. */
export type NewNode = Loose<FlowNode, "id" | "slug" | "position" | "parameters">;
export type NewEdge = Loose<FlowEdge, "id">;
export type NodeChange = {
  [Key in "name" | "position" | "parameters"]?: FlowNode[Key] | undefined;
};
export interface FlowChange {
  name?: string | undefined;
  description?: string | undefined;
  nodes?: NewNode[] | undefined;
  edges?: NewEdge[] | undefined;
}

export type Flows = ReturnType<typeof createFlows>;

type Change = (draft: FlowDraft, taken: ReadonlySet<string>) => FlowDraft;

const HOUR_MS = 3_600_000;

export function createFlows({ store, registry, newId, now, aliasMs = ALIAS_MS }: FlowsOptions) {
  /** With the triggers that were stopped within the last hour, and what is odd about calls. */
  const describeAll = async (
    tenant: string,
    found: readonly StoredFlow[],
  ): Promise<DescribedFlow[]> => {
    const ids = found.map(({ id }) => id);
    const trips = await store.listTrips(tenant, ids, now() - HOUR_MS);
    const called = await calledFlows(store, registry, tenant, found);
    return found.map((flow) => {
      const around = { id: flow.id, flows: called };
      const described = { ...flow, ...describeFlow(flow.graph, registry, around) };
      const own = trips.filter(({ flow_id }) => flow_id === flow.id);
      return { ...described, warnings: [...findTripped(flow.graph, own), ...described.warnings] };
    });
  };
  const describeOne = async (flow: StoredFlow): Promise<DescribedFlow> =>
    (await describeAll(flow.tenant, [flow]))[0] as DescribedFlow;

  /** Turns a way to change a draft into one that also names its tools and refuses cycles. */
  const editing =
    (change: Change): EditFlow =>
    ({ flow, taken, kept }) => {
      const before: FlowDraft = flow
        ? { name: flow.name, description: flow.description, ...flow.graph }
        : { name: "", description: "", nodes: [], edges: [] };
      return finishDraft(change(before, taken), before.nodes, taken, registry, kept);
    };

  const completeNodes = (given: readonly NewNode[], before: readonly FlowNode[]): FlowNode[] => {
    const former = new Map(before.map((node) => [node.id, node.slug]));
    const known = given.map(({ id, slug }) => slug ?? (id === undefined ? id : former.get(id)));
    const slugs = new Set(known.filter((slug) => slug !== undefined));
    return given.map(({ id = newId(), type, name, position, parameters = {} }, at) => {
      const slug = known[at] ?? slugFor(name, slugs);
      slugs.add(slug);
      return { id, type, name, slug, position: position ?? { x: 100, y: 100 }, parameters };
    });
  };
  const completeEdges = (given: readonly NewEdge[]): FlowEdge[] =>
    given.map(({ id, ...rest }) => ({ id: id ?? newId(), ...rest }));
  const apply = (draft: FlowDraft, { name, description, nodes, edges }: FlowChange): FlowDraft => ({
    name: name ?? draft.name,
    description: description ?? draft.description,
    nodes: nodes ? completeNodes(nodes, draft.nodes) : draft.nodes,
    edges: edges ? completeEdges(edges) : draft.edges,
  });

  const saved = async (edited: EditResult, place: Place): Promise<DescribedFlow> => {
    if (edited.outcome !== "saved") throw faultOf(edited, place);
    return describeOne(edited.flow);
  };

  const edit = async (place: FlowPlace, change: Change): Promise<DescribedFlow> =>
    saved(await store.editFlow(place, now(), editing(change)), place);

  const publishing =
    (words: Pick<Publication, "note" | "by" | "at">) =>
    (flow: StoredFlow): Publication =>
      publicationOf(flow, registry, { ...words, aliasUntil: words.at + aliasMs });

  return {
    async create(tenant: string, app: string, given: FlowChange): Promise<DescribedFlow> {
      const place = { id: newId(), tenant, app, at: now() };
      return saved(
        await store.createFlow(
          place,
          editing((draft) => apply(draft, given)),
        ),
        { app },
      );
    },

    /** Out of a file, in today's form or an older one; what was odd is in the notes. */
    async import(
      tenant: string,
      app: string,
      input: Json,
    ): Promise<{ flow: DescribedFlow; notes: string[] }> {
      let notes: string[] = [];
      const place = { id: newId(), tenant, app, at: now() };
      const edited = await store.createFlow(place, ({ taken }) => {
        const imported = importDraft(input, registry, taken, newId);
        notes = imported.notes;
        return finishDraft(imported.draft, imported.draft.nodes, taken, registry);
      });
      return { flow: await saved(edited, { app }), notes };
    },

    async get(tenant: string, id: string): Promise<DescribedFlow> {
      const flow = await store.getFlow(tenant, id);
      if (!flow) throw new RequestError("not_found", "flow", `There is no flow ${id}.`);
      return describeOne(flow);
    },

    list: async (
      tenant: string,
      query: { app?: string | undefined; after?: string | undefined; limit: number },
    ): Promise<DescribedFlow[]> => describeAll(tenant, await store.listFlows(tenant, query)),

    /** All of it, or only what is given. */
    change: (place: FlowPlace, change: FlowChange) => edit(place, (draft) => apply(draft, change)),

    addNode: (place: FlowPlace, given: NewNode) =>
      edit(place, (draft) => ({ ...draft, nodes: completeNodes([...draft.nodes, given], []) })),

    /** Another name rewrites every reference to the node. */
    changeNode: (place: FlowPlace, nodeId: string, { name, position, parameters }: NodeChange) =>
      edit(place, (draft, taken) => {
        const node = draft.nodes.find(({ id }) => id === nodeId);
        if (!node) throw new RequestError("not_found", "node", `The flow has no node ${nodeId}.`);
        const changed = {
          ...node,
          ...(position && { position }),
          ...(parameters && { parameters }),
        };
        const withChange = {
          ...draft,
          nodes: draft.nodes.map((one) => (one.id === nodeId ? changed : one)),
        };
        if (name === undefined || name === node.name) return withChange;
        const renamed = renameNode(withChange, nodeId, name, registry, taken)?.flow ?? withChange;
        if (!registry.get(node.type)?.isTool) return renamed;
        // A tool name in the same change is kept; otherwise it is derived from the new name.
        const { toolName = "" } = changed.parameters;
        const written = toolName === node.parameters.toolName ? "" : toolName;
        const withTool = (one: FlowNode): FlowNode =>
          one.id === nodeId
            ? { ...one, parameters: { ...one.parameters, toolName: written } }
            : one;
        return { ...renamed, nodes: renamed.nodes.map(withTool) };
      }),

    removeNode: (place: FlowPlace, nodeId: string) =>
      edit(place, (draft) => {
        if (!draft.nodes.some(({ id }) => id === nodeId))
          throw new RequestError("not_found", "node", `The flow has no node ${nodeId}.`);
        return {
          ...draft,
          nodes: draft.nodes.filter(({ id }) => id !== nodeId),
          edges: draft.edges.filter(({ source, target }) => source !== nodeId && target !== nodeId),
        };
      }),

    addEdge: (place: FlowPlace, edge: NewEdge) =>
      edit(place, (draft) => ({ ...draft, edges: completeEdges([...draft.edges, edge]) })),

    removeEdge: (place: FlowPlace, edgeId: string) =>
      edit(place, (draft) => {
        if (!draft.edges.some(({ id }) => id === edgeId))
          throw new RequestError("not_found", "edge", `The flow has no edge ${edgeId}.`);
        return { ...draft, edges: draft.edges.filter(({ id }) => id !== edgeId) };
      }),

    async remove(place: FlowPlace): Promise<void> {
      const deleted = await store.deleteFlow(place, now());
      if (deleted.outcome !== "deleted") throw faultOf(deleted, place);
    },

    async publish(place: FlowPlace, words: { note: string; by: string }): Promise<DescribedFlow> {
      const prepare = publishing({ ...words, at: now() });
      return saved(await store.publishFlow(place, prepare), place);
    },

    /** An older version becomes the newest, and the draft too. */
    async rollBack(place: FlowPlace, version: number, by: string): Promise<DescribedFlow> {
      const at = now();
      // Its names were good once, so they are not held to the rule for new ones.
      const edit =
        (graph: FlowGraph): EditFlow =>
        ({ flow, taken }) =>
          finishDraft({ ...flowOf(flow), ...graph }, graph.nodes, taken, registry);
      const prepare = publishing({ note: `Back to version ${version}`, by, at });
      const back = await store.rollBackFlow(place, version, at, edit, prepare);
      return saved(back, { ...place, version });
    },
  };
}

interface Place {
  app?: string;
  id?: string;
  version?: number;
}

function faultOf(untouched: RejectedEdit, { app, id, version }: Place): RequestError {
  switch (untouched.outcome) {
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
        `The flow has changed since: it is at revision ${untouched.revision} now. Load it again, and repeat your change.`,
      );
  }
}

const flowOf = (flow: StoredFlow | undefined) => ({
  name: flow?.name,
  description: flow?.description,
});
