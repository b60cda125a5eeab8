/**
 * Asks the former servers of a connection to stop sending events. Each server gets one attempt, with a
 * timeout, because an unreachable server must not delay its replacement. This must happen before the
 * new server is configured, because both URLs may lead to the same server.
 */
import type { LeasedConnection } from "./model.ts";
import { planConfigure } from "./plan-configure.ts";
import { configure, LeaseLost, type ReconcileOptions } from "./reconcile.ts";

const CALL_TIMEOUT_MS = 5_000;
const SERVER_TIMEOUT_MS = 10_000;

export async function stopFormerServers(
  options: ReconcileOptions,
  { connection, offers, subscriptions, former }: LeasedConnection,
  signal: AbortSignal,
): Promise<void> {
  const newest = former.at(-1);
  if (!newest) return;
  const { store, by, context } = options;
  const removed = subscriptions.map((subscription) => ({
    ...subscription,
    wanted: "removed" as const,
  }));
  const calls = offers ? planConfigure(offers, removed, () => true).calls : [];
  for (const server of former) {
    const deadline = context.now() + SERVER_TIMEOUT_MS;
    const request = { connection: { ...connection, ...server }, signal };
    for (const call of calls) {
      const timeoutMs = Math.min(CALL_TIMEOUT_MS, deadline - context.now());
      if (timeoutMs <= 0) break;
      const { outcome } = await configure(options, request, call, { timeoutMs });
      signal.throwIfAborted();
      if (outcome === "unknown") break;
    }
  }
  if (!(await store.dropFormerServers(by, connection.id, newest.revision)))
    throw new LeaseLost(`the lease of ${connection.id} was lost`);
}
