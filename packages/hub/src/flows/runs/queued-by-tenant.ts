import { MAX_QUEUED } from "@signalbox/contract/queue.ts";
import type { Store } from "../../store.ts";

export interface QueuedByTenant {
  tenant: string;
  queued: number;
  /** How long the oldest run has been waiting, in milliseconds. */
  oldestMs: number;
}

/** The others are counted together, as the tenant "other". */
const MAX_TENANTS = 20;

/** The tenants whose queued runs have waited longest come first. */
export async function measureByTenant(
  store: Pick<Store, "measureQueues">,
  now: number,
): Promise<QueuedByTenant[]> {
  const tenants = new Map<string, QueuedByTenant>();
  const add = (tenant: string, queued: number, oldestMs: number) => {
    const known = tenants.get(tenant) ?? { tenant, queued: 0, oldestMs: 0 };
    known.queued += queued;
    known.oldestMs = Math.max(known.oldestMs, oldestMs);
    tenants.set(tenant, known);
  };
  for (const { tenant, queued, since } of await store.measureQueues(now, MAX_QUEUED))
    add(tenant, queued, since === null ? 0 : now - since);
  const sorted = [...tenants.values()].sort((a, b) => b.oldestMs - a.oldestMs);
  for (const { tenant, queued, oldestMs } of sorted.splice(MAX_TENANTS)) {
    tenants.delete(tenant);
    add("other", queued, oldestMs);
  }
  const other = tenants.get("other");
  return other && !sorted.includes(other) ? [...sorted, other] : sorted;
}
