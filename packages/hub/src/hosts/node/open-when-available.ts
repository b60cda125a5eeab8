/** Opens the database. While PostgreSQL is unavailable, the start waits for it, for a limited time. */
import { setTimeout as sleep } from "node:timers/promises";
import type { OutageLog } from "../../store/outage-log.ts";
import type { Store } from "../../store/store.ts";
import type { Settings } from "../settings.ts";
import type { Logger } from "./log.ts";
import { DatabaseUnavailable, openStore } from "./open-store.ts";

export interface OpenOptions {
  outages: OutageLog;
  log: Pick<Logger, "warn" | "info">;
  open?: typeof openStore;
}

const RETRY_MS = 1_000;

export async function openWhenAvailable(
  settings: Pick<Settings, "databaseUrl" | "data" | "databaseWait">,
  { outages, log, open = openStore }: OpenOptions,
): Promise<Store> {
  const started = performance.now();
  const left = () => settings.databaseWait * 1000 - (performance.now() - started);
  // While the start waits, its own line reports the outage.
  let isOpen = false;
  const afterStart: OutageLog = {
    ...outages,
    failed: (error) => isOpen && outages.failed(error),
  };
  for (let attempt = 1; ; attempt += 1) {
    try {
      const store = await open(settings, afterStart);
      isOpen = true;
      if (attempt > 1) log.info("the database is available");
      return store;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable) || left() <= 0) throw error;
      if (attempt === 1)
        log.warn(
          `${error.message} Waiting for up to ${settings.databaseWait} s (SIGNALBOX_DATABASE_WAIT).`,
        );
    }
    await sleep(Math.min(RETRY_MS, Math.max(0, left())));
  }
}
