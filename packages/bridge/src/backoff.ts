/** Exponential backoff with an upper bound and jitter. */
export interface Backoff {
  next(): number;
  reset(): void;
}

export interface BackoffOptions {
  firstMs?: number;
  maxMs?: number;
  random?: () => number;
}

export function createBackoff(options: BackoffOptions = {}): Backoff {
  const { firstMs = 250, maxMs = 30_000, random = Math.random } = options;
  let attempts = 0;
  return {
    next() {
      const full = Math.min(maxMs, firstMs * 2 ** Math.min(attempts, 30));
      attempts += 1;
      return Math.round(full / 2 + (full / 2) * random());
    },
    reset() {
      attempts = 0;
    },
  };
}
