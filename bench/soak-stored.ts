/** Compares the acknowledged webhooks with the stored events. */
import { join } from "node:path";
import { openPostgres } from "../packages/hub/src/kernel/backends/postgres.ts";
import { openSqlite } from "../packages/hub/src/kernel/backends/sqlite.ts";
import { storeDefinition } from "../packages/hub/src/store.ts";
import type { LoadPlan, LoadReport } from "./load.ts";

/** Returns the complete delivery ids of the webhooks that got a 2xx response. */
export function acknowledgedIds(
  { templates }: Pick<LoadPlan, "templates">,
  { details }: LoadReport,
): string[] {
  const [template] = templates;
  if (!template || !details) return [];
  // The delivery ids of all templates differ only in the first 8 hex digits, which the load generator sets.
  const { request, idAt } = template;
  const suffix = Buffer.from(request).toString("latin1", idAt + 8, idAt + 36);
  return Array.from(
    details.acknowledged,
    (firstDigits) => firstDigits.toString(16).padStart(8, "0") + suffix,
  );
}

export interface StoredCheck {
  acknowledged: number;
  stored: number;
  missing: number;
  /** Stored events minus distinct delivery ids: duplicates, and events without an id. */
  surplus: number;
}

export async function checkStored(
  { data, databaseUrl }: { data: string; databaseUrl: string | undefined },
  tenant: string,
  acknowledged: ReadonlySet<string>,
): Promise<StoredCheck> {
  const store =
    databaseUrl === undefined
      ? openSqlite(storeDefinition, join(data, "signalbox.db"))
      : await openPostgres(storeDefinition, databaseUrl);
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
    surplus: events - stored.size,
  };
}
