/**
 * Drives the subscriptions of one connection to their wanted states.
 *
 * Everything is recorded before it is sent: a subscription stays due until the server has confirmed it,
 * `configured_type` names a type before it is enabled, and a token is valid before the server gets it.
 * So the process can end at any point, and the next pass completes the work.
 */
import type {
  ConnectionStore,
  Offers,
  SubscriptionResult,
  TriggerSubscription,
} from "../store/connection-store.ts";
import { type CallbackTokensOptions, createTokenRotation } from "./callback-tokens.ts";
import {
  type ConfigureOutcome,
  readConfigureAnswer,
  readConfigureError,
} from "./configure-outcome.ts";
import type { Connections } from "./connections.ts";
import {
  type ConfigureCall,
  type ConfigurePlan,
  isPolled,
  wantsCallbacks,
} from "./plan-configure.ts";
import { type PassRequest, planPass } from "./plan-pass.ts";
import { type SettleContext, settled, unsettled } from "./settle.ts";
import { TRIGGER_CONFIGURE } from "./trigger-list.ts";

const CONFIGURE_TIMEOUT_MS = 20_000;

export interface ReconcileOptions {
  store: CallbackTokensOptions["store"] &
    Pick<ConnectionStore, "saveSubscriptions" | "dropFormerServers">;
  connections: Pick<Connections, "callTool">;
  /** The holder of the lease. */
  by: string;
  context: SettleContext;
}

export interface ReconcileRequest extends PassRequest {
  signal: AbortSignal;
}

/** The lease has expired, and another process may work on the connection. */
export class LeaseLost extends Error {
  readonly code = "lease_lost";
}

export interface Reconciled {
  /** When each subscription is due next. */
  nextAt: Map<string, number>;
  /** Set if the server became unreachable: it may have restarted, and lost everything. */
  unreachable?: string;
}

/** Throws `LeaseLost`, or the reason of `signal`. */
export async function reconcile(
  options: ReconcileOptions,
  request: ReconcileRequest,
): Promise<Reconciled> {
  const { store, by, context } = options;
  const { connection, offers, subscriptions, signal } = request;
  const nextAt = new Map(subscriptions.map(({ id, next_at }) => [id, next_at]));

  const save = async (results: readonly SubscriptionResult[]): Promise<void> => {
    if (results.length === 0) return;
    signal.throwIfAborted();
    if (!(await store.saveSubscriptions(by, connection.id, results, context.now())))
      throw new LeaseLost(`the lease of ${connection.id} was lost`);
    for (const { id, next_at, isRemoved } of results)
      if (isRemoved) nextAt.delete(id);
      else if (next_at !== undefined) nextAt.set(id, next_at);
  };

  const { impossible, ...plan } = planPass(request, context);
  await save(
    impossible.map(({ subscription, error }) =>
      unsettled(subscription, { error, isRejected: true }, context),
    ),
  );
  const tokens = createTokenRotation({ ...plan, store, connection, now: context.now });
  const open = new Set(plan.settles);
  const done = new Set<ConfigureCall>();
  const settle = async () => {
    const ready = [...open].filter(({ calls }) => calls.every((call) => done.has(call)));
    for (const one of ready) open.delete(one);
    await save(ready.map(({ subscription }) => settledResult(offers, subscription, context)));
  };
  const fail = async (call: ConfigureCall, error: string, isRejected: boolean) => {
    const failed = [...open].filter(({ calls }) => calls.includes(call));
    for (const one of failed) open.delete(one);
    await save(
      failed.map(({ subscription }) => unsettled(subscription, { error, isRejected }, context)),
    );
  };

  await settle();
  await save(stillDue(open, context.now()));
  let isEnabling = false;
  for (const call of plan.calls) {
    if (call.enabled && !isEnabling) await save(enabledTypes(offers, plan.settles));
    isEnabling = call.enabled;
    const token = call.owner === undefined ? undefined : await tokens.stage(call.owner);
    const result = await configure(options, request, call, {
      callbackToken: token,
      timeoutMs: CONFIGURE_TIMEOUT_MS,
    });
    signal.throwIfAborted();
    await tokens.record(call, result.outcome);
    if (result.outcome === "done") {
      done.add(call);
      await settle();
    } else {
      await fail(call, result.error, result.outcome === "rejected");
      if (result.outcome === "rejected") continue;
      // The next visit checks the server first, and continues with the rest.
      return result.isUnreachable ? { nextAt, unreachable: result.error } : { nextAt };
    }
  }
  return { nextAt };
}

/** A polled subscription whose callbacks are disabled stays due: it is polled. */
const settledResult = (
  offers: Offers,
  subscription: TriggerSubscription,
  context: SettleContext,
): SubscriptionResult =>
  isPolled(offers, subscription)
    ? { id: subscription.id, revision: subscription.revision, configured_type: null }
    : settled(subscription, context);

/** Siblings that are configured again are due until the server has confirmed them. */
const stillDue = (settles: Iterable<Settle>, now: number): SubscriptionResult[] =>
  [...settles]
    .filter(({ subscription }) => subscription.next_at > now)
    .map(({ subscription: { id, revision } }) => ({ id, revision, next_at: now }));

const enabledTypes = (offers: Offers, settles: readonly Settle[]): SubscriptionResult[] =>
  settles
    .map(({ subscription }) => subscription)
    .filter((one) => wantsCallbacks(offers, one) && one.configured_type !== one.type)
    .map(({ id, revision, type }) => ({ id, revision, configured_type: type }));

type Settle = ConfigurePlan["settles"][number];

export async function configure(
  { connections, context: { callbackUrl } }: ReconcileOptions,
  { connection, signal }: Pick<ReconcileRequest, "connection" | "signal">,
  { type, params, enabled, subscriptionId }: ConfigureCall,
  { callbackToken, timeoutMs }: { callbackToken?: string | undefined; timeoutMs: number },
): Promise<ConfigureOutcome> {
  try {
    const answer = await connections.callTool(
      connection,
      {
        tool: TRIGGER_CONFIGURE,
        arguments: {
          type,
          params,
          enabled,
          ...(callbackToken !== undefined && { callbackUrl, callbackToken }),
          ...(subscriptionId !== undefined && { subscriptionId }),
        },
      },
      { signal, timeoutMs },
    );
    return readConfigureAnswer(answer);
  } catch (error) {
    return readConfigureError(error);
  }
}
