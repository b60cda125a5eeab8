/**
 * Limits the memory that slow clients can occupy. Each token may hold `bytesPerToken` of payloads,
 * from before they are read from the store until the response is sent. A request above this limit
 * waits, and fails as `busy` after `waitMs`. A client that never reads blocks only its own token.
 */
import { RequestError } from "../lib/request-error.ts";
import { createSemaphore } from "../lib/semaphore.ts";

/** Resolves when the response may hold this many more bytes. */
export type ReserveBytes = (bytes: number) => Promise<void>;

export interface ResponseBudgetOptions {
  bytesPerToken: number;
  waitMs: number;
}

export function createResponseBudget({ bytesPerToken, waitMs }: ResponseBudgetOptions) {
  const semaphore = createSemaphore({ perKey: bytesPerToken });

  /** `sent` settles when the response is sent or its client has disconnected. */
  return async (token: string, bytes: number, sent: Promise<unknown>): Promise<void> => {
    const release = semaphore.tryAcquire(token, bytes) ?? (await wait(token, bytes, sent));
    void sent.then(release, release);
  };

  async function wait(token: string, amount: number, sent: Promise<unknown>) {
    const abort = new AbortController();
    const giveUp = () => abort.abort();
    const timer = setTimeout(giveUp, waitMs);
    void sent.then(giveUp, giveUp);
    try {
      return await semaphore.acquire(token, { amount, signal: abort.signal });
    } catch {
      throw new RequestError(
        "busy",
        "answers",
        `the unread responses of this token hold ${bytesPerToken} bytes, which is the limit; read them, then try again`,
      );
    } finally {
      clearTimeout(timer);
    }
  }
}
