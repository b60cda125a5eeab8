/** Apps. Every change of an app's flows locks the app's row, so that tool names stay unique. */

import { removeSubscriptions } from "../../connections/store/trigger-subscriptions.ts";
import { columnsOf, type RowOf } from "../../kernel/store/schema.ts";
import { type Dialect, first, query, type Verb } from "../../kernel/store/sql.ts";
import { read, write } from "../../kernel/store/verb.ts";
import type { StoredApp } from "../model.ts";
import { flowTables } from "../tables.ts";
import { markTriggersChanged } from "./triggers.ts";

const { apps } = flowTables;
type AppRow = RowOf<typeof apps>;
const APP_FIELDS = columnsOf(apps).join(", ");

const toApp = ({ tenant_id, ...rest }: AppRow): StoredApp => ({ tenant: tenant_id, ...rest });

/** False if an app with this slug exists. */
export const createApp = write("tenant", function* (app: StoredApp): Verb<boolean> {
  const created = yield* first(
    `INSERT INTO apps (${APP_FIELDS}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING slug`,
    [app.tenant, app.slug, app.name, app.description, app.created_at, app.updated_at],
  );
  if (!created) return false;
  // `markTriggersChanged` updates the tenant's row, which may not exist before the first event.
  yield* query("INSERT INTO tenants (id, created_at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING", [
    app.tenant,
    app.created_at,
  ]);
  return true;
});

export const getApp = read("tenant", function* (tenant: string, slug: string) {
  const row = yield* first<AppRow>(
    `SELECT ${APP_FIELDS} FROM apps WHERE tenant_id = ? AND slug = ?`,
    [tenant, slug],
  );
  return row && toApp(row);
});

export const listApps = read(
  "tenant",
  function* (tenant: string, after: string, limit: number): Verb<StoredApp[]> {
    const rows = yield* query<AppRow>(
      `SELECT ${APP_FIELDS} FROM apps WHERE tenant_id = ? AND slug > ? ORDER BY slug LIMIT ?`,
      [tenant, after, limit],
    );
    return rows.map(toApp);
  },
);

export const updateApp = write(
  "tenant",
  function* (
    tenant: string,
    slug: string,
    change: { name?: string; description?: string },
    at: number,
  ): Verb<StoredApp | undefined> {
    const row = yield* first<AppRow>(
      "UPDATE apps SET name = coalesce(?, name), description = coalesce(?, description), updated_at = ? " +
        `WHERE tenant_id = ? AND slug = ? RETURNING ${APP_FIELDS}`,
      [change.name ?? null, change.description ?? null, at, tenant, slug],
    );
    return row && toApp(row);
  },
);

/**
 * Deletes the app and its flows. Existing runs continue until they end.
 *
 * Keeps the versions of the flows, since existing runs need them.
 */
export const deleteApp = write(
  "tenant",
  function* (tenant: string, slug: string, at: number): Verb<boolean> {
    const deleted = yield* first(
      "DELETE FROM apps WHERE tenant_id = ? AND slug = ? RETURNING slug",
      [tenant, slug],
    );
    if (!deleted) return false;
    const ofApp = "WHERE tenant_id = ? AND app = ?";
    yield* query(`DELETE FROM tool_names ${ofApp}`, [tenant, slug]);
    for (const table of ["triggers", "schedules"])
      yield* query(
        `DELETE FROM ${table} WHERE flow_id IN (SELECT id FROM flows ${ofApp} AND deleted = 0)`,
        [tenant, slug],
      );
    const flows = yield* query<{ id: string }>(
      `UPDATE flows SET deleted = 1, version = NULL, updated_at = ? ${ofApp} AND deleted = 0 RETURNING id`,
      [at, tenant, slug],
    );
    yield* markTriggersChanged(tenant, slug);
    yield* removeSubscriptions(
      this.dialect,
      tenant,
      flows.map(({ id }) => id),
      at,
    );
    return true;
  },
);

/** False if the app does not exist. */
export function* lockApp(dialect: Dialect, tenant: string, app: string): Verb<boolean> {
  const row = yield* first(
    `SELECT slug FROM apps WHERE tenant_id = ? AND slug = ?${dialect.forUpdate}`,
    [tenant, app],
  );
  return row !== undefined;
}
