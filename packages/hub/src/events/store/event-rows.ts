import { columnsOf, type RowOf } from "../../kernel/store/schema.ts";
import type { CheckResult, EventRow, NewEvent } from "../model.ts";
import { eventTables } from "../tables.ts";

const { events } = eventTables;
/** Columns that no `EventRow` has. */
const INTERNAL = [
  "pack",
  "pack_at",
  "meta_size",
  "outcome",
  "quota_exempt",
  "triggers_rev",
  "stored",
] as const;

export const EVENT_FIELDS = columnsOf(events, INTERNAL).join(", ");

export type StoredRow = Omit<RowOf<typeof events>, (typeof INTERNAL)[number]>;

/**
 * All fields are in one column, because nearly every event has none of them, and inserting one null is
 * free. The value is an array, because a search would also find the field names of an object.
 */
export const packCheckResult = (result: CheckResult | null): string | null =>
  result && JSON.stringify([result.conclusion, result.head_branch, result.head_sha]);

function unpackCheckResult(packed: string | null): CheckResult | null {
  if (packed === null) return null;
  const [conclusion, head_branch, head_sha] = JSON.parse(packed);
  return { conclusion, head_branch, head_sha };
}

/** Copies field by field: a spread takes twenty times as long. */
export const toEvent = (row: StoredRow): EventRow => ({
  id: row.id,
  tenant: row.tenant_id,
  seq: row.seq,
  source: row.source,
  source_id: row.source_id,
  external_id: row.external_id,
  type: row.type,
  received_at: row.received_at,
  action: row.action,
  repo: row.repo,
  sender: row.sender,
  number: row.number,
  title: row.title,
  url: row.url,
  size: row.size,
  processed: row.processed === 1,
  processed_at: row.processed_at,
  note: row.note,
  trigger_status: row.trigger_status,
  last_triggered_at: row.last_triggered_at,
  claimed_by: row.claimed_by,
  claimed_until: row.claimed_until === 0 ? null : row.claimed_until,
  attempts: row.attempts,
  check_result: unpackCheckResult(row.check_result),
});

// The bytes of an event in the database, as `tenants.bytes` sums them.

/** Pages of rows and indexes are not full. */
export const PER_FULL_BYTE = 1.15;
/** The numbers of an event, and the headers of its row and of its index entries. */
const EVENT_BYTES = 90;

const lengthOf = (text: string | null | undefined): number => text?.length ?? 0;

export function eventRowBytes(tenant: string, event: NewEvent): number {
  const { id, source, source_id, external_id, type } = event;
  const { action, repo, sender, title, url, check_result } = event;
  const once =
    source.length +
    lengthOf(action) +
    lengthOf(repo) +
    lengthOf(sender) +
    lengthOf(title) +
    lengthOf(url) +
    lengthOf(check_result?.head_branch);
  // These are also in an index, and the tenant is in five.
  const indexed = id.length + source_id.length + lengthOf(external_id) + type.length;
  return Math.round(PER_FULL_BYTE * (EVENT_BYTES + once + 2 * indexed + 6 * tenant.length));
}
