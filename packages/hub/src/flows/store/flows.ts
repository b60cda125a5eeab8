/** Flows: their drafts and their published versions. */

import {
  removeSubscriptions,
  syncSubscriptions,
} from "../../connections/store/trigger-subscriptions.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { columnsOf, type RowOf } from "../../kernel/store/schema.ts";
import { type Dialect, first, inLists, notify, query, type Verb } from "../../kernel/store/sql.ts";
import { read, write } from "../../kernel/store/verb.ts";
import type {
  DeleteResult,
  DraftState,
  EditFlow,
  EditResult,
  FlowGraph,
  FlowKey,
  FlowPage,
  FlowVersion,
  PlanFlows,
  Publication,
  RejectedEdit,
  StoredApp,
  StoredFlow,
} from "../model.ts";
import { flowTables } from "../tables.ts";
import { createApp, lockApp } from "./apps.ts";
import { removeSchedules, syncSchedules } from "./schedules.ts";
import {
  findCallableNames,
  findTakenNames,
  saveDraftNames,
  savePublishedNames,
} from "./tool-names.ts";
import { insertTriggers, markTriggersChanged, setTriggerRevision } from "./triggers.ts";

const { flows } = flowTables;
type FlowRow = Omit<RowOf<typeof flows>, "deleted">;
const FLOW_FIELDS = columnsOf(flows, ["deleted"]).join(", ");

const toFlow = ({ tenant_id, graph, ...rest }: FlowRow): StoredFlow => ({
  tenant: tenant_id,
  ...rest,
  graph: JSON.parse(graph) as FlowGraph,
});

function* notifySaved(row: FlowRow | undefined): Verb<EditResult> {
  const flow = toFlow(row as FlowRow);
  yield* notifyFlow(flow);
  return { outcome: "saved", flow };
}

const notifyFlow = ({ tenant, id, revision }: StoredFlow): Verb<void> =>
  notify({ topic: "flow", tenant, flow: id, revision });

export const createFlow = write(
  "tenant",
  function* (
    key: { id: string; tenant: string; app: string; at: number },
    edit: EditFlow,
  ): Verb<EditResult> {
    const { id, tenant, app, at } = key;
    if (!(yield* lockApp(this.dialect, tenant, app))) return { outcome: "no_app" };
    const takenNames = yield* findTakenNames(key, at);
    const { name, description, graph, toolNames } = edit({
      flow: undefined,
      takenNames,
      callable: new Map(),
    });
    const row = yield* first<FlowRow>(
      "INSERT INTO flows (id, tenant_id, app, name, description, graph, revision, created_at, updated_at) " +
        `VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?) RETURNING ${FLOW_FIELDS}`,
      [id, tenant, app, name, description, JSON.stringify(graph), at, at],
    );
    yield* saveDraftNames(key, toolNames, at);
    return yield* notifySaved(row);
  },
);

export const editFlow = write(
  "tenant",
  function* (key: FlowKey, at: number, edit: EditFlow): Verb<EditResult> {
    const found = yield* lockFlow(this.dialect, key);
    if ("outcome" in found) return found;
    const takenNames = yield* findTakenNames(found, at);
    const callable = yield* findCallableNames(found, at);
    const { name, description, graph, toolNames } = edit({ flow: found, takenNames, callable });
    const row = yield* first<FlowRow>(
      "UPDATE flows SET name = ?, description = ?, graph = ?, revision = revision + 1, updated_at = ? " +
        `WHERE id = ? RETURNING ${FLOW_FIELDS}`,
      [name, description, JSON.stringify(graph), at, found.id],
    );
    yield* saveDraftNames(found, toolNames, at);
    return yield* notifySaved(row);
  },
);

/**
 * Creates and edits flows of an app in one transaction. Creates the app if it does not exist.
 * `plan` receives the app's flows. A deleted flow with the same id is restored. An id that
 * belongs to a flow of another app or tenant is an error, unless the plan has a `fallbackId`.
 */
export const saveFlows = write("tenant", function* (app: StoredApp, plan: PlanFlows) {
  const { tenant, slug, updated_at: at } = app;
  yield* createApp.call(this, app);
  yield* lockApp(this.dialect, tenant, slug);
  const rows = yield* query<FlowRow>(
    `SELECT ${FLOW_FIELDS} FROM flows WHERE tenant_id = ? AND app = ? AND deleted = 0 ORDER BY id`,
    [tenant, slug],
  );
  const saved: StoredFlow[] = [];
  for (const { id: wanted, fallbackId, edit } of plan(rows.map(toFlow))) {
    const exists = yield* findOrRestore(wanted, tenant, slug);
    const id = exists === undefined ? fallbackId : wanted;
    if (id === undefined)
      throw new RequestError(
        "conflict",
        "id",
        `The id ${wanted} belongs to a flow of another app or tenant: use another id, or omit it.`,
      );
    const edited = exists
      ? yield* editFlow.call(this, { tenant, id }, at, edit)
      : yield* createFlow.call(this, { id, tenant, app: slug, at }, edit);
    if (edited.outcome === "saved") saved.push(edited.flow);
  }
  return saved;
});

/**
 * Returns whether a flow with this id exists, and restores a deleted flow. Returns undefined if the id
 * belongs to a flow of another app or tenant.
 */
function* findOrRestore(id: string, tenant: string, app: string): Verb<boolean | undefined> {
  const row = yield* first<{ tenant_id: string; app: string; deleted: number }>(
    "SELECT tenant_id, app, deleted FROM flows WHERE id = ?",
    [id],
  );
  if (!row) return false;
  if (row.tenant_id !== tenant || (row.app !== app && row.deleted === 0)) return undefined;
  if (row.deleted === 0) return true;
  // Retention may have removed the flow in the meantime.
  const restore = "UPDATE flows SET deleted = 0, app = ? WHERE id = ? RETURNING id";
  return (yield* first(restore, [app, id])) !== undefined;
}

function* findFlow(tenant: string, id: string): Verb<StoredFlow | undefined> {
  const row = yield* first<FlowRow>(
    `SELECT ${FLOW_FIELDS} FROM flows WHERE id = ? AND tenant_id = ? AND deleted = 0`,
    [id, tenant],
  );
  return row && toFlow(row);
}

export const getFlow = read("tenant", findFlow);

/**
 * The maximum size of the graphs of a page, which are parsed and validated together. A page has at least
 * one flow.
 */
const MAX_PAGE_BYTES = 2 * 1024 * 1024;

/** Ordered by id. A page with large flows is shorter than the limit. */
export const listFlows = read(
  "tenant",
  function* (
    tenant: string,
    {
      app,
      after = "",
      limit,
    }: { app?: string | undefined; after?: string | undefined; limit: number },
  ): Verb<FlowPage> {
    const condition = `tenant_id = ? AND deleted = 0 AND id > ?${app === undefined ? "" : " AND app = ?"}`;
    const values = [tenant, after, ...(app === undefined ? [] : [app])];
    const sizes = yield* query<{ size: number }>(
      `SELECT OCTET_LENGTH(graph) AS size FROM flows WHERE ${condition} ORDER BY id LIMIT ?`,
      [...values, limit + 1],
    );
    let bytes = 0;
    const overflow = sizes.findIndex(({ size }, at) => {
      bytes += size;
      return at === limit || (at > 0 && bytes > MAX_PAGE_BYTES);
    });
    const count = overflow < 0 ? sizes.length : overflow;
    const rows = yield* query<FlowRow>(
      `SELECT ${FLOW_FIELDS} FROM flows WHERE ${condition} ORDER BY id LIMIT ?`,
      [...values, count],
    );
    return { flows: rows.map(toFlow), hasMore: count < sizes.length };
  },
);

/** Returns the states by the id of the flow. */
export const listDraftStates = read(
  "tenant",
  function* (tenant: string, flows: readonly string[]): Verb<Map<string, DraftState>> {
    const states = new Map<string, DraftState>();
    for (const { list, params } of inLists(flows, this.dialect, 1))
      for (const { id, changed } of yield* query<{ id: string; changed: number | null }>(
        "SELECT f.id, CASE WHEN f.version IS NULL THEN NULL WHEN v.graph = f.graph THEN 0 ELSE 1 END AS changed " +
          "FROM flows f LEFT JOIN flow_versions v ON v.flow_id = f.id AND v.version = f.version " +
          `WHERE f.id IN ${list} AND f.tenant_id = ?`,
        [...params, tenant],
      ))
        states.set(id, changed === null ? "unpublished" : changed === 0 ? "published" : "changed");
    return states;
  },
);

/**
 * Returns the id of the app's flow that owns this tool name: in its draft, in its published version, or
 * as an alias that is valid at `now`.
 */
export const findToolOwner = read(
  "tenant",
  function* (tenant: string, app: string, name: string, now: number): Verb<string | undefined> {
    const row = yield* first<{ flow_id: string }>(
      "SELECT flow_id FROM tool_names WHERE tenant_id = ? AND app = ? AND name = ? " +
        "AND (drafted = 1 OR alias_until IS NULL OR alias_until > ?)",
      [tenant, app, name, now],
    );
    return row?.flow_id;
  },
);

/** Keeps the versions of the flow, since existing runs need them. */
export const deleteFlow = write("tenant", function* (key: FlowKey, at: number): Verb<DeleteResult> {
  const found = yield* lockFlow(this.dialect, key);
  if ("outcome" in found) return found;
  const { id, tenant, app } = found;
  yield* query("UPDATE flows SET deleted = 1, version = NULL, updated_at = ? WHERE id = ?", [
    at,
    id,
  ]);
  yield* query("DELETE FROM tool_names WHERE flow_id = ?", [id]);
  yield* query("DELETE FROM triggers WHERE flow_id = ?", [id]);
  yield* removeSchedules(id);
  yield* markTriggersChanged(tenant, app);
  yield* removeSubscriptions(this.dialect, tenant, [id], at);
  yield* notifyFlow(found);
  return { outcome: "deleted" };
});

/**
 * Removes flows that were deleted before this time, and not before `since`, and have no runs. Returns
 * the number of removed flows.
 */
export const sweepFlows = write(
  "own",
  function* (deletedBefore: number, limit: number, since?: number): Verb<number> {
    const removable = yield* query<{ id: string }>(
      "SELECT id FROM flows WHERE deleted = 1 AND updated_at >= ? AND updated_at < ? AND NOT EXISTS " +
        "(SELECT 1 FROM runs r WHERE r.tenant_id = flows.tenant_id AND r.flow_id = flows.id) " +
        `ORDER BY updated_at LIMIT ?${this.dialect.skipLocked}`,
      [since ?? 0, deletedBefore, limit],
    );
    const ids = removable.map(({ id }) => id);
    for (const { list, params } of inLists(ids, this.dialect, 0)) {
      for (const table of ["flow_versions", "trigger_firings"])
        yield* query(`DELETE FROM ${table} WHERE flow_id IN ${list}`, params);
      yield* query(`DELETE FROM flows WHERE id IN ${list}`, params);
    }
    return removable.length;
  },
);

/** Publishes the version that `prepare` returns for the stored flow. */
export const publishFlow = write(
  "tenant",
  function* (key: FlowKey, prepare: (flow: StoredFlow) => Publication): Verb<EditResult> {
    const found = yield* lockFlow(this.dialect, key);
    if ("outcome" in found) return found;
    const { graph, triggers, note, by, at, aliasUntil } = prepare(found);
    const newest = yield* first<{ version: number | null }>(
      "SELECT max(version) AS version FROM flow_versions WHERE flow_id = ? AND version > 0",
      [found.id],
    );
    const version = (newest?.version ?? 0) + 1;
    yield* query(
      "INSERT INTO flow_versions (flow_id, version, graph, note, created_by, created_at) VALUES (?, ?, ?, ?, ?, ?)",
      [found.id, version, JSON.stringify(graph), note, by, at],
    );
    const former = yield* query<{ tool_name: string | null; node_id: string }>(
      "DELETE FROM triggers WHERE flow_id = ? RETURNING tool_name, node_id",
      [found.id],
    );
    yield* insertTriggers(found, version, triggers);
    yield* syncSchedules(found, triggers);
    yield* savePublishedNames(found, former, triggers, at, aliasUntil);
    const row = yield* first<FlowRow>(
      `UPDATE flows SET version = ?, revision = revision + 1, updated_at = ? WHERE id = ? RETURNING ${FLOW_FIELDS}`,
      [version, at, found.id],
    );
    yield* markTriggersChanged(found.tenant, found.app);
    yield* setTriggerRevision(found);
    yield* syncSubscriptions(this.dialect, found, triggers, at);
    return yield* notifySaved(row);
  },
);

/** The number of drafts that are stored per flow, besides those of runs that have not ended. */
const KEPT_DRAFTS = 20;
/** Runs that have not ended are searched among so many newest runs of the flow. */
const RECENT_RUNS = 1_000;

/**
 * Stores the graph of a draft for a test run, as a version with a negative number, and returns the
 * number. Removes old versions of drafts. Returns undefined if the flow does not exist.
 */
export const saveDraftVersion = write(
  "tenant",
  function* (
    key: FlowKey,
    { graph, by, at }: { graph: FlowGraph; by: string; at: number },
  ): Verb<number | undefined> {
    const found = yield* lockFlow(this.dialect, key);
    if ("outcome" in found) return undefined;
    const graphJson = JSON.stringify(graph);
    const newest = yield* first<{ version: number; same: number }>(
      "SELECT version, CASE WHEN graph = ? THEN 1 ELSE 0 END AS same FROM flow_versions " +
        "WHERE flow_id = ? AND version < 0 ORDER BY version LIMIT 1",
      [graphJson, key.id],
    );
    if (newest?.same === 1) return newest.version;
    const version = (newest?.version ?? 0) - 1;
    yield* query(
      "INSERT INTO flow_versions (flow_id, version, graph, note, created_by, created_at) VALUES (?, ?, ?, ?, ?, ?)",
      [key.id, version, graphJson, "", by, at],
    );
    yield* removeOldDrafts(this.dialect, key, version + KEPT_DRAFTS);
    return version;
  },
);

/**
 * Removes versions of drafts with the number `from` or above, which are the oldest: their numbers count
 * down. Keeps those that a run can still need.
 */
function* removeOldDrafts(dialect: Dialect, { tenant, id }: FlowKey, from: number): Verb<void> {
  const old = yield* query<{ version: number }>(
    "SELECT version FROM flow_versions WHERE flow_id = ? AND version < 0 AND version >= ?",
    [id, from],
  );
  if (old.length === 0) return;
  const open = yield* query<{ version: number }>(
    "SELECT version FROM (SELECT version, finished_at FROM runs WHERE tenant_id = ? AND flow_id = ? " +
      "ORDER BY id DESC LIMIT ?) AS newest WHERE version < 0 AND finished_at IS NULL",
    [tenant, id, RECENT_RUNS],
  );
  const needed = new Set(open.map(({ version }) => version));
  const unused = old.map(({ version }) => version).filter((version) => !needed.has(version));
  for (const { list, params } of inLists(unused, dialect, 1))
    yield* query(`DELETE FROM flow_versions WHERE flow_id = ? AND version IN ${list}`, [
      id,
      ...params,
    ]);
}

/** Replaces the draft with an earlier version, adapted by `edit`, and publishes it. */
export const rollBackFlow = write(
  "tenant",
  function* (
    key: FlowKey,
    version: number,
    at: number,
    edit: (graph: FlowGraph) => EditFlow,
    prepare: (flow: StoredFlow) => Publication,
  ): Verb<EditResult> {
    const found = yield* lockFlow(this.dialect, key);
    if ("outcome" in found) return found;
    const { tenant, id } = found;
    const graph = yield* getVersion.call(this, tenant, id, version);
    if (!graph) return { outcome: "no_version" };
    yield* editFlow.call(this, { tenant, id }, at, edit(graph));
    return yield* publishFlow.call(this, { tenant, id }, prepare);
  },
);

/** The published versions, the newest first. */
export const listVersions = read("tenant", function* (tenant: string, id: string) {
  return yield* query<FlowVersion>(
    "SELECT v.version, v.note, v.created_by, v.created_at FROM flow_versions v JOIN flows f ON f.id = v.flow_id " +
      "WHERE v.flow_id = ? AND v.version > 0 AND f.tenant_id = ? ORDER BY v.version DESC",
    [id, tenant],
  );
});

export const getVersion = read(
  "tenant",
  function* (tenant: string, id: string, version: number): Verb<FlowGraph | undefined> {
    const row = yield* first<{ graph: string }>(
      "SELECT v.graph FROM flow_versions v JOIN flows f ON f.id = v.flow_id " +
        "WHERE v.flow_id = ? AND v.version = ? AND f.tenant_id = ?",
      [id, version, tenant],
    );
    return row && (JSON.parse(row.graph) as FlowGraph);
  },
);

/** Locks the app of the flow, and returns the flow; or the reason why it cannot be edited. */
function* lockFlow(
  dialect: Dialect,
  { tenant, id, ifRevision }: FlowKey,
): Verb<StoredFlow | RejectedEdit> {
  const found = yield* first<{ app: string }>(
    "SELECT app FROM flows WHERE id = ? AND tenant_id = ? AND deleted = 0",
    [id, tenant],
  );
  if (!found || !(yield* lockApp(dialect, tenant, found.app))) return { outcome: "no_flow" };
  const flow = yield* findFlow(tenant, id);
  if (!flow) return { outcome: "no_flow" };
  if (ifRevision !== undefined && ifRevision !== flow.revision)
    return { outcome: "changed", revision: flow.revision };
  return flow;
}
