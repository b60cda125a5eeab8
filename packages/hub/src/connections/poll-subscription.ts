/** Polls the events of a subscription whose server does not send them by callback. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { Connections } from "./connections.ts";
import type { Connection, Offers, SubscriptionResult, TriggerSubscription } from "./model.ts";
import { pollEvents } from "./poll-events.ts";
import { pollTool } from "./poll-tool.ts";
import type { AppendPolledOptions } from "./polled-events.ts";

export interface PollOptions extends AppendPolledOptions {
  connections: Pick<Connections, "callTool" | "request">;
}

interface PolledConnection {
  connection: Connection;
  offers: Offers;
}

interface PollRun {
  signal: AbortSignal;
  /** Saves a position whose events are stored. */
  save(position: JsonObject): Promise<void>;
}

interface PollResult {
  position: JsonObject;
  /** The delay until the next poll. */
  nextMs: number;
  /** A problem that does not stop the poll. */
  notice: string | undefined;
}

/** Throws if the poll has failed. */
export type Poll = (
  options: PollOptions,
  polled: PolledConnection,
  subscription: TriggerSubscription,
  run: PollRun,
) => Promise<PollResult>;

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
