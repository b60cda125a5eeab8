/**
 * Subscriptions to the triggers of connections. Each Event trigger of a published flow whose source is
 * a connection has one. They change in the transaction that changes the triggers or the connection.
 *
 * Lock order: apps, tenants, connections by id, subscriptions. Every transaction that changes
 * a subscription has locked its connection.
 */

import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { columnsOf, type RowOf } from "../../kernel/store/schema.ts";
import {
  type Dialect,
  first,
  inLists,
  notify,
  query,
  storableText,
  type Value,
  type Verb,
} from "../../kernel/store/sql.ts";
import { read, write } from "../../kernel/store/verb.ts";
import type { StoredSubscriptionState, SubscriptionResult, TriggerSubscription } from "../model.ts";
import { connectionTables } from "../tables.ts";
import { expireTokensOfSubscription, hasSharedTokens, revokeTokens } from "./callback-tokens.ts";
import { makeDue } from "./connection-rows.ts";

const { trigger_subscriptions: subscriptions } = connectionTables;
type SubscriptionRow = RowOf<typeof subscriptions>;
const FIELDS = columnsOf(subscriptions).join(", ");

const parse = (json: string | null): JsonObject | null =>
  json === null ? null : (JSON.parse(json) as JsonObject);

const toSubscription = (
  { tenant_id, connection_id, ...row }: SubscriptionRow,
  last_fired_at: number | null = null,
): TriggerSubscription => ({
  ...row,
  tenant: tenant_id,
  connection: connection_id,
  params: parse(row.params) ?? {},
  poll: parse(row.poll),
  position: parse(row.position),
  last_fired_at,
});

/** The subscription that a trigger needs. */
type WantedSubscription = Pick<
  SubscriptionRow,
  "connection_id" | "node_id" | "type" | "params" | "poll"
> & {
  wanted: "active" | "paused";
};

/** A trigger of a published flow. */
interface EventTrigger {
  node_id: string;
  source: string | null;
  type: string | null;
  active: boolean;
  config: JsonObject;
}

const toWanted = (
  connection: string,
  { node_id, type, active, config }: Omit<EventTrigger, "source">,
): WantedSubscription => ({
  connection_id: connection,
  node_id,
  type: type ?? "",
  params: JSON.stringify(config.params ?? {}),
  poll: config.poll === undefined ? null : JSON.stringify(config.poll),
  wanted: active ? "active" : "paused",
});

/** Adapts the subscriptions of a flow to its published triggers. */
export function* syncSubscriptions(
  dialect: Dialect,
  flow: { id: string; tenant: string },
  triggers: readonly EventTrigger[],
  at: number,
): Verb<void> {
  const known = yield* query<{ connection_id: string }>(
    "SELECT connection_id FROM trigger_subscriptions WHERE flow_id = ?",
    [flow.id],
  );
  const connections = yield* lockConnections(dialect, flow.tenant, [
    ...triggers.flatMap(({ source }) => source ?? []),
    ...known.map(({ connection_id }) => connection_id),
  ]);
  const former = new Map(
    (yield* query<SubscriptionRow>(
      `SELECT ${FIELDS} FROM trigger_subscriptions WHERE flow_id = ?`,
      [flow.id],
    )).map((row) => [keyOf(row), row]),
  );
  const changed = new Set<string>();
  for (const trigger of triggers) {
    if (trigger.source === null || !connections.has(trigger.source)) continue;
    const wanted = toWanted(trigger.source, trigger);
    const found = former.get(keyOf(wanted));
    former.delete(keyOf(wanted));
    if (found && isSame(found, wanted)) continue;
    if (found) yield* change(found, wanted, at);
    else yield* add(dialect, flow, wanted, at);
    changed.add(trigger.source);
  }
  for (const row of former.values()) {
    if (row.wanted === "removed") continue;
    yield* change(row, { ...row, wanted: "removed" }, at);
    changed.add(row.connection_id);
  }
  for (const id of [...changed].sort()) yield* makeDue(id, at);
}

/** Marks the subscriptions of deleted flows as wanted `removed`. */
export function* removeSubscriptions(
  dialect: Dialect,
  tenant: string,
  flows: readonly string[],
  at: number,
): Verb<void> {
  const found: Pick<SubscriptionRow, "flow_id" | "connection_id">[] = [];
  for (const { list, params } of inLists(flows, dialect, 0))
    found.push(
      ...(yield* query<Pick<SubscriptionRow, "flow_id" | "connection_id">>(
        `SELECT flow_id, connection_id FROM trigger_subscriptions WHERE flow_id IN ${list}`,
        params,
      )),
    );
  // All connections are locked first, in the order of their ids: flow by flow, the order could differ.
  yield* lockConnections(
    dialect,
    tenant,
    found.map(({ connection_id }) => connection_id),
  );
  for (const id of new Set(found.map(({ flow_id }) => flow_id)))
    yield* syncSubscriptions(dialect, { id, tenant }, [], at);
}

/** Locks the connections, and returns the ids of those that are not deleted. */
function* lockConnections(
  dialect: Dialect,
  tenant: string,
  ids: readonly string[],
): Verb<Set<string>> {
  const found = new Set<string>();
  for (const { list, params } of inLists([...new Set(ids)].sort(), dialect, 1))
    for (const row of yield* query<{ id: string; deleted: number }>(
      `SELECT id, deleted FROM connections WHERE id IN ${list} AND tenant_id = ? ORDER BY id${dialect.forUpdate}`,
      [...params, tenant],
    ))
      if (row.deleted === 0) found.add(row.id);
  return found;
}

const keyOf = ({
  node_id,
  connection_id,
}: Pick<WantedSubscription, "node_id" | "connection_id">): string =>
  JSON.stringify([node_id, connection_id]);

const isSame = (
  a: Omit<WantedSubscription, "wanted"> & { wanted: string },
  b: WantedSubscription,
): boolean =>
  a.type === b.type && a.params === b.params && a.poll === b.poll && a.wanted === b.wanted;

/** Whether two polls return the same items: their intervals may differ. */
const isSamePoll = (a: string | null, b: string | null): boolean => {
  const items = (poll: string | null) => {
    const { everySeconds: _, ...rest } = parse(poll) ?? {};
    return JSON.stringify(rest as Json);
  };
  return items(a) === items(b);
};

const RESTART =
  "revision = revision + 1, state = 'configuring', error = NULL, attempt = 0, next_at = ?, updated_at = ?";

function* change(
  row: SubscriptionRow,
  { type, params, poll, wanted }: Pick<SubscriptionRow, "type" | "params" | "poll" | "wanted">,
  at: number,
): Verb<void> {
  // A paused trigger loses its position, because events that arrive during the pause are not wanted.
  const hasSameItems = isSamePoll(row.poll, poll) && (poll !== null || row.type === type);
  const resetPosition = hasSameItems && wanted !== "paused" ? "" : ", position = NULL";
  yield* query(
    `UPDATE trigger_subscriptions SET type = ?, params = ?, poll = ?, wanted = ?, ${RESTART}${resetPosition} WHERE id = ?`,
    [type, params, poll, wanted, at, at, row.id],
  );
}

function* add(
  dialect: Dialect,
  flow: { id: string; tenant: string },
  { connection_id, node_id, type, params, poll, wanted }: WantedSubscription,
  at: number,
): Verb<void> {
  yield* query(
    "INSERT INTO trigger_subscriptions (id, tenant_id, connection_id, flow_id, node_id, type, params, poll, wanted, " +
      `next_at, created_at, updated_at) VALUES (${dialect.randomId}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [flow.tenant, connection_id, flow.id, node_id, type, params, poll, wanted, at, at, at],
  );
}

/** Subscribes the published triggers that name a new connection. */
export function* subscribeTriggers(
  dialect: Dialect,
  tenant: string,
  connection: string,
  at: number,
): Verb<void> {
  const triggers = yield* query<{
    flow_id: string;
    node_id: string;
    type: string | null;
    active: number;
    config: string;
  }>(
    "SELECT flow_id, node_id, type, active, config FROM triggers WHERE tenant_id = ? AND source = ?",
    [tenant, connection],
  );
  for (const { flow_id, active, config, ...trigger } of triggers) {
    const eventTrigger = { ...trigger, active: active === 1, config: parse(config) ?? {} };
    yield* add(dialect, { id: flow_id, tenant }, toWanted(connection, eventTrigger), at);
  }
}

/**
 * Makes the keeper configure all subscriptions again, because the server or its credentials have
 * changed.
 */
export function* restartSubscriptions(connection: string, at: number): Verb<void> {
  yield* query(`UPDATE trigger_subscriptions SET ${RESTART} WHERE connection_id = ?`, [
    at,
    at,
    connection,
  ]);
}

/** Marks the subscriptions of a connection as wanted `removed`. False if the connection has none. */
export function* removeSubscriptionsOfConnection(connection: string, at: number): Verb<boolean> {
  yield* query(
    `UPDATE trigger_subscriptions SET wanted = 'removed', ${RESTART} WHERE connection_id = ? AND wanted <> 'removed'`,
    [at, at, connection],
  );
  return (yield* readSubscriptions(connection)).length > 0;
}

/**
 * Makes the keeper configure the active subscriptions of the connection again, with the same tokens.
 */
export const renewSubscriptions = write(
  "tenant",
  function* (tenant: string, connection: string, at: number): Verb<void> {
    const found = yield* first("SELECT id FROM connections WHERE id = ? AND tenant_id = ?", [
      connection,
      tenant,
    ]);
    if (!found) return;
    yield* makeDue(connection, at); // also locks the connection
    yield* query(
      "UPDATE trigger_subscriptions SET next_at = ? WHERE connection_id = ? AND wanted = 'active' " +
        "AND configured_type IS NOT NULL AND next_at > ?",
      [at, connection, at],
    );
  },
);

/**
 * Makes the keeper configure the subscription again, with a new token. If a token of the connection has
 * the scope `connection`, the triggers share tokens, and all subscriptions get a new one. The former
 * tokens expire a day after the server has confirmed the new one, or with `revokeNow` immediately.
 * False if the subscription does not exist.
 */
export const rotateCallbackToken = write(
  "tenant",
  function* (
    tenant: string,
    connection: string,
    id: string,
    { revokeNow, at }: { revokeNow: boolean; at: number },
  ): Verb<boolean> {
    const found = yield* first(
      "SELECT id FROM trigger_subscriptions WHERE id = ? AND connection_id = ? AND tenant_id = ? AND wanted <> 'removed'",
      [id, connection, tenant],
    );
    if (!found) return false;
    yield* makeDue(connection, at); // also locks the connection
    const isShared = yield* hasSharedTokens(connection);
    yield* query(
      `UPDATE trigger_subscriptions SET token_generation = token_generation + 1, ${RESTART} ` +
        (isShared ? "WHERE connection_id = ? AND wanted <> 'removed'" : "WHERE id = ?"),
      [at, at, isShared ? connection : id],
    );
    if (revokeNow)
      yield* revokeTokens(this.dialect, isShared ? { connection } : { subscription: id });
    return true;
  },
);

export function* readSubscriptions(connection: string): Verb<TriggerSubscription[]> {
  const rows = yield* query<SubscriptionRow>(
    `SELECT ${FIELDS} FROM trigger_subscriptions WHERE connection_id = ? ORDER BY created_at, id`,
    [connection],
  );
  return rows.map((row) => toSubscription(row));
}

/** The subscriptions of a connection, with `last_fired_at`; without those wanted `removed`. */
export const listTriggerSubscriptions = read(
  "tenant",
  function* (tenant: string, connection: string): Verb<TriggerSubscription[]> {
    const rows = yield* query<SubscriptionRow & { fired_at: number | null }>(
      `SELECT ${FIELDS}, (SELECT fired_at FROM trigger_firings f ` +
        "WHERE f.flow_id = s.flow_id AND f.node_id = s.node_id) AS fired_at " +
        "FROM trigger_subscriptions s WHERE connection_id = ? AND tenant_id = ? AND wanted <> 'removed' " +
        "ORDER BY created_at, id",
      [connection, tenant],
    );
    return rows.map(({ fired_at, ...row }) => toSubscription(row, fired_at));
  },
);

type StateRow = Omit<StoredSubscriptionState, "assumed"> & CallbackPosition;
type CallbackPosition = Pick<SubscriptionRow, "configured_type" | "position">;

/** The position of a polled subscription, which may be large, is not parsed. */
const assumedOf = ({ configured_type, position }: CallbackPosition): JsonObject =>
  ((configured_type === null ? null : parse(position))?.assumed as JsonObject | undefined) ?? {};

/** The states of the subscriptions of these flows; without those wanted `removed`. */
export const listSubscriptionStates = read(
  "tenant",
  function* (tenant: string, flows: readonly string[]): Verb<StoredSubscriptionState[]> {
    const states: StoredSubscriptionState[] = [];
    for (const { list, params } of inLists(flows, this.dialect, 1))
      for (const { configured_type, position, ...state } of yield* query<StateRow>(
        "SELECT flow_id, node_id, connection_id AS connection, type, wanted, state, error, updated_at, configured_type, " +
          "CASE WHEN configured_type IS NOT NULL THEN position END AS position " +
          `FROM trigger_subscriptions WHERE tenant_id = ? AND flow_id IN ${list} ` +
          "AND wanted <> 'removed' ORDER BY flow_id, node_id",
        [tenant, ...params],
      ))
        states.push({ ...state, assumed: assumedOf({ configured_type, position }) });
    return states;
  },
);

/** PostgreSQL limits a notice to 8 kB. */
const FLOWS_PER_NOTICE = 100;

/** The caller must have locked the connection. */
export function* recordSubscriptions(
  dialect: Dialect,
  connection: string,
  results: readonly SubscriptionResult[],
  now: number,
): Verb<void> {
  if (results.length === 0) return;
  const rows = yield* query<SubscriptionRow>(
    `SELECT ${FIELDS} FROM trigger_subscriptions WHERE connection_id = ?`,
    [connection],
  );
  const stored = new Map(rows.map((row) => [row.id, row]));
  const changedFlows = new Set<string>();
  for (const result of results) {
    const row = stored.get(result.id);
    if (!row) continue;
    if (result.isRemoved && row.wanted === "removed" && result.revision === row.revision) {
      yield* query("DELETE FROM trigger_subscriptions WHERE id = ?", [row.id]);
      yield* expireTokensOfSubscription(dialect, row.id, now);
      continue;
    }
    const changes = changesOf(row, result);
    const values = Object.entries(changes);
    if (values.length === 0) continue;
    yield* query(
      `UPDATE trigger_subscriptions SET ${values.map(([column]) => `${column} = ?`).join(", ")} WHERE id = ?`,
      [...values.map(([, value]) => value), row.id],
    );
    const { state = row.state, error = row.error } = changes;
    const newRow = { ...row, ...changes };
    if (
      state !== row.state ||
      error !== row.error ||
      JSON.stringify(assumedOf(newRow)) !== JSON.stringify(assumedOf(row))
    )
      changedFlows.add(row.flow_id);
  }
  const [{ tenant_id: tenant } = { tenant_id: "" }] = rows;
  const flows = [...changedFlows];
  for (let start = 0; start < flows.length; start += FLOWS_PER_NOTICE)
    yield* notify({
      topic: "subscriptions",
      tenant,
      flows: flows.slice(start, start + FLOWS_PER_NOTICE),
    });
}

function changesOf(row: SubscriptionRow, result: SubscriptionResult): Record<string, Value> {
  const { state, error, configured, configured_type, position, attempt, next_at } = result;
  const isCurrent = result.revision === row.revision;
  return {
    ...(isCurrent && {
      ...(state !== undefined && { state }),
      ...(error !== undefined && { error: error && storableText(error) }),
      ...(configured !== undefined && { configured }),
      ...(attempt !== undefined && { attempt }),
      ...(next_at !== undefined && { next_at }),
    }),
    // Which type the server may have enabled does not depend on what is wanted now.
    ...(configured_type !== undefined && { configured_type }),
    // A position that a changed poll has reset stays reset.
    ...(position !== undefined &&
      (isCurrent || row.position !== null) && {
        position: position === null ? null : JSON.stringify(position),
      }),
  };
}
