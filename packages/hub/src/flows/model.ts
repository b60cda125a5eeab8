/** Apps and flows: drafts, published versions, tool names and triggers. */
import type { FlowEdge, FlowNode } from "@signalbox/rules/flows/model.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { Trip } from "@signalbox/rules/match/breaker.ts";
import type { SubscriptionState } from "../connections/model.ts";
import type { Row } from "../kernel/store/sql.ts";

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

export interface FlowPage {
  flows: StoredFlow[];
  hasMore: boolean;
}

export interface StoredFlow {
  id: string;
  tenant: string;
  app: string;
  name: string;
  description: string;
  /** The draft. Published versions never change. */
  graph: FlowGraph;
  /** Increases with each change of the draft and with each publication. */
  revision: number;
  /** The published version; null if none is published. */
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

/** A trigger node of a published version. */
export interface StoredTrigger {
  tenant: string;
  app: string;
  flow_id: string;
  node_id: string;
  version: number;
  kind: "intent" | "event" | "schedule" | "other";
  /** Null unless `kind` is `intent`. */
  tool_name: string | null;
  /** Null unless `kind` is `event`. */
  source: string | null;
  /** Null unless `kind` is `event`. If an event trigger has no type, it listens to every type. */
  type: string | null;
  active: boolean;
  /** The node's configuration: describes the tool or the schedule, or selects the events. */
  config: JsonObject;
}

/** A trigger with the tenant's revision of triggers at which this version was published; 0 if unknown. */
export interface RevisedTrigger extends StoredTrigger {
  revision: number;
}

/** Selects triggers, sorted by `flow_id` and `node_id`; by default all. */
export interface TriggerPage {
  flow?: string | undefined;
  after?: Pick<StoredTrigger, "flow_id" | "node_id"> | undefined;
  limit?: number | undefined;
}

/** The origin of an event: `sources` are its kind of sender, and its endpoint, connection or flow. */
export interface ExplainedEvent {
  id: string;
  sources: readonly string[];
  type: string;
}

export interface VerdictCounts {
  /** The revision of the tenant's triggers with which the event was compared; 0 if unknown. */
  revision: number;
  /** The number of triggers that started a run for the event. */
  started: number;
  /** The number of stored verdicts, and of event triggers without one; above 1,000 a lower bound. */
  total: number;
}

/** The last time that a circuit breaker stopped a trigger. */
export interface StoredTrip extends Trip {
  flow_id: string;
  node_id: string;
  at: number;
}

export interface NewTrigger extends Omit<StoredTrigger, "tenant" | "app" | "flow_id" | "version"> {
  /** When the trigger fires, if it has a schedule. Stored only if the trigger is active. */
  schedule?: NewSchedule | undefined;
}

/**
 * Computes the new draft from the stored flow, inside the transaction that saves it. Concurrent edits
 * therefore cannot overwrite each other, and tool names stay unique within the app. If it throws,
 * the transaction is rolled back. It is called again if the database retries the transaction.
 */
export type EditFlow = (stored: {
  /** Undefined if the flow is new. */
  flow: StoredFlow | undefined;
  /** The tool names of the app's other flows. */
  takenNames: ReadonlySet<string>;
  /** The flow's callable tool names, including aliases, each with the id of its node. */
  callable: ReadonlyMap<string, string>;
}) => FlowEdit & {
  /** The tool names of the draft. A name that belongs to another flow of the app is an error. */
  toolNames: readonly { name: string }[];
};

/**
 * Selects the flows of an app to create or edit. Like `EditFlow`, it may be called again, and an
 * exception rolls the transaction back.
 */
export type PlanFlows = (flows: StoredFlow[]) => readonly {
  id: string;
  /** Replaces `id` if a flow of another app or tenant has that id. */
  fallbackId?: string | undefined;
  edit: EditFlow;
}[];

/** An app that is migrated from the tables of a legacy system. */
export interface LegacyApp {
  app: StoredApp;
  plan: PlanFlows;
  /** Returns undefined if the flow stays a draft. `saved` are the flows of all migrated apps. */
  publish: (flow: StoredFlow, saved: readonly StoredFlow[]) => Publication | undefined;
}

/**
 * Converts the rows of the legacy tables: flows, oldest first, and apps, if that table exists.
 * Returns undefined to postpone the migration. Like `EditFlow`, it may be called again.
 */
export type ConvertFlows = (
  flows: readonly Row[],
  apps: readonly Row[],
) => readonly LegacyApp[] | undefined;

export type LegacyMigration =
  /** `none`: there is no legacy table. `postponed`: `convert` returned undefined. */
  | { outcome: "none" | "postponed" }
  /** The saved flows of each app, and the new name of the legacy table. */
  | { outcome: "migrated"; apps: StoredFlow[][]; table: string };

/** An edit that changed nothing, and the reason. */
export type RejectedEdit =
  | { outcome: "no_app" | "no_flow" | "no_version" }
  /** Another edit has changed the flow; `revision` is the current one. */
  | { outcome: "changed"; revision: number };

export type EditResult = { outcome: "saved"; flow: StoredFlow } | RejectedEdit;
export type DeleteResult = { outcome: "deleted" } | RejectedEdit;

export interface FlowKey {
  tenant: string;
  id: string;
  /** Optimistic locking: the flow must still have this revision. */
  ifRevision?: number | undefined;
}

export interface Publication {
  graph: FlowGraph;
  triggers: NewTrigger[];
  note: string;
  by: string;
  at: number;
  /** If this version renames a tool, its former name stays callable, as an alias, until this time. */
  aliasUntil: number;
}

/** A trigger of a published flow, with the state of its subscription or schedule. */
export interface TriggerState
  extends Pick<StoredTrigger, "node_id" | "kind" | "tool_name" | "source" | "type" | "active"> {
  /** The state of the subscription to a connection's trigger; null if there is no subscription. */
  state: SubscriptionState | null;
  /** The error of the subscription. */
  error: string | null;
  /**
   * When the trigger last started a run. Null if none of the flow's newest runs is from this trigger,
   * and no event of a connection has fired it.
   */
  last_fired_at: number | null;
  /** When the schedule fires next. */
  next_at: number | null;
}

/** `changed`: the draft differs from the published version. */
export type DraftState = "unpublished" | "published" | "changed";

/** When a schedule fires. `next_at` is null if it never fires again. */
export interface NewSchedule {
  cron: string;
  time_zone: string;
  next_at: number | null;
}
