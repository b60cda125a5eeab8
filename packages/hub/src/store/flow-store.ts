/** What the store keeps of apps and flows: drafts, published versions, tool names and triggers. */
import type { FlowEdge, FlowNode } from "@signalbox/rules/flows/model.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { Trip } from "@signalbox/rules/match/breaker.ts";
import type { Row } from "./sql.ts";

export interface StoredApp {
  tenant: string;
  slug: string;
  name: string;
  description: string;
  created_at: number;
  updated_at: number;
}

export interface FlowGraph {
  nodes: FlowNode[];
  edges: FlowEdge[];
}

export interface StoredFlow {
  id: string;
  tenant: string;
  app: string;
  name: string;
  description: string;
  /** The draft that people edit. */
  graph: FlowGraph;
  /** Grows with each change of the draft or of what is published. */
  revision: number;
  /** The version that runs; null while none was published. */
  version: number | null;
  created_at: number;
  updated_at: number;
}

type FlowEdit = Pick<StoredFlow, "name" | "description" | "graph">;

export interface FlowVersion {
  version: number;
  note: string;
  created_by: string;
  created_at: number;
}

/** Where a run can start, as the published version has it. */
export interface StoredTrigger {
  tenant: string;
  app: string;
  flow_id: string;
  node_id: string;
  version: number;
  kind: "intent" | "event" | "other";
  /** Of an intent. */
  tool_name: string | null;
  /** Of an event: which sender, and which type (null: any). */
  source: string | null;
  type: string | null;
  active: boolean;
  /** What tools are listed and events are matched by. */
  config: JsonObject;
}

/** A trigger that was last stopped then; see match/breaker.ts. */
export interface StoredTrip extends Trip {
  flow_id: string;
  node_id: string;
  at: number;
}

export type NewTrigger = Omit<StoredTrigger, "tenant" | "app" | "flow_id" | "version">;

/**
 * Makes the new draft out of what is stored, inside the transaction that stores it: so two edits at
 * once cannot undo each other, and no two triggers of an app get one name. Whatever it throws
 * leaves everything as it was. It may be called again, where the database asks for another try.
 */
export type EditFlow = (found: {
  flow: StoredFlow | undefined;
  /** All names of the app, but the flow's own. */
  taken: ReadonlySet<string>;
  /** Names of the flow that agents can call by, former ones too, each with the node that it leads to. */
  kept: ReadonlyMap<string, string>;
}) => FlowEdit & {
  /** The names of the draft's intents. One that another flow of the app has is an error. */
  toolNames: readonly { name: string }[];
};

/** As an edit: it may be called again, and what it throws leaves everything as it was. */
export type PlanFlows = (flows: StoredFlow[]) => readonly {
  id: string;
  /** The id that it gets where the first is that of a flow elsewhere. */
  otherwise?: string | undefined;
  edit: EditFlow;
}[];

/** What an older system's table of flows comes to, app by app. */
export interface LegacyApp {
  app: StoredApp;
  plan: PlanFlows;
  /** Undefined for one that stays a draft. */
  publish: (flow: StoredFlow) => Publication | undefined;
}

/**
 * As a plan, for the rows of an older table in the order of their age, and those of its table of apps
 * where it had one. Undefined leaves everything for another time.
 */
export type ConvertFlows = (
  flows: readonly Row[],
  apps: readonly Row[],
) => readonly LegacyApp[] | undefined;

export type LegacyMigration =
  /** There is no older table, or it is left for another time. */
  | { outcome: "none" | "postponed" }
  /** What was saved of each app, and the name under which the older table stays. */
  | { outcome: "migrated"; apps: StoredFlow[][]; table: string };

/** Why nothing was done. */
export type RejectedEdit =
  | { outcome: "no_app" | "no_flow" | "no_version" }
  /** Somebody else has changed it since. */
  | { outcome: "changed"; revision: number };

export type EditResult = { outcome: "saved"; flow: StoredFlow } | RejectedEdit;
export type DeleteResult = { outcome: "deleted" } | RejectedEdit;

export interface FlowKey {
  tenant: string;
  id: string;
  /** Only where the flow is still at this revision. */
  ifRevision?: number | undefined;
}

export interface Publication {
  graph: FlowGraph;
  triggers: NewTrigger[];
  note: string;
  by: string;
  at: number;
  /** Until when names that the version no longer has go on working. */
  aliasUntil: number;
}

export interface FlowStore {
  /** False where there is one with this slug. */
  createApp(app: StoredApp): Promise<boolean>;
  getApp(tenant: string, slug: string): Promise<StoredApp | undefined>;
  listApps(tenant: string, after: string, limit: number): Promise<StoredApp[]>;
  updateApp(
    tenant: string,
    slug: string,
    change: { name?: string; description?: string },
    at: number,
  ): Promise<StoredApp | undefined>;
  /** With all of its flows; runs that are under way come to their end. */
  deleteApp(tenant: string, slug: string, at: number): Promise<boolean>;

  createFlow(
    flow: { id: string; tenant: string; app: string; at: number },
    edit: EditFlow,
  ): Promise<EditResult>;
  editFlow(key: FlowKey, at: number, edit: EditFlow): Promise<EditResult>;
  /**
   * Makes and changes any number of an app's flows: all of them, or none. The app is made where it is
   * not there; `plan` is told what flows it has. A deleted flow of this id is taken up again; one
   * that is another app's or tenant's is a fault, unless there is an id to take otherwise.
   */
  saveFlows(app: StoredApp, plan: PlanFlows): Promise<StoredFlow[]>;
  /**
   * Saves and publishes what `convert` makes of the flows that an older system has left in this
   * database, once: all of them, or none. Their table stays as it is, under another name.
   */
  migrateLegacyFlows(convert: ConvertFlows): Promise<LegacyMigration>;
  getFlow(tenant: string, id: string): Promise<StoredFlow | undefined>;
  listFlows(
    tenant: string,
    query: { app?: string | undefined; after?: string | undefined; limit: number },
  ): Promise<StoredFlow[]>;
  deleteFlow(key: FlowKey, at: number): Promise<DeleteResult>;
  /** Forgets flows that were deleted before, and that no run is of any more; answers with how many. */
  sweepFlows(deletedBefore: number, limit: number): Promise<number>;
  /** Makes a version out of what `prepare` gives for the flow as it is, and lets it run. */
  publishFlow(key: FlowKey, prepare: (flow: StoredFlow) => Publication): Promise<EditResult>;
  /** Makes a version the draft by what `edit` gives for its graph, and publishes that: both, or neither. */
  rollBackFlow(
    key: FlowKey,
    version: number,
    at: number,
    edit: (graph: FlowGraph) => EditFlow,
    prepare: (flow: StoredFlow) => Publication,
  ): Promise<EditResult>;
  listVersions(tenant: string, id: string): Promise<FlowVersion[]>;
  getVersion(tenant: string, id: string, version: number): Promise<FlowGraph | undefined>;

  /** The intents of an app's published flows, in the order of their tool names. */
  listTools(tenant: string, app: string, after: string, limit: number): Promise<StoredTrigger[]>;
  /** By its name, or by a former one that still works at `now`. */
  findTool(
    tenant: string,
    app: string,
    name: string,
    now: number,
  ): Promise<{ trigger: StoredTrigger; alias: boolean } | undefined>;
  getTrigger(tenant: string, flow: string, node: string): Promise<StoredTrigger | undefined>;
  /**
   * The active event triggers for a sender (by any of its names) and a type, with the number that
   * grows whenever a trigger of the tenant changes.
   */
  findTriggers(
    tenant: string,
    sources: readonly string[],
    type: string,
  ): Promise<{ revision: number; triggers: StoredTrigger[] }>;
  /** All event triggers of a tenant, for explaining why none fired. */
  listEventTriggers(tenant: string, limit: number): Promise<StoredTrigger[]>;
  /** The triggers of these flows that were stopped from `since` on, told to the minute. */
  listTrips(tenant: string, flows: readonly string[], since: number): Promise<StoredTrip[]>;
}
