interface Waiting {
  attempt: () => void;
  reject: (error: unknown) => void;
  until: number;
}

const PAUSE_MS = 50;

/**
 * Work that finds the file busy is tried again, without holding up the thread, until its time is
 * over. What comes meanwhile waits behind it: so all of it stays in order, and one attempt at a time
 * finds out whether the file is free.
 */
export function createBusyRetry({
  timeoutMs,
  isBusy,
}: {
  timeoutMs: number;
  isBusy: (error: unknown) => boolean;
}) {
  let waiting: Waiting[] = [];
  let timer: NodeJS.Timeout | undefined;

  const tryAgain = () => {
    timer = undefined;
    const [first] = waiting;
    if (!first) return;
    try {
      first.attempt();
      waiting.shift();
    } catch (error) {
      if (!isBusy(error)) {
        waiting.shift();
        first.reject(error);
      } else {
        const now = performance.now();
        for (const { reject } of waiting.filter(({ until }) => until <= now)) reject(error);
        waiting = waiting.filter(({ until }) => until > now);
        return plan(PAUSE_MS);
      }
    }
    plan(0);
  };
  const plan = (ms: number) => {
    if (waiting.length > 0) timer ??= setTimeout(tryAgain, ms);
  };

  return {
    run<Result>(work: () => Result): Promise<Result> {
      return new Promise((resolve, reject) => {
        if (waiting.length === 0) {
          try {
            return resolve(work());
          } catch (error) {
            if (!isBusy(error) || timeoutMs <= 0) return reject(error);
          }
        }
        const until = performance.now() + timeoutMs;
        waiting.push({ attempt: () => resolve(work()), reject, until });
        plan(PAUSE_MS);
      });
    },

    giveUp(error: Error): void {
      clearTimeout(timer);
      for (const { reject } of waiting) reject(error);
      waiting = [];
    },
  };
}
