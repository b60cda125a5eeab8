/** Polls the events of a subscription whose server does not send them by callback. */
import type { SubscriptionResult, TriggerSubscription } from "./model.ts";
import { pollEvents } from "./poll-events.ts";
import { pollTool } from "./poll-tool.ts";
import type { PolledConnection, PollOptions } from "./polled-events.ts";

export interface PollSubscriptionOptions {
  signal: AbortSignal;
  /** Records an intermediate result. Throws if the lease was lost. */
  save(result: SubscriptionResult): Promise<void>;
}

/** Polls once, and returns what to record. Throws if the poll has failed. */
export async function pollSubscription(
  options: PollOptions,
  polled: PolledConnection,
  subscription: TriggerSubscription,
  { signal, save }: PollSubscriptionOptions,
): Promise<SubscriptionResult> {
  const { id, revision } = subscription;
  const poll = subscription.poll ? pollTool : pollEvents;
  const { position, nextMs, notice } = await poll(options, polled, subscription, {
    signal,
    save: (saved) => save({ id, revision, position: saved }),
  });
  return {
    id,
    revision,
    state: "active",
    error: notice ?? null,
    configured: revision,
    configured_type: null,
    position,
    attempt: 0,
    next_at: Math.round(options.now() + nextMs),
  };
}
