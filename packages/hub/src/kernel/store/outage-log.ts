/** Logs an outage of the database once, with regular counts, and its end. */
import type { Log } from "../lib/log.ts";
import type { Timers } from "../lib/timers.ts";
import { StorageDamaged } from "./storage-unavailable.ts";

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
