/** The triggers of published flows. */

import { columnsOf, type RowOf } from "../../kernel/store/schema.ts";
import { first, insert, notify, query, type Value, type Verb } from "../../kernel/store/sql.ts";
import { read } from "../../kernel/store/verb.ts";
import { deleteUnusedBreakers } from "../matching/store/breakers.ts";
import type {
  ExplainedEvent,
  NewTrigger,
  RevisedTrigger,
  StoredTrigger,
  TriggerPage,
  TriggerState,
  VerdictCounts,
} from "../model.ts";
import { flowTables } from "../tables.ts";

const { triggers: table } = flowTables;
export type TriggerRow = Omit<RowOf<typeof table>, "revision">;
const TRIGGER_COLUMNS = columnsOf(table, ["revision"]);
export const TRIGGER_FIELDS = TRIGGER_COLUMNS.join(", ");

export const toTrigger = ({ tenant_id, active, config, ...rest }: TriggerRow): StoredTrigger => ({
  tenant: tenant_id,
  ...rest,
  active: active === 1,
  config: JSON.parse(config) as StoredTrigger["config"],
});

export function* insertTriggers(
  { id, tenant, app }: { id: string; tenant: string; app: string },
  version: number,
  triggers: readonly NewTrigger[],
): Verb<void> {
  const rows = triggers.map((trigger): Value[] => [
    tenant,
    app,
    id,
    trigger.node_id,
    version,
    trigger.kind,
    trigger.tool_name,
    trigger.source,
    trigger.type,
    trigger.active ? 1 : 0,
    JSON.stringify(trigger.config),
  ]);
  yield* insert("triggers", TRIGGER_COLUMNS, rows);
}

/**
 * Increments the revision of the tenant's triggers, so that plans from former triggers become stale, and
 * notifies listeners.
 */
export function* markTriggersChanged(tenant: string, app: string): Verb<void> {
  yield* query("UPDATE tenants SET triggers_rev = triggers_rev + 1 WHERE id = ?", [tenant]);
  yield* deleteUnusedBreakers(tenant);
  yield* notify({ topic: "tools", tenant, app });
}

/** Stores when the triggers of a flow were published. Must be called after `markTriggersChanged`. */
export function* setTriggerRevision({ id, tenant }: { id: string; tenant: string }): Verb<void> {
  yield* query(
    "UPDATE triggers SET revision = (SELECT triggers_rev FROM tenants WHERE id = ?) WHERE flow_id = ?",
    [tenant, id],
  );
}

/** The number of the flow's newest runs in which the last firing of a trigger is searched. */
const RECENT_RUNS = 500;

export const listTriggerStates = read("tenant", function* (tenant: string, flow: string): Verb<
  TriggerState[]
> {
  const rows = yield* query<Omit<TriggerState, "active"> & { active: number }>(
    "SELECT t.node_id, t.kind, t.tool_name, t.source, t.type, t.active, s.state, s.error, " +
      "f.fired_at AS last_fired_at, h.next_at FROM triggers t " +
      "LEFT JOIN trigger_subscriptions s ON s.flow_id = t.flow_id AND s.node_id = t.node_id AND s.connection_id = t.source AND s.wanted <> 'removed' " +
      "LEFT JOIN trigger_firings f ON f.flow_id = t.flow_id AND f.node_id = t.node_id " +
      "LEFT JOIN schedules h ON h.flow_id = t.flow_id AND h.node_id = t.node_id " +
      "WHERE t.flow_id = ? AND t.tenant_id = ? ORDER BY t.node_id",
    [flow, tenant],
  );
  const runs = yield* query<{ trigger_node: string; created_at: number }>(
    "SELECT trigger_node, created_at FROM runs WHERE tenant_id = ? AND flow_id = ? AND version > 0 ORDER BY id DESC LIMIT ?",
    [tenant, flow, RECENT_RUNS],
  );
  // Reversed, so that the newest run of each trigger is set last.
  const fired = new Map(runs.toReversed().map((run) => [run.trigger_node, run.created_at]));
  return rows.map((row) => ({
    ...row,
    active: row.active === 1,
    last_fired_at: laterOf(row.last_fired_at, fired.get(row.node_id) ?? null),
  }));
});

const laterOf = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.max(a, b);

/** The active tools of an app's published flows, sorted by name. */
export const listTools = read(
  "tenant",
  function* (tenant: string, app: string, after: string, limit: number): Verb<StoredTrigger[]> {
    const rows = yield* query<TriggerRow>(
      `SELECT ${TRIGGER_FIELDS} FROM triggers WHERE tenant_id = ? AND app = ? AND active = 1 ` +
        "AND tool_name > ? ORDER BY tool_name LIMIT ?",
      [tenant, app, after, limit],
    );
    return rows.map(toTrigger);
  },
);

/** Finds a tool by its name, or by an alias that is valid at `now`. */
export const findTool = read(
  "tenant",
  function* (
    tenant: string,
    app: string,
    name: string,
    now: number,
  ): Verb<{ trigger: StoredTrigger; alias: boolean } | undefined> {
    const row = yield* first<TriggerRow>(
      `SELECT ${TRIGGER_FIELDS} FROM triggers WHERE tenant_id = ? AND app = ? AND tool_name = ?`,
      [tenant, app, name],
    );
    if (row) return { trigger: toTrigger(row), alias: false };
    const former = yield* first<{ flow_id: string; alias_node: string }>(
      "SELECT flow_id, alias_node FROM tool_names WHERE tenant_id = ? AND app = ? AND name = ? AND alias_until > ?",
      [tenant, app, name, now],
    );
    const trigger =
      former && (yield* getTrigger.call(this, tenant, former.flow_id, former.alias_node));
    return trigger && { trigger, alias: true };
  },
);

export const getTrigger = read(
  "tenant",
  function* (tenant: string, flow: string, node: string): Verb<StoredTrigger | undefined> {
    const row = yield* first<TriggerRow>(
      `SELECT ${TRIGGER_FIELDS} FROM triggers WHERE flow_id = ? AND node_id = ? AND tenant_id = ?`,
      [flow, node, tenant],
    );
    return row && toTrigger(row);
  },
);

/**
 * The active event triggers that listen to one of the sources and to the type. `revision` increases
 * with each change of the tenant's triggers.
 */
export const findTriggers = read(
  "tenant",
  function* (
    tenant: string,
    sources: readonly string[],
    type: string,
    page: TriggerPage = {},
  ): Verb<{ revision: number; triggers: StoredTrigger[] }> {
    // The revision is read first: after a concurrent change the triggers are newer than it, never older.
    const head = yield* first<{ triggers_rev: number }>(
      "SELECT triggers_rev FROM tenants WHERE id = ?",
      [tenant],
    );
    const revision = head?.triggers_rev ?? 0;
    if (revision === 0 || sources.length === 0) return { revision, triggers: [] };
    const rows = yield* query<TriggerRow>(
      ...selectListening({
        columns: TRIGGER_FIELDS,
        tenant,
        sources,
        type,
        also: "active = 1",
        values: [],
        page,
      }),
    );
    return { revision, triggers: rows.map(toTrigger) };
  },
);

/** Selects the event triggers that listen to one of the sources and to the type, sorted by their keys. */
function selectListening({
  columns,
  tenant,
  sources,
  type,
  also,
  values,
  page,
}: {
  columns: string;
  tenant: string;
  sources: readonly string[];
  type: string;
  /** A further condition, with its `values`. */
  also: string;
  values: readonly Value[];
  page: TriggerPage;
}): [sql: string, params: Value[]] {
  const part = partOf(page);
  const selects = [...new Set(sources)].flatMap((source) =>
    ["type = ?", "type IS NULL"].map((typed, index) => ({
      sql: `SELECT ${columns} FROM triggers WHERE tenant_id = ? AND source = ? AND ${typed} AND ${also}${part.sql}`,
      params: [tenant, source, ...(index === 0 ? [type] : []), ...values, ...part.params],
    })),
  );
  // Each part is limited, so that it does not read further than the page.
  const parts = selects.map(({ sql }) => `SELECT * FROM (${sql}) AS picked`);
  const limit = page.limit === undefined ? "" : " LIMIT ?";
  return [
    `${parts.join(" UNION ALL ")} ORDER BY flow_id, node_id${limit}`,
    [...selects.flatMap(({ params }) => params), ...limitOf(page)],
  ];
}

const limitOf = ({ limit }: TriggerPage): Value[] => (limit === undefined ? [] : [limit]);

/** The end of a statement that selects a page of rows with the keys of triggers. */
export function partOf({ flow, after, ...page }: TriggerPage): { sql: string; params: Value[] } {
  const ofFlow = flow === undefined ? "" : " AND flow_id = ?";
  const afterKey = after === undefined ? "" : " AND (flow_id, node_id) > (?, ?)";
  return {
    sql: `${ofFlow}${afterKey} ORDER BY flow_id, node_id${page.limit === undefined ? "" : " LIMIT ?"}`,
    params: [
      ...(flow === undefined ? [] : [flow]),
      ...(after === undefined ? [] : [after.flow_id, after.node_id]),
      ...limitOf(page),
    ],
  };
}

/**
 * The event triggers without a stored verdict on the event, including inactive ones, to explain why it
 * started no run: those that listen to its source and type, or the others.
 */
export const listEventTriggers = read(
  "tenant",
  function* (
    tenant: string,
    { id, sources, type }: ExplainedEvent,
    { listening, ...page }: TriggerPage & { listening: boolean },
  ): Verb<RevisedTrigger[]> {
    const columns = `${TRIGGER_FIELDS}, revision`;
    const hasNoVerdict =
      "NOT EXISTS (SELECT 1 FROM verdicts v WHERE v.tenant_id = triggers.tenant_id AND v.event_id = ? " +
      "AND v.flow_id = triggers.flow_id AND v.node_id = triggers.node_id)";
    const part = partOf(page);
    const [sql, params]: [string, Value[]] = listening
      ? selectListening({ columns, tenant, sources, type, also: hasNoVerdict, values: [id], page })
      : [
          `SELECT ${columns} FROM triggers WHERE tenant_id = ? AND source IS NOT NULL ` +
            `AND NOT (source IN (${sources.map(() => "?").join(", ")}) AND (type = ? OR type IS NULL)) AND ${hasNoVerdict}${part.sql}`,
          [tenant, ...sources, type, id, ...part.params],
        ];
    const rows = yield* query<TriggerRow & { revision: number }>(sql, params);
    return rows.map(({ revision, ...row }) => ({ ...toTrigger(row), revision }));
  },
);

/** So many triggers are counted, so that the time does not depend on their number. */
const MAX_COUNTED = 1_001;

/** Counts the verdicts on an event, of all triggers or those of one flow. */
export const countVerdicts = read(
  "tenant",
  function* (tenant: string, event: string, flow?: string): Verb<VerdictCounts | undefined> {
    const stored = yield* first<{ triggers_rev: number }>(
      "SELECT triggers_rev FROM events WHERE tenant_id = ? AND id = ?",
      [tenant, event],
    );
    if (!stored) return undefined;
    const ofFlow = (table: string) => (flow === undefined ? "" : ` AND ${table}.flow_id = ?`);
    const flows = flow === undefined ? [] : [flow];
    const verdicts = yield* first<{ count: number; started: number; existing: number }>(
      "SELECT count(*) AS count, count(v.run_id) AS started, count(t.flow_id) AS existing FROM verdicts v " +
        "LEFT JOIN triggers t ON t.flow_id = v.flow_id AND t.node_id = v.node_id AND t.source IS NOT NULL " +
        `WHERE v.tenant_id = ? AND v.event_id = ?${ofFlow("v")}`,
      [tenant, event, ...flows],
    );
    const triggers = yield* first<{ count: number }>(
      "SELECT count(*) AS count FROM (SELECT t.node_id FROM triggers t WHERE t.tenant_id = ? AND t.source IS NOT NULL" +
        `${ofFlow("t")} ORDER BY t.flow_id, t.node_id LIMIT ?) AS picked`,
      [tenant, ...flows, MAX_COUNTED],
    );
    const { count = 0, started = 0, existing = 0 } = verdicts ?? {};
    const listed = triggers?.count ?? 0;
    return {
      revision: stored.triggers_rev,
      started,
      total: listed < MAX_COUNTED ? count + listed - existing : Math.max(count, MAX_COUNTED),
    };
  },
);
