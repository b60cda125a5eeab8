/**
 * Plans the calls of `TRIGGER_CONFIGURE` that lead from the last confirmed state to the wanted one.
 *
 * A server that accepts `subscriptionId` keeps a credential per subscription, and gets calls for each
 * subscription. Other servers keep one credential per connection, or one per type, and some lose all
 * types when one type is disabled. They get calls for each type: a type is disabled only if no
 * subscription wants it; after that, all wanted types are enabled again. Before a subscription is
 * removed, the server gets the credential of another subscription instead of the removed one's.
 */
import type { Binding, CallbackScope, Offers, TriggerSubscription } from "./model.ts";
import { commonParams, type ServerParams } from "./server-params.ts";

export interface ConfigureCall {
  type: string;
  params: ServerParams;
  enabled: boolean;
  subscriptionId?: string;
  /** The subscription whose callback token is sent. Calls with the same owner send the same token. */
  owner?: string;
}

/** It reaches its wanted state when all of its calls have succeeded. */
export interface AffectedSubscription {
  subscription: TriggerSubscription;
  calls: ConfigureCall[];
}

export interface ConfigurePlan {
  scope: CallbackScope;
  /** In the order in which they are sent. Calls with `enabled: false` come first. */
  calls: ConfigureCall[];
  /** All types that subscriptions want; empty if the server accepts `subscriptionId`. */
  wantedTypes: string[];
  affected: AffectedSubscription[];
}

export type PlanOffers = Pick<Offers, "perSubscription" | "triggers">;

/**
 * `isDue` selects the subscriptions that must reach their wanted state. The types that the other
 * subscriptions want stay enabled.
 */
export function planConfigure(
  offers: PlanOffers,
  subscriptions: readonly TriggerSubscription[],
  isDue: (subscription: TriggerSubscription) => boolean,
): ConfigurePlan {
  return offers.perSubscription
    ? planBySubscription(offers, subscriptions.filter(isDue))
    : planByType(offers, subscriptions, isDue);
}

/** Whether the server must send the events of the subscription by callback. */
export const wantsCallbacks = (offers: PlanOffers, subscription: TriggerSubscription): boolean =>
  subscription.wanted === "active" && bindingOf(offers, subscription) === "callback";

/** Whether the hub must poll the events of the subscription. */
export const isPolled = (offers: PlanOffers, subscription: TriggerSubscription): boolean =>
  subscription.wanted === "active" && !wantsCallbacks(offers, subscription);

/** For a type that the server does not offer, the hub requests callbacks; the server may reject it. */
function bindingOf({ triggers }: PlanOffers, { poll, type }: TriggerSubscription): Binding {
  if (poll) return "poll";
  if (type !== "") return triggers.find((trigger) => trigger.type === type)?.binding ?? "callback";
  const has = (binding: Binding) => triggers.some((trigger) => trigger.binding === binding);
  return has("events") && !has("callback") ? "events" : "callback";
}

/** A subscription to every type, "", is configured for each type that the server offers. */
const expandType = (offers: PlanOffers, type: string): string[] =>
  type === ""
    ? offers.triggers.filter(({ binding }) => binding === "callback").map(({ type }) => type)
    : [type];

/** Whether there is a type to configure; a server may offer none. */
export const hasTypes = (offers: PlanOffers, subscription: TriggerSubscription): boolean =>
  wantedTypes(offers, subscription).length > 0;

const wantedTypes = (offers: PlanOffers, subscription: TriggerSubscription): string[] =>
  wantsCallbacks(offers, subscription) ? expandType(offers, subscription.type) : [];

/** The types that the server may have enabled for the subscription, and that it no longer wants. */
function unwantedTypes(offers: PlanOffers, subscription: TriggerSubscription): string[] {
  if (subscription.configured_type === null) return [];
  const wanted = wantedTypes(offers, subscription);
  return expandType(offers, subscription.configured_type).filter((type) => !wanted.includes(type));
}

const triggerOf = (offers: PlanOffers, type: string) =>
  offers.triggers.find((trigger) => trigger.type === type);

function planBySubscription(
  offers: PlanOffers,
  due: readonly TriggerSubscription[],
): ConfigurePlan {
  const disables: ConfigureCall[] = [];
  const enables: ConfigureCall[] = [];
  const affected: AffectedSubscription[] = [];
  for (const subscription of due) {
    const { id, type: subscribed, configured_type } = subscription;
    const enableCalls = wantedTypes(offers, subscription).map(
      (type): ConfigureCall => ({
        type,
        params: commonParams([subscription.params], triggerOf(offers, type)),
        enabled: true,
        subscriptionId: serverIdOf(id, subscribed, type),
        owner: id,
      }),
    );
    const configuredTypes = configured_type === null ? [] : expandType(offers, configured_type);
    const disableCalls = configuredTypes
      .map((type) => ({ type, subscriptionId: serverIdOf(id, configured_type ?? "", type) }))
      .filter((key) => !enableCalls.some((call) => hasSameKey(call, key)))
      .map((key): ConfigureCall => ({ ...key, params: {}, enabled: false }));
    disables.push(...disableCalls);
    enables.push(...enableCalls);
    affected.push({ subscription, calls: enableCalls.length > 0 ? enableCalls : disableCalls });
  }
  return { scope: "subscription", calls: [...disables, ...enables], wantedTypes: [], affected };
}

/** The `subscriptionId` for a type. A server may keep only one type per id, so each type has its own. */
const serverIdOf = (id: string, subscribed: string, type: string): string =>
  subscribed === "" ? `${id}/${type}` : id;

type CallKey = Pick<ConfigureCall, "type" | "subscriptionId">;
const hasSameKey = (a: CallKey, b: CallKey): boolean =>
  a.type === b.type && a.subscriptionId === b.subscriptionId;

function planByType(
  offers: PlanOffers,
  subscriptions: readonly TriggerSubscription[],
  isDue: (subscription: TriggerSubscription) => boolean,
): ConfigurePlan {
  const due = subscriptions.filter(isDue);
  const byType = groupByType(offers, subscriptions);
  const disables = new Map<string, ConfigureCall>();
  const typesToEnable = new Set<string>();
  for (const subscription of due) {
    for (const type of wantedTypes(offers, subscription)) typesToEnable.add(type);
    for (const type of unwantedTypes(offers, subscription))
      if (!byType.has(type)) disables.set(type, { type, params: {}, enabled: false });
    for (const type of replacedTypes(offers, subscription, byType)) typesToEnable.add(type);
  }
  if (disables.size > 0) for (const type of byType.keys()) typesToEnable.add(type);
  // A confirmed token replaces the former tokens of its owner, so it is sent for all types of the owner.
  const owners = new Set([...typesToEnable].map((type) => byType.get(type)?.[0]?.id));
  for (const [type, [owner]] of byType) if (owners.has(owner?.id)) typesToEnable.add(type);

  const enables = new Map<string, ConfigureCall>();
  for (const type of typesToEnable) {
    const wantedBy = byType.get(type) ?? [];
    enables.set(type, {
      type,
      params: commonParams(
        wantedBy.map(({ params }) => params),
        triggerOf(offers, type),
      ),
      enabled: true,
      owner: wantedBy[0]?.id as string, // every type to enable is wanted by a subscription
    });
  }
  // A subscription that is not due is affected too if all of its types are enabled again.
  const areEnabledAgain = (types: readonly string[]) =>
    types.length > 0 && types.every((type) => typesToEnable.has(type));
  const affected = subscriptions.filter(
    (subscription) => isDue(subscription) || areEnabledAgain(wantedTypes(offers, subscription)),
  );
  const pick = (calls: ReadonlyMap<string, ConfigureCall>, types: readonly string[]) =>
    types.flatMap((type) => calls.get(type) ?? []);
  return {
    scope: "connection",
    calls: [...disables.values(), ...enables.values()],
    wantedTypes: [...byType.keys()],
    affected: affected.map((subscription) => {
      const enableCalls = pick(enables, wantedTypes(offers, subscription));
      const disableCalls = pick(disables, unwantedTypes(offers, subscription));
      const replaceCalls = pick(enables, replacedTypes(offers, subscription, byType));
      if (enableCalls.length > 0) return { subscription, calls: enableCalls };
      // The removal waits for only one of the calls that replace its credential.
      return subscription.wanted === "removed"
        ? { subscription, calls: [...disableCalls, ...replaceCalls.slice(0, 1)] }
        : { subscription, calls: disableCalls };
    }),
  };
}

/** Maps each wanted type to its subscriptions. The first one owns the token that the server gets. */
function groupByType(offers: PlanOffers, subscriptions: readonly TriggerSubscription[]) {
  const byType = new Map<string, TriggerSubscription[]>();
  // Subscriptions to one type come first, so that a token is sent for as few types as possible.
  const ordered = subscriptions.toSorted(
    (a, b) => Number(a.type === "") - Number(b.type === "") || (a.id < b.id ? -1 : 1),
  );
  for (const subscription of ordered)
    for (const type of wantedTypes(offers, subscription))
      byType.set(type, [...(byType.get(type) ?? []), subscription]);
  return byType;
}

/**
 * The types that other subscriptions want, and for which the server may use a token of this
 * subscription, although it is removed or has changed its type. Its tokens are invalid after its
 * removal, so the server must get the token of another subscription.
 */
function replacedTypes(
  offers: PlanOffers,
  subscription: TriggerSubscription,
  byType: ReadonlyMap<string, unknown>,
): string[] {
  if (subscription.wanted !== "removed")
    return unwantedTypes(offers, subscription).filter((type) => byType.has(type));
  const ownTypes = expandType(offers, subscription.configured_type ?? subscription.type);
  const types = ownTypes.filter((type) => byType.has(type));
  return types.length > 0 ? types : [...byType.keys()];
}
