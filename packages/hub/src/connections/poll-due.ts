/**
 * Polls the subscriptions of one connection that are due. The number of polls is limited, so that a
 * server that does not respond occupies neither the slots of the connection nor the visit for long. The
 * rest stays due.
 */
import type {
  ConnectionStore,
  SubscriptionResult,
  TriggerSubscription,
} from "../store/connection-store.ts";
import { messageOfError } from "./configure-outcome.ts";
import { isPolled } from "./plan-configure.ts";
import { type PollOptions, pollSubscription } from "./poll-subscription.ts";
import { LeaseLost, type ReconcileRequest } from "./reconcile.ts";
import { type SettleContext, unsettled } from "./settle.ts";

/** Less than the calls that a connection allows, so that flows can call it meanwhile. */
const CONCURRENCY = 4;
const MAX_POLLS = 16;

export interface PollDueOptions extends Omit<PollOptions, "now"> {
  store: Pick<ConnectionStore, "saveSubscriptions">;
  /** The holder of the lease. */
  by: string;
  context: SettleContext;
}

/** Returns when each polled subscription is due next. Throws `LeaseLost`, or the reason of `signal`. */
export async function pollDue(
  { store, by, context, connections, append, newId }: PollDueOptions,
  { connection, offers, subscriptions, signal }: Omit<ReconcileRequest, "reassert">,
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
      await save(unsettled(subscription, failure, context));
    }
  };
  const due = subscriptions
    .filter((one) => isPolled(offers, one) && one.next_at <= context.now())
    .toSorted((a, b) => a.next_at - b.next_at)
    .slice(0, MAX_POLLS);
  const pollNext = async (): Promise<void> => {
    for (let next = due.shift(); next; next = due.shift()) await poll(next);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, pollNext));
  return nextAt;
}
