export interface Backoff {
  firstMs: number;
  maxMs: number;
  random: () => number;
}

/** Exponential backoff with jitter: doubles after each failure, and half of the delay is random. */
export const backoffMs = (failures: number, { firstMs, maxMs, random }: Backoff): number =>
  Math.round(Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 40)) * (0.5 + random() / 2));
