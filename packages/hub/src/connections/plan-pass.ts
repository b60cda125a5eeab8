/** Plans one pass: the calls that drive the due subscriptions of a connection to their wanted states. */
import type { Connection, Offers, TriggerSubscription } from "./model.ts";
import {
  type ConfigurePlan,
  hasTypes,
  isPolled,
  planConfigure,
  wantsCallbacks,
} from "./plan-configure.ts";
import { isVolatile, type ReconcileContext } from "./subscription-results.ts";
import { TRIGGER_CONFIGURE } from "./trigger-list.ts";

export interface PassRequest {
  connection: Connection;
  offers: Offers;
  subscriptions: readonly TriggerSubscription[];
  /** Whether to configure all subscriptions, even those that are not due: the server may have lost them. */
  shouldReconfigure: boolean;
  /** Whether to renew the subscriptions that a restart of the server loses. */
  shouldRenew: boolean;
}

export interface PassPlan extends ConfigurePlan {
  /** The due subscriptions that the server cannot serve, and why. */
  impossible: { subscription: TriggerSubscription; error: string }[];
  /** Whether the server already has the wanted state, unless it has lost it. */
  isRenewal(subscription: TriggerSubscription): boolean;
}

export function planPass(
  { connection, offers, subscriptions, shouldReconfigure, shouldRenew }: PassRequest,
  { now, callbackUrl }: Pick<ReconcileContext, "now" | "callbackUrl">,
): PassPlan {
  const startedAt = now();
  const mustConfigure = (subscription: TriggerSubscription) => {
    const { next_at, wanted, configured_type, state, position } = subscription;
    return (
      next_at <= startedAt ||
      (shouldReconfigure && (wanted !== "paused" || configured_type !== null)) ||
      // The hub's URL has changed since the server was configured.
      (wantsCallbacks(offers, subscription) &&
        state === "active" &&
        position?.callbackUrl !== callbackUrl)
    );
  };
  const isRenewal = (subscription: TriggerSubscription) =>
    shouldRenew && isVolatile(subscription) && !mustConfigure(subscription);
  const isDue = (subscription: TriggerSubscription) =>
    mustConfigure(subscription) || isRenewal(subscription);
  const hasTool = offers.tools.some(({ name }) => name === TRIGGER_CONFIGURE);
  const problemOf = (subscription: TriggerSubscription): string | undefined => {
    if (!wantsCallbacks(offers, subscription)) return undefined;
    if (!hasTool)
      return `${connection.name} offers no triggers: it has no tool ${TRIGGER_CONFIGURE}. Poll one of its tools instead.`;
    return hasTypes(offers, subscription)
      ? undefined
      : `${connection.name} lists no trigger types. Poll one of its tools instead.`;
  };
  const impossible = subscriptions.flatMap((subscription) => {
    const error = isDue(subscription) ? problemOf(subscription) : undefined;
    return error === undefined ? [] : [{ subscription, error }];
  });
  const possible = subscriptions.filter((subscription) => problemOf(subscription) === undefined);
  // Without the tool, the hub cannot disable anything: `configured_type: null` prevents such calls.
  const configurable = hasTool
    ? possible
    : possible.map((subscription) => ({ ...subscription, configured_type: null }));
  const plan = planConfigure(offers, configurable, isDue);
  // A polled subscription is affected only if a call disables its former callbacks.
  const affected = plan.affected.filter(
    ({ subscription, calls }) => calls.length > 0 || !isPolled(offers, subscription),
  );
  return { ...plan, affected, impossible, isRenewal };
}
