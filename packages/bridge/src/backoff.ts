/** How long to wait before the next attempt: twice as long each time, up to a bound, and never in step with others. */
export interface Backoff {
  next(): number;
  reset(): void;
}

export interface BackoffOptions {
  firstMs?: number;
  mostMs?: number;
  random?: () => number;
}

export function createBackoff(options: BackoffOptions = {}): Backoff {
  const { firstMs = 250, mostMs = 30_000, random = Math.random } = options;
  let attempts = 0;
  return {
    next() {
      const full = Math.min(mostMs, firstMs * 2 ** Math.min(attempts, 30));
      attempts += 1;
      return Math.round(full / 2 + (full / 2) * random());
    },
    reset() {
      attempts = 0;
    },
  };
}
