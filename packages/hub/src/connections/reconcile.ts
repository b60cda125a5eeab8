/**
 * Drives the subscriptions of one connection to their wanted states.
 *
 * Everything is recorded before it is sent: a subscription stays due until the server has confirmed it,
 * `configured_type` names a type before it is enabled, and a token is valid before the server gets it.
 * So the process can end at any point, and the next pass completes the work.
 */
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { Store } from "../store.ts";
import {
  type ConfigureOutcome,
  readConfigureAnswer,
  readConfigureError,
} from "./configure-outcome.ts";
import type { Connections } from "./connections.ts";
import type { Offers, SubscriptionResult, TriggerSubscription } from "./model.ts";
import {
  type AffectedSubscription,
  type ConfigureCall,
  isPolled,
  wantsCallbacks,
} from "./plan-configure.ts";
import { type PassRequest, planPass } from "./plan-pass.ts";
import { assumedDefaults } from "./server-params.ts";
import {
  type CallbackTokensOptions,
  createStagedTokens,
  type DeriveCallbackToken,
} from "./staged-tokens.ts";
import {
  type Confirmation,
  confirmedResult,
  failedResult,
  isConfirmed,
  type ReconcileContext,
} from "./subscription-results.ts";
import { TRIGGER_CONFIGURE } from "./trigger-list.ts";

const CONFIGURE_TIMEOUT_MS = 20_000;

export interface ReconcileOptions {
  store: CallbackTokensOptions["store"] & Pick<Store, "saveSubscriptions" | "dropFormerServers">;
  connections: Pick<Connections, "callTool">;
  deriveToken: DeriveCallbackToken;
  /** The holder of the lease. */
  by: string;
  context: ReconcileContext;
}

export interface ReconcileRequest extends PassRequest {
  signal: AbortSignal;
}

/** The lease has expired, and another process may work on the connection. */
export class LeaseLost extends Error {
  readonly code = "lease_lost";
}

export interface ReconcileResult {
  /** When each subscription is due next. Checks renew confirmed ones, so these are not in the map. */
  nextAt: Map<string, number>;
  /** The error, if the server became unreachable. It may have restarted and lost its subscriptions. */
  unreachable?: string;
}

/** Throws `LeaseLost`, or the reason of `signal`. */
export async function reconcile(
  options: ReconcileOptions,
  request: ReconcileRequest,
): Promise<ReconcileResult> {
  const { store, by, context } = options;
  const { connection, offers, subscriptions, signal } = request;
  const nextAt = new Map(
    subscriptions.flatMap((subscription) =>
      isConfirmed(subscription) && subscription.attempt === 0
        ? []
        : [[subscription.id, subscription.next_at] as const],
    ),
  );

  const save = async (results: readonly SubscriptionResult[]): Promise<void> => {
    if (results.length === 0) return;
    signal.throwIfAborted();
    if (!(await store.saveSubscriptions(by, connection.id, results, context.now())))
      throw new LeaseLost(`the lease of ${connection.id} was lost`);
    for (const { id, next_at, isRemoved, configured_type, attempt } of results)
      if (isRemoved || (configured_type && attempt === 0)) nextAt.delete(id);
      else if (next_at !== undefined) nextAt.set(id, next_at);
  };

  const { impossible, isRenewal, ...plan } = planPass(request, context);
  await save(
    impossible.map(({ subscription, error }) =>
      failedResult(subscription, { error, isRejected: true }, context),
    ),
  );
  const tokens = createStagedTokens({
    ...plan,
    store,
    connection,
    subscriptions,
    deriveToken: options.deriveToken,
    now: context.now,
  });
  const unfinished = new Set(plan.affected);
  /** The calls that have succeeded, and whether the server has stored each. */
  const succeeded = new Map<ConfigureCall, boolean>();
  /** Records the subscriptions whose calls have all succeeded. */
  const saveConfirmed = async () => {
    const confirmed = [...unfinished].filter(({ calls }) =>
      calls.every((call) => succeeded.has(call)),
    );
    for (const affected of confirmed) unfinished.delete(affected);
    const results = confirmed.flatMap(({ subscription, calls }) => {
      const isStored = calls.length > 0 && calls.every((call) => succeeded.get(call));
      const assumed = assumedBy(offers, subscription, calls);
      const changesNothing =
        !isStored &&
        subscription.error === null &&
        JSON.stringify(assumed) === JSON.stringify(subscription.position?.assumed ?? {});
      // A renewal that changes nothing is not recorded: it would be a write for every check.
      return isRenewal(subscription) && changesNothing
        ? []
        : [resultOf(offers, subscription, { isStored, assumed }, context)];
    });
    await save(results);
  };
  /** Records the failure of the subscriptions that need the call. */
  const saveFailed = async (call: ConfigureCall, error: string, isRejected: boolean) => {
    const failed = [...unfinished].filter(({ calls }) => calls.includes(call));
    for (const affected of failed) unfinished.delete(affected);
    await save(
      failed.map(({ subscription }) => {
        // A subscription to any type has one call for each type, and the others may succeed.
        const named = subscription.type === "" ? `${call.type}: ${error}` : error;
        return failedResult(subscription, { error: named, isRejected }, context);
      }),
    );
  };

  await saveConfirmed();
  const changing = [...unfinished].filter(({ subscription }) => !isRenewal(subscription));
  await save(dueNow(changing, context.now()));
  let isEnabling = false;
  for (const call of plan.calls) {
    // Calls that disable come first. Before the first call that enables, its types are recorded.
    if (call.enabled && !isEnabling) await save(typesToEnable(offers, plan.affected));
    isEnabling = call.enabled;
    const token = call.owner === undefined ? undefined : await tokens.stage(call.owner);
    const result = await configure(options, request, call, {
      callbackToken: token,
      timeoutMs: CONFIGURE_TIMEOUT_MS,
    });
    signal.throwIfAborted();
    await tokens.record(call, result.outcome);
    if (result.outcome === "done") {
      succeeded.set(call, result.isStored);
      await saveConfirmed();
    } else {
      await saveFailed(call, result.error, result.outcome === "rejected");
      if (result.outcome === "rejected") continue;
      // The server may not be working. The next visit checks it, then makes the remaining calls.
      return result.isUnreachable ? { nextAt, unreachable: result.error } : { nextAt };
    }
  }
  return { nextAt };
}

/** After the callbacks of a polled subscription are disabled, `next_at` stays, so that it is polled. */
const resultOf = (
  offers: Offers,
  subscription: TriggerSubscription,
  confirmation: Confirmation,
  context: ReconcileContext,
): SubscriptionResult =>
  isPolled(offers, subscription)
    ? { id: subscription.id, revision: subscription.revision, configured_type: null }
    : confirmedResult(subscription, confirmation, context);

/** The defaults that the server may assume for the params that the calls do not send. */
const assumedBy = (
  { triggers }: Offers,
  { params }: TriggerSubscription,
  calls: readonly ConfigureCall[],
): JsonObject =>
  Object.assign(
    {},
    ...calls
      .filter(({ enabled }) => enabled)
      .map((call) =>
        assumedDefaults(
          params,
          call.params,
          triggers.find(({ type }) => type === call.type),
        ),
      ),
  );

/**
 * Makes affected subscriptions due that are not. They stay due until the server has confirmed them, even
 * if this process ends.
 */
const dueNow = (affected: Iterable<AffectedSubscription>, now: number): SubscriptionResult[] =>
  [...affected]
    .filter(({ subscription }) => subscription.next_at > now)
    .map(({ subscription: { id, revision } }) => ({ id, revision, next_at: now }));

const typesToEnable = (
  offers: Offers,
  affected: readonly AffectedSubscription[],
): SubscriptionResult[] =>
  affected
    .map(({ subscription }) => subscription)
    .filter(
      (subscription) =>
        wantsCallbacks(offers, subscription) && subscription.configured_type !== subscription.type,
    )
    .map(({ id, revision, type }) => ({ id, revision, configured_type: type }));

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
