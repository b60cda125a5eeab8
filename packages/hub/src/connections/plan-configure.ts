/**
 * Plans the calls of `TRIGGER_CONFIGURE` that lead from the last confirmed state to the wanted one.
 *
 * A server that accepts `subscriptionId` keeps a credential per subscription, and gets calls for each
 * subscription. Other servers keep one credential per connection, or one per type, and some forget
 * everything when one type is disabled. They get calls for each type: a type is disabled only if no
 * subscription wants it; after that, all wanted types are enabled again. A credential that belongs to
 * a removed subscription is replaced by that of another one first.
 */
import type {
  Binding,
  CallbackScope,
  Offers,
  TriggerSubscription,
} from "../store/connection-store.ts";
import { commonParams, type ServerParams } from "./server-params.ts";

export interface ConfigureCall {
  type: string;
  params: ServerParams;
  enabled: boolean;
  subscriptionId?: string;
  /** The subscription whose callback token is sent. Calls with the same owner send the same token. */
  owner?: string;
}

export interface ConfigurePlan {
  scope: CallbackScope;
  /** In their order. Calls with `enabled: false` come first. */
  calls: ConfigureCall[];
  /** The types that a server without `subscriptionId` must send. */
  wantedTypes: string[];
  /** The subscriptions that reach their wanted state when all of these calls have succeeded. */
  settles: { subscription: TriggerSubscription; calls: ConfigureCall[] }[];
}

export type PlanOffers = Pick<Offers, "perSubscription" | "triggers">;

/** `isDue` selects the subscriptions that are driven to their wanted state; the others only count. */
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

/** A type that the server does not offer is configured by callback; its response decides. */
function bindingOf({ triggers }: PlanOffers, { poll, type }: TriggerSubscription): Binding {
  if (poll) return "poll";
  if (type !== "") return triggers.find((trigger) => trigger.type === type)?.binding ?? "callback";
  const has = (binding: Binding) => triggers.some((trigger) => trigger.binding === binding);
  return has("events") && !has("callback") ? "events" : "callback";
}

/** A subscription to every type, "", is configured for each type that the server offers. */
const expandType = (offers: PlanOffers, type: string): string[] =>
  type === ""
    ? offers.triggers.filter(({ binding }) => binding === "callback").map((one) => one.type)
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
  const settles: ConfigurePlan["settles"] = [];
  for (const subscription of due) {
    const { id, type: subscribed, configured_type } = subscription;
    const on = wantedTypes(offers, subscription).map(
      (type): ConfigureCall => ({
        type,
        params: commonParams([subscription.params], triggerOf(offers, type)),
        enabled: true,
        subscriptionId: serverIdOf(id, subscribed, type),
        owner: id,
      }),
    );
    const former = configured_type === null ? [] : expandType(offers, configured_type);
    const off = former
      .map((type) => ({ type, subscriptionId: serverIdOf(id, configured_type ?? "", type) }))
      .filter((one) => !on.some((call) => isSameAtServer(call, one)))
      .map((one): ConfigureCall => ({ ...one, params: {}, enabled: false }));
    disables.push(...off);
    enables.push(...on);
    settles.push({ subscription, calls: on.length > 0 ? on : off });
  }
  return { scope: "subscription", calls: [...disables, ...enables], wantedTypes: [], settles };
}

/** A server may keep one type per id, so that each type of a subscription to all types has its own. */
const serverIdOf = (id: string, subscribed: string, type: string): string =>
  subscribed === "" ? `${id}/${type}` : id;

type AtServer = Pick<ConfigureCall, "type" | "subscriptionId">;
const isSameAtServer = (a: AtServer, b: AtServer): boolean =>
  a.type === b.type && a.subscriptionId === b.subscriptionId;

function planByType(
  offers: PlanOffers,
  subscriptions: readonly TriggerSubscription[],
  isDue: (subscription: TriggerSubscription) => boolean,
): ConfigurePlan {
  const due = subscriptions.filter(isDue);
  const wanted = groupByType(offers, subscriptions);
  const disables = new Map<string, ConfigureCall>();
  const enabled = new Set<string>();
  for (const subscription of due) {
    for (const type of wantedTypes(offers, subscription)) enabled.add(type);
    for (const type of unwantedTypes(offers, subscription))
      if (!wanted.has(type)) disables.set(type, { type, params: {}, enabled: false });
    for (const type of replacedTypes(offers, subscription, wanted)) enabled.add(type);
  }
  if (disables.size > 0) for (const type of wanted.keys()) enabled.add(type);
  // A confirmed token replaces the former ones of its owner, so all types of an owner get it.
  const owners = new Set([...enabled].map((type) => wanted.get(type)?.[0]?.id));
  for (const [type, [owner]] of wanted) if (owners.has(owner?.id)) enabled.add(type);

  const enables = new Map<string, ConfigureCall>();
  for (const type of enabled) {
    const wanting = wanted.get(type) ?? [];
    enables.set(type, {
      type,
      params: commonParams(
        wanting.map(({ params }) => params),
        triggerOf(offers, type),
      ),
      enabled: true,
      owner: wanting[0]?.id as string,
    });
  }
  // Others whose types are all enabled again stay due until the server has confirmed that.
  const isEnabledAgain = (types: readonly string[]) =>
    types.length > 0 && types.every((type) => enabled.has(type));
  const affected = subscriptions.filter(
    (one) => isDue(one) || isEnabledAgain(wantedTypes(offers, one)),
  );
  const pick = (calls: ReadonlyMap<string, ConfigureCall>, types: readonly string[]) =>
    types.flatMap((type) => calls.get(type) ?? []);
  return {
    scope: "connection",
    calls: [...disables.values(), ...enables.values()],
    wantedTypes: [...wanted.keys()],
    settles: affected.map((subscription) => {
      const on = pick(enables, wantedTypes(offers, subscription));
      const off = pick(disables, unwantedTypes(offers, subscription));
      const replaced = pick(enables, replacedTypes(offers, subscription, wanted));
      if (on.length > 0) return { subscription, calls: on };
      return subscription.wanted === "removed"
        ? { subscription, calls: [...off, ...replaced.slice(0, 1)] }
        : { subscription, calls: off };
    }),
  };
}

/** The subscriptions that want each type. The first one owns the token that the server gets. */
function groupByType(offers: PlanOffers, subscriptions: readonly TriggerSubscription[]) {
  const wanted = new Map<string, TriggerSubscription[]>();
  // Those to one type come first, so that a token is sent for as few types as possible.
  const ordered = subscriptions.toSorted(
    (a, b) => Number(a.type === "") - Number(b.type === "") || (a.id < b.id ? -1 : 1),
  );
  for (const subscription of ordered)
    for (const type of wantedTypes(offers, subscription))
      wanted.set(type, [...(wanted.get(type) ?? []), subscription]);
  return wanted;
}

/**
 * The wanted types that the server may serve with a token of this subscription, although the
 * subscription is removed or has changed its type. After its removal, these tokens are invalid.
 */
function replacedTypes(
  offers: PlanOffers,
  subscription: TriggerSubscription,
  wanted: ReadonlyMap<string, unknown>,
): string[] {
  if (subscription.wanted !== "removed")
    return unwantedTypes(offers, subscription).filter((type) => wanted.has(type));
  const own = expandType(offers, subscription.configured_type ?? subscription.type);
  const types = own.filter((type) => wanted.has(type));
  return types.length > 0 ? types : [...wanted.keys()];
}
