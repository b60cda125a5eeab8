interface WaitingCall {
  attempt: () => void;
  reject: (error: unknown) => void;
  /** The deadline. */
  until: number;
}

const RETRY_MS = 50;

/**
 * While the database is locked, retries a call until its timeout, without blocking the event loop. Later
 * calls wait in a queue, so that their order is kept and only the first one is retried.
 */
export function createBusyRetry({
  timeoutMs,
  isBusy,
  onSuccess = () => {},
  toError = (error) => error,
}: {
  timeoutMs: number;
  isBusy: (error: unknown) => boolean;
  onSuccess?: () => void;
  /** Converts an error to the one that the caller gets. */
  toError?: (error: unknown) => unknown;
}) {
  let waiting: WaitingCall[] = [];
  let timer: NodeJS.Timeout | undefined;

  const retryFirst = () => {
    timer = undefined;
    const [first] = waiting;
    if (!first) return;
    try {
      first.attempt();
      waiting.shift();
    } catch (error) {
      if (!isBusy(error)) {
        waiting.shift();
        first.reject(toError(error));
      } else {
        const now = performance.now();
        for (const { reject } of waiting.filter(({ until }) => until <= now))
          reject(toError(error));
        waiting = waiting.filter(({ until }) => until > now);
        return scheduleRetry(RETRY_MS);
      }
    }
    scheduleRetry(0);
  };
  const scheduleRetry = (ms: number) => {
    if (waiting.length > 0) timer ??= setTimeout(retryFirst, ms);
  };

  return {
    run<Result>(work: () => Result): Promise<Result> {
      return new Promise((resolve, reject) => {
        if (waiting.length === 0) {
          try {
            resolve(work());
            return onSuccess();
          } catch (error) {
            if (!isBusy(error) || timeoutMs <= 0) return reject(toError(error));
          }
        }
        const until = performance.now() + timeoutMs;
        const attempt = () => {
          resolve(work());
          onSuccess();
        };
        waiting.push({ attempt, reject, until });
        scheduleRetry(RETRY_MS);
      });
    },

    rejectAll(error: Error): void {
      clearTimeout(timer);
      for (const { reject } of waiting) reject(error);
      waiting = [];
    },
  };
}
