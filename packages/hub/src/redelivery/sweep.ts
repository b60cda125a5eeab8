/**
 * One sweep: reads GitHub's list of attempts to deliver the App's webhooks, and requests a redelivery
 * of those that failed. GitHub does not redeliver automatically.
 *
 * A redelivery has the delivery id of the first attempt, so the hub stores each event once, even if it
 * is redelivered several times. Each page and each request is recorded before the next one. So any
 * process can continue an interrupted sweep where it ended.
 */

import type { GithubAnswer } from "../github/github-request.ts";
import type { Store } from "../store.ts";
import type { GithubDeliveries, GithubDelivery } from "./github-deliveries.ts";
import type { DeliveryAttempt, Redelivery, SweepProgress } from "./model.ts";
import { delayAfter, reasonToGiveUp, WINDOW_MS } from "./rules.ts";

export interface SweepOptions {
  store: Pick<
    Store,
    "recordAttempts" | "dueRedeliveries" | "changeRedelivery" | "findExternalIds" | "listSources"
  > &
    Pick<Store, "findInstallation">;
  deliveries: GithubDeliveries;
  /** The owner of all events; undefined if the installation identifies the tenant. */
  tenant: string | undefined;
  now: () => number;
  isStopping: () => boolean;
}

export interface SweepResult {
  counts: { failed: number; requested: number; delivered: number; given_up: number };
  /** Whether the next sweep has work: pages to read, webhooks to request, or results of redeliveries. */
  hasMore: boolean;
  /** Whether all new attempts have been read. */
  isComplete: boolean;
  error: string | null;
  /** The end of GitHub's rate limit; 0 without one. */
  pausedUntil: number;
}

/** The limits of one sweep: GitHub allows an App 5,000 requests per hour. */
const MAX_PAGES = 20;
const MAX_REDELIVERIES = 100;

/** GitHub may list attempts with a delay, so each sweep reads this period before `read_until` again. */
const OVERLAP_MS = 10 * 60_000;

/** Longer than any request to GitHub. */
const LEASE_MS = 60_000;

/** Thrown if another process has acquired the lease. */
export class LeaseLost extends Error {}

export const leaseFor = (by: string, now: number) => ({ by, now, until: now + LEASE_MS });

export async function sweep(
  by: string,
  progress: SweepProgress,
  options: SweepOptions,
): Promise<SweepResult> {
  const result: SweepResult = {
    counts: { failed: 0, requested: 0, delivered: 0, given_up: 0 },
    hasMore: false,
    isComplete: false,
    error: null,
    pausedUntil: 0,
  };
  if (await readAttempts(by, progress, options, result))
    await requestRedeliveries(by, options, result);
  return result;
}

/** Returns false if GitHub returned an error. */
async function readAttempts(
  by: string,
  progress: SweepProgress,
  { store, deliveries, now, isStopping }: SweepOptions,
  result: SweepResult,
): Promise<boolean> {
  const since = Math.max(progress.read_until - OVERLAP_MS, now() - WINDOW_MS);
  let { cursor, newest_at } = progress;
  for (let pages = 0; pages < MAX_PAGES && !isStopping(); pages += 1) {
    const answer = await deliveries.list(cursor ?? undefined);
    if (answer.outcome !== "ok" && cursor !== null && isUnknownCursor(answer)) {
      cursor = null;
      newest_at = null;
      continue;
    }
    if (answer.outcome !== "ok") {
      recordError(answer, "the webhooks of the App", result);
      return false;
    }
    const { value, next } = answer;
    newest_at ??= value[0]?.deliveredAt ?? now();
    const isEnd = next === null || value.some(({ deliveredAt }) => deliveredAt < since);
    const recorded = await store.recordAttempts(
      leaseFor(by, now()),
      value.filter(({ deliveredAt }) => deliveredAt >= since).map(toAttempt),
      isEnd
        ? { read_until: newest_at, cursor: null, newest_at: null }
        : { read_until: progress.read_until, cursor: next, newest_at },
    );
    if (!recorded) throw new LeaseLost();
    result.counts.failed += recorded.failed;
    result.counts.delivered += recorded.delivered;
    result.isComplete = isEnd;
    if (isEnd) return true;
    cursor = next;
  }
  result.hasMore = true;
  return true;
}

/** GitHub's cursors expire after some time. */
const isUnknownCursor = (answer: GithubAnswer<unknown>): boolean =>
  answer.outcome === "not_found" ||
  (answer.outcome === "failed" && (answer.status === 400 || answer.status === 422));

const toAttempt = (delivery: GithubDelivery): DeliveryAttempt => ({
  id: delivery.id,
  guid: delivery.guid,
  at: delivery.deliveredAt,
  is_ok: delivery.statusCode >= 200 && delivery.statusCode < 300,
  is_redelivery: delivery.isRedelivery,
  status: delivery.status,
  status_code: delivery.statusCode,
  event: delivery.event,
  action: delivery.action,
  installation: delivery.installation,
});

async function requestRedeliveries(
  by: string,
  options: SweepOptions,
  result: SweepResult,
): Promise<void> {
  const { store, deliveries, now, isStopping } = options;
  const due = await store.dueRedeliveries(now(), MAX_REDELIVERIES);
  const storedGuids = await findStored(due, options);
  const change: (
    guid: string,
    change: Parameters<typeof store.changeRedelivery>[2],
  ) => Promise<void> = async (guid, change) => {
    if (!(await store.changeRedelivery(leaseFor(by, now()), guid, change))) throw new LeaseLost();
  };
  const giveUp = async (guid: string, note: string) => {
    await change(guid, { state: "given_up", note });
    result.counts.given_up += 1;
  };

  for (const redelivery of due) {
    if (isStopping()) return;
    const { guid, attempt_id } = redelivery;
    const requests = redelivery.requests + 1;
    const reason = reasonToGiveUp(redelivery, now());
    if (storedGuids.has(guid)) {
      await change(guid, { state: "delivered" });
      result.counts.delivered += 1;
    } else if (reason !== undefined) await giveUp(guid, reason);
    else {
      const answer = await deliveries.redeliver(attempt_id);
      if (answer.outcome === "not_found") await giveUp(guid, "GitHub no longer has this webhook.");
      else if (answer.outcome === "ok" || isRefusal(answer)) {
        await change(guid, {
          requests,
          requested_at: now(),
          next_at: now() + delayAfter(requests),
          note: answer.outcome === "ok" ? null : answer.message,
        });
        if (answer.outcome === "ok") result.counts.requested += 1;
      } else return recordError(answer, "a redelivery", result);
    }
  }
  // The next sweep reads how the requested redeliveries ended.
  if (due.length === MAX_REDELIVERIES || result.counts.requested > 0) result.hasMore = true;
}

/** Whether GitHub has rejected only this redelivery, so that the others can be requested. */
const isRefusal = (
  answer: GithubAnswer<unknown>,
): answer is { outcome: "failed" } & typeof answer =>
  answer.outcome === "failed" && (answer.status === 400 || answer.status === 422);

/**
 * Returns the guids of the webhooks that the hub has stored although GitHub lists them as failed, for
 * example because GitHub did not wait for the response.
 */
async function findStored(
  due: readonly Redelivery[],
  { store, tenant }: SweepOptions,
): Promise<Set<string>> {
  const byTenant = new Map<string, string[]>();
  for (const [installation, group] of Map.groupBy(due, (redelivery) => redelivery.installation)) {
    const owner =
      tenant ??
      (installation === null ? undefined : (await store.findInstallation(installation))?.tenant);
    if (owner === undefined) continue;
    const guids = group.map(({ guid }) => guid);
    byTenant.set(owner, [...(byTenant.get(owner) ?? []), ...guids]);
  }
  const stored = new Set<string>();
  for (const [owner, guids] of byTenant) {
    const endpoints = (await store.listSources(owner)).filter(({ kind }) => kind === GITHUB);
    const ids = [GITHUB, ...endpoints.map(({ id }) => id)];
    for (const guid of await store.findExternalIds(owner, ids, guids)) stored.add(guid);
  }
  return stored;
}

/** The kind of the source, and the id of its endpoint without a key. */
const GITHUB = "github";

function recordError(
  answer: Exclude<GithubAnswer<unknown>, { outcome: "ok" }>,
  requested: string,
  result: SweepResult,
): void {
  if (answer.outcome === "rate_limited") result.pausedUntil = answer.retryAt;
  result.error =
    answer.outcome === "not_found"
      ? `GitHub returned 404 for ${requested}. Check GITHUB_API_URL, and that the webhook of the App is active.`
      : answer.outcome === "failed" && answer.status === 401
        ? `${answer.message}. Check GITHUB_APP_ID, GITHUB_APP_PRIVATE_KEY and the clock of the hub.`
        : answer.message;
}
