/**
 * Polls the due subscriptions of one connection. Their number and concurrency are limited, so that a
 * server that does not respond does not block the visit, or the calls of flows, for long. Subscriptions
 * above the limit stay due.
 */

import type { Store } from "../store.ts";
import { messageOfError } from "./configure-outcome.ts";
import type { SubscriptionResult, TriggerSubscription } from "./model.ts";
import { isPolled } from "./plan-configure.ts";
import { pollSubscription } from "./poll-subscription.ts";
import type { PollOptions } from "./polled-events.ts";
import { LeaseLost, type ReconcileRequest } from "./reconcile.ts";
import { failedResult, type ReconcileContext } from "./subscription-results.ts";

/** Lower than `MAX_CALLS`, so that flows can call the server during polls. */
const CONCURRENCY = 4;
const MAX_POLLS = 16;

export interface PollDueOptions extends Omit<PollOptions, "now"> {
  store: Pick<Store, "saveSubscriptions">;
  /** The holder of the lease. */
  by: string;
  context: ReconcileContext;
}

/** Returns when each polled subscription is due next. Throws `LeaseLost`, or the reason of `signal`. */
export async function pollDue(
  { store, by, context, connections, append, newId }: PollDueOptions,
  {
    connection,
    offers,
    subscriptions,
    signal,
  }: Omit<ReconcileRequest, "shouldReconfigure" | "shouldRenew">,
): Promise<Map<string, number>> {
  const nextAt = new Map<string, number>();
  const save = async (result: SubscriptionResult): Promise<void> => {
    signal.throwIfAborted();
    if (!(await store.saveSubscriptions(by, connection.id, [result], context.now())))
      throw new LeaseLost(`the lease of ${connection.id} was lost`);
    if (result.next_at !== undefined) nextAt.set(result.id, result.next_at);
  };
  const options = { connections, append, newId, now: context.now };
  const poll = async (subscription: TriggerSubscription): Promise<void> => {
    try {
      await save(
        await pollSubscription(options, { connection, offers }, subscription, { signal, save }),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof LeaseLost) throw error;
      const failure = { error: messageOfError(error), isRejected: true };
      await save(failedResult(subscription, failure, context));
    }
  };
  const due = subscriptions
    .filter(
      (subscription) => isPolled(offers, subscription) && subscription.next_at <= context.now(),
    )
    .toSorted((a, b) => a.next_at - b.next_at)
    .slice(0, MAX_POLLS);
  const pollNext = async (): Promise<void> => {
    for (let next = due.shift(); next; next = due.shift()) await poll(next);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, pollNext));
  return nextAt;
}
