/** Polls the subscriptions of one connection that are due, concurrently. */
import type { ConnectionStore, SubscriptionResult } from "../store/connection-store.ts";
import { messageOfError } from "./configure-outcome.ts";
import { isPolled } from "./plan-configure.ts";
import { type PollOptions, pollSubscription } from "./poll-subscription.ts";
import { LeaseLost, type ReconcileRequest } from "./reconcile.ts";
import { type SettleContext, unsettled } from "./settle.ts";

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
  const due = subscriptions.filter((one) => isPolled(offers, one) && one.next_at <= context.now());
  await Promise.all(
    due.map(async (subscription) => {
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
    }),
  );
  return nextAt;
}
