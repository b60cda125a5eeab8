import type {
  AppendRequest,
  AppendResult,
  Claim,
  ClaimResult,
  EventRow,
  MarkResult,
  PendingStatus,
  ReleaseOptions,
  ReopenResult,
  WorkerClaim,
} from "../../model.ts";
import type { Retention } from "../../retention/model.ts";
import { newRow } from "./sample.ts";

export class LogModel {
  readonly rows: EventRow[] = [];
  readonly #seqs = new Map<string, number>();
  readonly #pruned = new Map<string, number>();
  /** The stored bytes of the events, by id. */
  readonly stored = new Map<string, number>();
  /** The ids of the events that are exempt from the quota. */
  readonly #exempt = new Set<string>();

  rowsOf = (tenant: string): EventRow[] => this.rows.filter((row) => row.tenant === tenant);
  pendingOf = (tenant: string): EventRow[] => this.rowsOf(tenant).filter((row) => !row.processed);

  append(batch: AppendRequest[], quota: number | null): AppendResult[] {
    return batch.map(({ tenant, events, skipQuota }): AppendResult => {
      const find = (event: { source_id: string; external_id: string | null }) =>
        this.rowsOf(tenant).find(
          (row) =>
            event.external_id !== null &&
            row.external_id === event.external_id &&
            row.source_id === event.source_id,
        );
      const before = this.rows.length;
      const results = events.map((event) => {
        const existing = find(event);
        if (existing) return { id: existing.id, seq: existing.seq, duplicate: true };
        const seq = (this.#seqs.get(tenant) ?? 0) + 1;
        this.#seqs.set(tenant, seq);
        this.rows.push(newRow(event, seq, tenant));
        if (skipQuota) this.#exempt.add(event.id);
        return { id: event.id, seq, duplicate: false };
      });
      const added = this.rows.length - before;
      const pending = this.pendingOf(tenant).filter(({ id }) => !this.#exempt.has(id)).length;
      if (added > 0 && !skipQuota && quota !== null && pending > quota) {
        this.rows.splice(before);
        this.#seqs.set(tenant, (this.#seqs.get(tenant) ?? 0) - added);
        return { outcome: "over_quota", pending: pending - added, quota };
      }
      return { outcome: added > 0 ? "stored" : "duplicate", events: results };
    });
  }

  mark(tenant: string, ids: string[], at: number, note: string): MarkResult {
    const result: MarkResult = { marked: [], alreadyProcessed: [], unknown: [] };
    for (const id of new Set(ids)) {
      const row = this.rowsOf(tenant).find((candidate) => candidate.id === id);
      result[row ? (row.processed ? "alreadyProcessed" : "marked") : "unknown"].push(id);
      if (row && !row.processed)
        Object.assign(row, { processed: true, processed_at: at, note, claimed_until: null });
    }
    return result;
  }

  reopen(tenant: string, ids: string[]): ReopenResult {
    const result: ReopenResult = { reopened: [], alreadyPending: [], unknown: [] };
    for (const id of new Set(ids)) {
      const row = this.rowsOf(tenant).find((candidate) => candidate.id === id);
      (!row ? result.unknown : row.processed ? result.reopened : result.alreadyPending).push(id);
      if (!row?.processed) continue;
      Object.assign(row, { processed: false, processed_at: null, note: null });
      Object.assign(row, { claimed_by: null, claimed_until: null, attempts: 0 });
    }
    return result;
  }

  claim({ tenant, by, limit, now, until, type }: Claim): EventRow[] {
    const matching = this.pendingOf(tenant).filter(
      (row) => type === undefined || row.type === type,
    );
    const expired = matching
      .filter((row) => row.claimed_until !== null && row.claimed_until <= now)
      .sort((a, b) => (a.claimed_until as number) - (b.claimed_until as number));
    const free = matching.filter((row) => row.claimed_until === null);
    const claimed = [...expired, ...free].slice(0, limit).sort((a, b) => a.seq - b.seq);
    for (const row of claimed) Object.assign(row, { claimed_by: by, claimed_until: until });
    return claimed;
  }

  claimOne({ tenant, id, by, now, until }: WorkerClaim): ClaimResult | undefined {
    const event = this.rowsOf(tenant).find((row) => row.id === id);
    if (!event) return undefined;
    const isRenewal = event.claimed_by === by;
    const applied = !event.processed && (isRenewal || (event.claimed_until ?? 0) <= now);
    if (applied) Object.assign(event, { claimed_by: by, claimed_until: until || null });
    if (applied && !isRenewal) event.attempts += 1;
    return { applied, event };
  }

  markClaimedProcessed(
    tenant: string,
    id: string,
    by: string,
    at: number,
    note: string,
  ): ClaimResult | undefined {
    const event = this.rowsOf(tenant).find((row) => row.id === id);
    const applied = event?.claimed_by === by && this.mark(tenant, [id], at, note).marked.length > 0;
    return event && { applied, event };
  }

  release(
    tenant: string,
    ids: string[],
    by: string,
    { notBefore, uncounted }: ReleaseOptions,
  ): string[] {
    return ids.filter((id) => {
      const row = this.pendingOf(tenant).find((candidate) => candidate.id === id);
      if (row?.claimed_by !== by || row.claimed_until === null) return false;
      Object.assign(row, { claimed_by: null, claimed_until: notBefore ?? null });
      if (uncounted && row.attempts > 0) row.attempts -= 1;
      return true;
    });
  }

  /** Returns the events that retention removes because of their age, in the order of removal. */
  due({ now, processedFor, pendingFor, limit }: Retention): {
    processed: EventRow[];
    expired: EventRow[];
  } {
    const processed = this.rows
      .filter((row) => row.processed && (row.processed_at as number) <= now - processedFor)
      .sort((a, b) => (a.processed_at as number) - (b.processed_at as number))
      .slice(0, limit);
    const expired = this.rows
      .filter((row) => !row.processed && row.received_at < now - pendingFor)
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .slice(0, limit - processed.length);
    return { processed, expired };
  }

  /** Returns the events that retention removes above the maximum bytes, in the order of removal. */
  overflow(tenant: string, { maxBytes, limit }: Retention): EventRow[] {
    let excess = this.bytes(tenant) - maxBytes;
    return this.rowsOf(tenant)
      .sort((a, b) => Number(b.processed) - Number(a.processed) || a.seq - b.seq)
      .slice(0, limit)
      .filter((row) => {
        const isRemoved = excess > 0;
        excess -= this.stored.get(row.id) ?? 0;
        return isRemoved;
      });
  }

  remove(removed: readonly EventRow[]): void {
    for (const row of removed) {
      this.rows.splice(this.rows.indexOf(row), 1);
      this.#pruned.set(row.tenant, Math.max(row.seq, this.#pruned.get(row.tenant) ?? 0));
    }
  }

  bytes = (tenant: string): number =>
    this.rowsOf(tenant).reduce((sum, { id }) => sum + (this.stored.get(id) ?? 0), 0);

  status(tenant: string): PendingStatus {
    const pending = this.pendingOf(tenant);
    const types: Record<string, number> = {};
    for (const { type } of pending) types[type] = (types[type] ?? 0) + 1;
    return {
      pending_count: pending.length,
      latest_received_at: pending.at(-1)?.received_at ?? null,
      types,
    };
  }

  tenant = (id: string) => ({
    seq: this.#seqs.get(id) ?? 0,
    pruned_seq: this.#pruned.get(id) ?? 0,
    pending: this.pendingOf(id).length,
    bytes: this.bytes(id),
  });
}
