/**
 * Decides when to check a connection whose server announces that its tools have changed, or which may
 * have restarted. If the server keeps announcing, for example whenever its tools are listed, the pause
 * between checks doubles.
 */
import { BoundedMap } from "../kernel/lib/bounded-map.ts";

export interface AnnouncementsOptions {
  now: () => number;
  /** Makes the connection due for a check at `at`. */
  touch(connection: ConnectionKey, at: number): void;
}

interface ConnectionKey {
  tenant: string;
  id: string;
}

const FIRST_PAUSE_MS = 5_000;
/** A healthy connection is checked this often anyway. */
const MAX_PAUSE_MS = 5 * 60_000;
const MAX_CONNECTIONS = 10_000;

/** Returns the function to call for each announcement. */
export function createAnnouncements({
  now,
  touch,
}: AnnouncementsOptions): (connection: ConnectionKey) => void {
  const checks = new BoundedMap<string, { at: number; pauseMs: number }>(MAX_CONNECTIONS);
  return (connection) => {
    const { id } = connection;
    const last = checks.get(id);
    if (last && now() < last.at) return; // a check is already scheduled
    const isQuiet = !last || now() >= last.at + 2 * last.pauseMs;
    const next = isQuiet
      ? { at: now(), pauseMs: FIRST_PAUSE_MS }
      : {
          at: Math.max(now(), last.at + last.pauseMs),
          pauseMs: Math.min(2 * last.pauseMs, MAX_PAUSE_MS),
        };
    checks.set(id, next);
    touch(connection, next.at);
  };
}
