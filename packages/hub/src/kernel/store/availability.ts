/** The availability of the database: the errors while it is unavailable, the log of outages, and `/readyz`. */

import type { Log } from "../lib/log.ts";
import { RequestError } from "../lib/request-error.ts";
import { type Timers, withTimeout } from "../lib/timers.ts";

/**
 * The database cannot be reached, or does not respond in time. The request may succeed later. This error
 * has no `cause`, because the driver's error can contain the connection, with keys and passwords.
 */
export class StorageUnavailable extends Error {
  readonly code = "storage_unavailable";
}

/** The file of the database is damaged: requests that read the damaged part fail until it is restored. */
export class StorageDamaged extends StorageUnavailable {}

/** The problem of a damaged file, with the fix. */
export const describeDamage = (file: string, reason: string): string =>
  `${file} is damaged, or not a SQLite database (${reason}). Stop the hub, and restore the file from a backup (docs/deploy.md).`;

/** After how many seconds a client should repeat its request. */
export const RETRY_AFTER_S = 5;

/** Callers do not log these errors: `createOutageLog` logs each outage once. */
export const isStorageUnavailable = (error: unknown): error is Error =>
  unavailableOf(error) !== undefined;

/** The message for clients, which does not contain the reason. */
export const unavailableDetail = (error: unknown): string =>
  unavailableOf(error) instanceof StorageDamaged
    ? "The database is damaged, so this request cannot be handled. The operator must restore the database: the log of the hub names the file."
    : `The database is unavailable. Try again in ${RETRY_AFTER_S} seconds.`;

const unavailableOf = (error: unknown): StorageUnavailable | undefined =>
  [error, error instanceof Error && error.cause].find(
    (candidate) => candidate instanceof StorageUnavailable,
  );

const RETRY_MS = 500;

/** Retries work that fails because the storage is unavailable, as long as `canRetry` returns true. */
export async function awaitStorage<Result>(
  { after }: Pick<Timers, "after">,
  canRetry: () => boolean,
  work: () => Promise<Result>,
): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isStorageUnavailable(error) || !canRetry()) throw error;
      await new Promise<void>((resolve) => after(RETRY_MS, resolve));
      if (!canRetry()) throw error;
    }
  }
}

/** An error of the store. The sender of a webhook gets `storage_unavailable` instead of `internal`. */
export class StoreFailed extends Error {
  readonly code = "store_failed";
}

/**
 * Wraps the error of a call to the store in `StoreFailed`, to distinguish it from a bug elsewhere. A
 * `RequestError` is rethrown unchanged: it means that the request is wrong.
 */
export async function wrapStoreErrors<Result>(result: Promise<Result>): Promise<Result> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof RequestError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreFailed(`The store failed: ${reason}`, { cause: error });
  }
}

export interface OutageLog {
  /** Called when an operation has failed because the database is unavailable. */
  onFailure(error: Error, operation: { writes: boolean }): void;
  /** Called when an operation has succeeded. */
  onSuccess(operation: { writes: boolean }): void;
  /** Called when a connection has ended that no operation used. */
  onDisconnect(error: Error): void;
}

/** A backend calls one of these functions for each operation. */
export type OperationLog = Pick<OutageLog, "onFailure" | "onSuccess">;

export interface OutageLogOptions {
  log: Pick<Log, "warn" | "error">;
  timers: Pick<Timers, "monotonic">;
  /**
   * The interval between two log lines of an outage, and the minimum interval between two log lines of
   * lost connections.
   */
  repeatMs?: number;
  /**
   * An outage has ended when an operation succeeds, and no operation has failed for this time. If writes
   * have failed, it ends with a write: a read-only database, or one whose disk is full, still serves reads.
   */
  quietMs?: number;
}

interface Outage {
  since: number;
  failures: number;
  /** Whether a write has failed. */
  writes: boolean;
  failedAt: number;
  loggedAt: number;
}

/** Logs an outage of the database once, with regular counts, and its end. */
export function createOutageLog(options: OutageLogOptions): OutageLog {
  const { log, timers, repeatMs = 30_000, quietMs = 1_000 } = options;
  let outage: Outage | undefined;
  let disconnectedAt = Number.NEGATIVE_INFINITY;
  const damage = { failures: 0, loggedAt: Number.NEGATIVE_INFINITY };
  const facts = ({ failures, since }: Outage) => ({
    failures,
    seconds: Math.round((timers.monotonic() - since) / 1000),
  });

  /** Not an outage, since other operations succeed, and the damage remains. */
  const onDamage = (reason: string) => {
    const now = timers.monotonic();
    damage.failures += 1;
    if (now - damage.loggedAt < repeatMs) return;
    damage.loggedAt = now;
    log.error({ reason, failures: damage.failures }, "the database is damaged: requests get 503");
  };

  return {
    onFailure(error, { writes }) {
      const { message } = error;
      if (error instanceof StorageDamaged) return onDamage(message);
      const now = timers.monotonic();
      if (!outage) {
        outage = { since: now, failures: 1, writes, failedAt: now, loggedAt: now };
        log.error({ reason: message }, "the database is unavailable: requests get 503");
        return;
      }
      outage.failures += 1;
      outage.writes ||= writes;
      outage.failedAt = now;
      if (now - outage.loggedAt < repeatMs) return;
      outage.loggedAt = now;
      log.error({ ...facts(outage), reason: message }, "the database is still unavailable");
    },
    onSuccess({ writes }) {
      if (!outage || (outage.writes && !writes)) return;
      if (timers.monotonic() - outage.failedAt < quietMs) return;
      log.warn(facts(outage), "the database is available again");
      outage = undefined;
    },
    onDisconnect({ message }) {
      const now = timers.monotonic();
      if (outage || now - disconnectedAt < repeatMs) return;
      disconnectedAt = now;
      log.warn({ reason: message }, "lost a connection to the database; opening another one");
    },
  };
}

export interface ReadinessOptions {
  /** Rejects if the database cannot be written to. */
  check: () => Promise<void>;
  timers: Pick<Timers, "monotonic" | "after">;
  /** Called for every check that fails. */
  onError?: (error: unknown) => void;
  cacheMs?: number;
  failureForMs?: number;
  timeoutMs?: number;
}

/**
 * Checks for `/readyz` whether events can be stored. Probes may call it often, so the result is cached:
 * it costs at most one small write per second. This small write can succeed while batches of events
 * fail. So the hub is also not ready after a failed batch, until a batch succeeds or `failureForMs` has
 * passed.
 */
export function createReadiness({
  check,
  timers,
  onError = () => {},
  cacheMs = 1_000,
  failureForMs = 5_000,
  timeoutMs = 5_000,
}: ReadinessOptions) {
  const now = timers.monotonic;
  let failure: { error: unknown; at: number } | undefined;
  let cached: { result: Promise<void>; until: number } | undefined;

  const checkOnce = async () => {
    const message = `the database did not respond within ${timeoutMs / 1000} s`;
    try {
      await withTimeout(timers, timeoutMs, check(), message);
    } catch (error) {
      onError(error);
      throw error;
    } finally {
      if (cached) cached.until = now() + cacheMs;
    }
  };

  return {
    async check(): Promise<void> {
      if (failure && now() - failure.at < failureForMs) throw failure.error;
      if (!cached || cached.until <= now()) {
        cached = { result: Promise.resolve(), until: Number.POSITIVE_INFINITY };
        cached.result = checkOnce();
      }
      await cached.result;
    },
    batchStored(): void {
      failure = undefined;
    },
    batchFailed(error: unknown): void {
      failure = { error, at: now() };
    },
  };
}
