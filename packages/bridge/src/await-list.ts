/** Notifies the client when a list is available again, after the hub failed to return it. */
import { setTimeout as sleep } from "node:timers/promises";
import { createBackoff } from "./backoff.ts";

export interface AwaitListOptions {
  list: () => Promise<unknown>;
  /** Called once for any number of earlier failures. */
  onAvailable: () => Promise<void>;
  signal: AbortSignal;
  random?: () => number;
  wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** Returns the function to call after each failure. */
export function createAwaitList(options: AwaitListOptions): () => void {
  const { list, onAvailable, signal, random = Math.random } = options;
  const { wait = (ms: number, until: AbortSignal) => sleep(ms, undefined, { signal: until }) } =
    options;
  let waiting = false;

  async function awaitList(): Promise<void> {
    const backoff = createBackoff({ random });
    do await wait(backoff.next(), signal);
    while (!(await succeeds(list)));
    // Reset before the notification, because the client may fail again immediately.
    waiting = false;
    await onAvailable();
  }

  return () => {
    if (waiting) return;
    waiting = true;
    awaitList().catch(() => {}); // aborted: the client has disconnected
  };
}

const succeeds = (work: () => Promise<unknown>) =>
  work().then(
    () => true,
    () => false,
  );
