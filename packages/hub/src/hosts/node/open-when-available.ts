/** Opens the database. If PostgreSQL is unavailable, waits for it up to `SIGNALBOX_DATABASE_WAIT`. */
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
  const startedAt = performance.now();
  const remainingMs = () => settings.databaseWait * 1000 - (performance.now() - startedAt);
  // Until the database is open, the warning below reports the outage.
  let isOpen = false;
  const outagesOnceOpen: OutageLog = {
    ...outages,
    onFailure: (error) => isOpen && outages.onFailure(error),
  };
  for (let attempt = 1; ; attempt += 1) {
    try {
      const store = await open(settings, outagesOnceOpen);
      isOpen = true;
      if (attempt > 1) log.info("the database is available");
      return store;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable) || remainingMs() <= 0) throw error;
      if (attempt === 1)
        log.warn(
          `${error.message} Waiting for up to ${settings.databaseWait} s (SIGNALBOX_DATABASE_WAIT).`,
        );
    }
    await sleep(Math.min(RETRY_MS, Math.max(0, remainingMs())));
  }
}
