/** Compares acknowledged deliveries with the stored events. */
import { join } from "node:path";
import { openPostgres } from "../packages/hub/src/store/backends/postgres.ts";
import { openSqlite } from "../packages/hub/src/store/backends/sqlite.ts";
import type { LoadPlan, LoadReport } from "./load.ts";

/** The full ids of the deliveries that a load got a 2xx response for. */
export function acknowledgedIds(
  { templates }: Pick<LoadPlan, "templates">,
  { record }: LoadReport,
): string[] {
  const [template] = templates;
  if (!template || !record) return [];
  // All templates have the same id, except for the field that the load generator sets.
  const { request, idAt } = template;
  const rest = Buffer.from(request).toString("latin1", idAt + 8, idAt + 36);
  return Array.from(record.acknowledged, (first) => first.toString(16).padStart(8, "0") + rest);
}

export interface StoredCheck {
  acknowledged: number;
  stored: number;
  missing: number;
  /** Events of the tenant beyond one for each id: also events without an id. */
  doubled: number;
}

export async function checkStored(
  { data, databaseUrl }: { data: string; databaseUrl: string | undefined },
  tenant: string,
  acknowledged: ReadonlySet<string>,
): Promise<StoredCheck> {
  const store =
    databaseUrl === undefined
      ? openSqlite(join(data, "signalbox.db"))
      : await openPostgres(databaseUrl);
  const stored = new Set<string>();
  let events = 0;
  for (let cursor: number | undefined = 0; cursor !== undefined; ) {
    const page = await store.listEvents({ tenant, order: "oldest", cursor, limit: 1_000 });
    for (const { external_id } of page.items) if (external_id !== null) stored.add(external_id);
    events += page.items.length;
    cursor = page.next ?? undefined;
  }
  await store.close();
  return {
    acknowledged: acknowledged.size,
    stored: stored.size,
    missing: [...acknowledged].filter((id) => !stored.has(id)).length,
    doubled: events - stored.size,
  };
}
