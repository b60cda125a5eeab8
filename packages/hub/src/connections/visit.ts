/** One visit of a leased connection: check, reconcile, poll, record, and schedule the next visit. */
import type { Log } from "../kernel/lib/log.ts";
import type { Store } from "../store.ts";
import { messageOfError } from "./configure-outcome.ts";
import { ConnectionError } from "./connection-error.ts";
import type { Connections } from "./connections.ts";
import type {
  ConnectionResult,
  LeasedConnection,
  Offers,
  SubscriptionResult,
  TriggerSubscription,
} from "./model.ts";
import { type PollDueOptions, pollDue } from "./poll-due.ts";
import { LeaseLost, type ReconcileOptions, reconcile } from "./reconcile.ts";
import type { RevokeRemoved } from "./revoke-removed.ts";
import { stopFormerServers } from "./stop-former-servers.ts";
import { addJitter, failedResult, isConfirmed, retryMs } from "./subscription-results.ts";

export interface VisitOptions
  extends Omit<ReconcileOptions, "store" | "connections">,
    Pick<PollDueOptions, "append" | "newId"> {
  store: ReconcileOptions["store"] & Pick<Store, "finishConnection">;
  connections: Pick<Connections, "callTool" | "request" | "loadOffers" | "disconnect">;
  revokeRemoved: RevokeRemoved;
  log: Log;
}

/** Rejects if the lease is lost or `signal` is aborted. Any other error is recorded, then thrown. */
export type Visit = (leased: LeasedConnection, signal: AbortSignal) => Promise<void>;

const CHECK_EVERY_MS = 5 * 60_000;
const CHECK_TIMEOUT_MS = 20_000;
/** The minimum time between two visits, unless something has changed. */
const PAUSE_MS = 1_000;

const NO_OFFERS: Offers = { server: null, perSubscription: false, tools: [], triggers: [] };

export function createVisit(options: VisitOptions): Visit {
  const { store, connections, by, context, log } = options;

  const finish = async (
    { connection }: LeasedConnection,
    result: Omit<ConnectionResult, "id" | "revision">,
    subscriptions: readonly SubscriptionResult[] = [],
  ): Promise<void> => {
    const { id, revision } = connection;
    const save = () =>
      store.finishConnection(by, { id, revision, ...result }, subscriptions, context.now());
    await (connection.deleted ? options.revokeRemoved(connection, save) : save());
  };

  /** Records the failure, and schedules the next visit with backoff. */
  const fail = async (
    leased: LeasedConnection,
    error: unknown,
    subscriptions: readonly TriggerSubscription[],
  ): Promise<void> => {
    const { connection } = leased;
    const { id, tenant, status } = connection;
    const attempt = connection.attempt + 1;
    const message = messageOfError(error);
    const newStatus = statusOf(error);
    if (status !== newStatus) log.warn({ connection: id, tenant }, `connection failed: ${message}`);
    await finish(
      leased,
      {
        status: newStatus,
        error: message,
        checked_at: context.now(),
        attempt,
        next_at: context.now() + retryMs(attempt, context.random),
        pause_until: context.now() + PAUSE_MS,
      },
      subscriptions
        .filter(isUnconfirmed)
        .map((subscription) =>
          failedResult(subscription, { error: message, isRejected: false }, context),
        ),
    );
  };

  const work: Visit = async (leased, signal) => {
    const { connection, subscriptions } = leased;
    await stopFormerServers(options, leased, signal);
    const now = context.now();
    let { offers } = leased;
    const isChecked = needsCheck(leased, now);
    if (isChecked)
      try {
        offers = await connections.loadOffers(connection, { signal, timeoutMs: CHECK_TIMEOUT_MS });
      } catch (error) {
        signal.throwIfAborted();
        return fail(leased, error, subscriptions);
      }
    signal.throwIfAborted();
    const request = { connection, offers: offers ?? NO_OFFERS, subscriptions, signal };
    // After a failure, a change of the target or a new version of the server, it may not know the
    // subscriptions. After a change of its types, subscriptions to every type must be configured again.
    const shouldReconfigure =
      isChecked && (connection.status !== "ok" || hasServerChanged(leased.offers, offers));
    const { nextAt, unreachable } = await reconcile(options, {
      ...request,
      shouldReconfigure,
      shouldRenew: isChecked,
    });
    if (unreachable !== undefined) return fail(leased, new Error(unreachable), []);
    for (const [id, next] of await pollDue(options, request)) nextAt.set(id, next);
    const checkAt = isChecked
      ? now + addJitter(CHECK_EVERY_MS, context.random)
      : (connection.checked_at ?? now) + CHECK_EVERY_MS;
    const next_at = Math.max(now + PAUSE_MS, Math.min(checkAt, ...nextAt.values()));
    const checkResult = isChecked &&
      offers && {
        status: "ok" as const,
        error: null,
        checked_at: now,
        attempt: 0,
        // Offers may be large and rarely change, so they are stored only if they differ.
        ...(JSON.stringify(offers) !== JSON.stringify(leased.offers) && { offers }),
      };
    const pause_until = context.now() + PAUSE_MS;
    await finish(leased, { ...checkResult, next_at: Math.round(next_at), pause_until });
    if (connection.attempt > 0 && isChecked)
      log.info({ connection: connection.id, tenant: connection.tenant }, "connection recovered");
    if (connection.deleted) connections.disconnect(connection.id);
  };

  return async (leased, signal) => {
    try {
      await work(leased, signal);
    } catch (error) {
      if (signal.aborted || error instanceof LeaseLost) throw error;
      const message = `The hub could not finish the check: ${messageOfError(error)}. The hub's log has the details.`;
      await fail(leased, new Error(message), []);
      throw error;
    }
  };
}

const statusOf = (error: unknown) =>
  error instanceof ConnectionError && error.code === "needs_authorization"
    ? error.code
    : ("failed" as const);

/**
 * A visit for due subscriptions uses the last check, if that is recent and no call has failed since.
 * A deleted connection needs no check if its server has no subscriptions.
 */
function needsCheck({ connection, offers, subscriptions }: LeasedConnection, now: number): boolean {
  const { deleted, status, checked_at } = connection;
  if (deleted) return subscriptions.some(({ configured_type }) => configured_type !== null);
  if (!offers || status !== "ok" || checked_at === null) return true;
  if (now - checked_at >= CHECK_EVERY_MS * 0.75) return true;
  // A confirmed subscription is renewed after a check, because its server may have changed.
  const hasChanges = subscriptions.some(
    (subscription) => subscription.next_at <= now && !isConfirmed(subscription),
  );
  return !hasChanges || subscriptions.some(hasFailed);
}

const hasFailed = ({ attempt }: TriggerSubscription): boolean => attempt > 0;
const isUnconfirmed = ({ configured, revision }: TriggerSubscription): boolean =>
  configured < revision;

function hasServerChanged(before: Offers | null, after: Offers | null): boolean {
  const serialize = (offers: Offers | null) =>
    JSON.stringify([
      offers?.server,
      offers?.perSubscription,
      offers?.triggers.map(({ type }) => type).toSorted(),
    ]);
  return serialize(before) !== serialize(after);
}
