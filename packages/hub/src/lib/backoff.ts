export interface Backoff {
  firstMs: number;
  mostMs: number;
  random: () => number;
}

/** Twice as long after every failure, and up to half of it left to chance, so that crowds disperse. */
export const backoffMs = (failures: number, { firstMs, mostMs, random }: Backoff): number =>
  Math.round(Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 40)) * (0.5 + random() / 2));
