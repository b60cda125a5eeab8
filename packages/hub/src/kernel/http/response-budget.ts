/**
 * Limits the memory that slow clients can occupy. The responses to one token may contain
 * `bytesPerToken` of payloads. A request reserves the bytes before it reads payloads from the store, and
 * releases them when its response is sent. A request above the limit waits, and fails as `busy` after
 * `waitMs`. A client that never reads blocks only its own token.
 */
import { RequestError } from "../lib/request-error.ts";
import { createSemaphore } from "../lib/semaphore.ts";

/** Resolves when this many more bytes are reserved for the response. */
export type ReserveBytes = (bytes: number) => Promise<void>;

export interface ResponseBudgetOptions {
  bytesPerToken: number;
  waitMs: number;
}

export function createResponseBudget({ bytesPerToken, waitMs }: ResponseBudgetOptions) {
  const semaphore = createSemaphore({ perKey: bytesPerToken });

  /** `sent` settles when the response has been sent, or when the client has disconnected. */
  return async (token: string, bytes: number, sent: Promise<unknown>): Promise<void> => {
    const release =
      semaphore.tryAcquire(token, bytes) ?? (await waitForRelease(token, bytes, sent));
    void sent.then(release, release);
  };

  async function waitForRelease(token: string, amount: number, sent: Promise<unknown>) {
    const abort = new AbortController();
    const stopWaiting = () => abort.abort();
    const timer = setTimeout(stopWaiting, waitMs);
    void sent.then(stopWaiting, stopWaiting);
    try {
      return await semaphore.acquire(token, { amount, signal: abort.signal });
    } catch {
      throw new RequestError(
        "busy",
        "responses",
        `the unread responses of this token have reached the limit of ${bytesPerToken} bytes; read them, then try again`,
      );
    } finally {
      clearTimeout(timer);
    }
  }
}
