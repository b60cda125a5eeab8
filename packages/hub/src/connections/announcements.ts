/**
 * When to check a connection whose server announces that its tools have changed. A server that keeps
 * announcing, for example whenever its tools are listed, is checked less and less often.
 */
import { BoundedMap } from "../lib/bounded-map.ts";

export interface AnnouncementsOptions {
  now: () => number;
  /** Makes the connection due for a check at `at`. */
  touch(connection: Announcing, at: number): void;
}

interface Announcing {
  tenant: string;
  id: string;
}

const FIRST_PAUSE_MS = 5_000;
/** A healthy connection is checked this often anyway. */
const MAX_PAUSE_MS = 5 * 60_000;
const MAX_CONNECTIONS = 10_000;

/** Called for each announcement. */
export function createAnnouncements({
  now,
  touch,
}: AnnouncementsOptions): (connection: Announcing) => void {
  const checks = new BoundedMap<string, { at: number; pauseMs: number }>(MAX_CONNECTIONS);
  return (connection) => {
    const { id } = connection;
    const last = checks.get(id);
    if (last && now() < last.at) return; // the next check is still to come
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
