/** Tells when the hub lists its tools again, to a client that could not have them. */
import { setTimeout as sleep } from "node:timers/promises";
import { createBackoff } from "./backoff.ts";

export interface AwaitToolsOptions {
  list: () => Promise<unknown>;
  /** Called once for however many misses there were before. */
  onBack: () => Promise<void>;
  signal: AbortSignal;
  random?: () => number;
  wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** Answers with what to call at each miss. */
export function createAwaitTools(options: AwaitToolsOptions): () => void {
  const { list, onBack, signal, random = Math.random } = options;
  const { wait = (ms: number, until: AbortSignal) => sleep(ms, undefined, { signal: until }) } =
    options;
  let waiting = false;

  async function awaitTools(): Promise<void> {
    const backoff = createBackoff({ random });
    do await wait(backoff.next(), signal);
    while (!(await isDone(list)));
    // Before the client hears of it: it may miss them again at once.
    waiting = false;
    await onBack();
  }

  return () => {
    if (waiting) return;
    waiting = true;
    // The client has gone.
    awaitTools().catch(() => {});
  };
}

const isDone = (work: () => Promise<unknown>) =>
  work().then(
    () => true,
    () => false,
  );
