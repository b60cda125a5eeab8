export interface Backoff {
  firstMs: number;
  maxMs: number;
  random: () => number;
}

/**
 * Exponential backoff with jitter: the delay doubles after each failure, and half of it is random.
 * The exponent has a maximum because `2 ** failures` would become infinite.
 */
export const backoffMs = (failures: number, { firstMs, maxMs, random }: Backoff): number =>
  Math.round(Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 40)) * (0.5 + random() / 2));
