/**
 * Repeats the start of the hub while PostgreSQL is unavailable, for up to `SIGNALBOX_DATABASE_WAIT`. The whole
 * start is repeated, because PostgreSQL can also become unavailable after it was opened: for example, when
 * other programs take its last connections.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { isStorageUnavailable, type OutageLog } from "../../kernel/store/availability.ts";
import type { Settings } from "../../settings.ts";
import type { Logger } from "./log.ts";
import { DatabaseUnavailable, isSqlite } from "./open-store.ts";

const RETRY_MS = 1_000;

export interface WhenAvailableOptions {
  settings: Pick<Settings, "databaseUrl" | "databaseWait">;
  log: Pick<Logger, "warn" | "info">;
  outages: OutageLog;
}

/** `start` gets an outage log of its own, which logs nothing before it has succeeded. */
export async function whenAvailable<Result>(
  { settings, log, outages }: WhenAvailableOptions,
  start: (outages: OutageLog) => Promise<Result>,
): Promise<Result> {
  const startedAt = performance.now();
  const remainingMs = () => settings.databaseWait * 1000 - (performance.now() - startedAt);
  for (let attempt = 1; ; attempt += 1) {
    // The warning below reports the outage. An attempt that has failed may still have operations in progress,
    // and those fail after the next attempt has succeeded.
    let isStarted = false;
    try {
      const result = await start({
        ...outages,
        onFailure: (...failure) => isStarted && outages.onFailure(...failure),
        onDisconnect: (error) => isStarted && outages.onDisconnect(error),
      });
      isStarted = true;
      if (attempt > 1) log.info("the database is available");
      return result;
    } catch (error) {
      if (isSqlite(settings) || !isStorageUnavailable(error)) throw error;
      const unavailable =
        error instanceof DatabaseUnavailable ? error : new DatabaseUnavailable(settings, error);
      if (remainingMs() <= 0) throw unavailable;
      if (attempt === 1)
        log.warn(
          `${unavailable.message} Waiting for up to ${settings.databaseWait} s (SIGNALBOX_DATABASE_WAIT).`,
        );
    }
    await sleep(Math.min(RETRY_MS, Math.max(0, remainingMs())));
  }
}
