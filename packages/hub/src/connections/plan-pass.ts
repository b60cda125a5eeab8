/** Plans one pass over the subscriptions of a connection: which are due, and which are impossible. */
import type { Connection, Offers, TriggerSubscription } from "../store/connection-store.ts";
import {
  type ConfigurePlan,
  hasTypes,
  isPolled,
  planConfigure,
  wantsCallbacks,
} from "./plan-configure.ts";
import type { SettleContext } from "./settle.ts";
import { TRIGGER_CONFIGURE } from "./trigger-list.ts";

export interface PassRequest {
  connection: Connection;
  offers: Offers;
  subscriptions: readonly TriggerSubscription[];
  /** Configures all subscriptions again, because the server may have lost them. */
  reassert: boolean;
}

export interface PassPlan extends ConfigurePlan {
  /** The subscriptions that the server cannot have. */
  impossible: { subscription: TriggerSubscription; error: string }[];
}

export function planPass(
  { connection, offers, subscriptions, reassert }: PassRequest,
  { now, callbackUrl }: Pick<SettleContext, "now" | "callbackUrl">,
): PassPlan {
  const isDue = (one: TriggerSubscription) =>
    one.next_at <= now() ||
    (reassert && (one.wanted !== "paused" || one.configured_type !== null)) ||
    // The hub has another address than before.
    (wantsCallbacks(offers, one) &&
      one.state === "active" &&
      one.position?.callbackUrl !== callbackUrl);
  const hasTool = offers.tools.some(({ name }) => name === TRIGGER_CONFIGURE);
  const problemOf = (subscription: TriggerSubscription): string | undefined => {
    if (!wantsCallbacks(offers, subscription)) return undefined;
    if (!hasTool)
      return `${connection.name} offers no triggers: it has no tool ${TRIGGER_CONFIGURE}. Poll one of its tools instead.`;
    return hasTypes(offers, subscription)
      ? undefined
      : `${connection.name} lists no trigger types.`;
  };
  const impossible = subscriptions.flatMap((subscription) => {
    const error = isDue(subscription) ? problemOf(subscription) : undefined;
    return error === undefined ? [] : [{ subscription, error }];
  });
  const possible = subscriptions.filter((one) => problemOf(one) === undefined);
  // Without the tool there is nothing to disable.
  const known = hasTool ? possible : possible.map((one) => ({ ...one, configured_type: null }));
  const plan = planConfigure(offers, known, isDue);
  // What is polled needs no call, except to disable former callbacks.
  const settles = plan.settles.filter(
    ({ subscription, calls }) => calls.length > 0 || !isPolled(offers, subscription),
  );
  return { ...plan, settles, impossible };
}
