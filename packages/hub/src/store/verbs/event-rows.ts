import type { EventRow, TriggerStatus } from "../store.ts";

export const EVENT_COLUMNS =
  "id, tenant_id, seq, source, source_id, external_id, type, received_at, action, repo, sender, " +
  "number, title, url, size, processed, processed_at, note, trigger_status, last_triggered_at, " +
  "outcome, claimed_by, claimed_until";

export interface StoredRow {
  id: string;
  tenant_id: string;
  seq: number;
  source: string;
  source_id: string;
  external_id: string | null;
  type: string;
  received_at: number;
  action: string | null;
  repo: string | null;
  sender: string | null;
  number: number | null;
  title: string | null;
  url: string | null;
  size: number;
  processed: number;
  processed_at: number | null;
  note: string | null;
  trigger_status: TriggerStatus | null;
  last_triggered_at: number | null;
  outcome: string | null;
  claimed_by: string | null;
  claimed_until: number;
}

export function toEvent({ tenant_id, processed, claimed_until, ...row }: StoredRow): EventRow {
  return {
    ...row,
    tenant: tenant_id,
    processed: processed === 1,
    claimed_until: claimed_until === 0 ? null : claimed_until,
  };
}
