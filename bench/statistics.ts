/** The value that a share of the sorted ones does not exceed; NaN of none. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  const at = Math.max(0, Math.ceil(sorted.length * share) - 1);
  return sorted[at] ?? Number.NaN;
}

export const sorted = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);

export function median(values: readonly number[]): number {
  const inOrder = sorted(values);
  const middle = inOrder.length >> 1;
  const upper = inOrder[middle] ?? Number.NaN;
  return inOrder.length % 2 === 1 ? upper : ((inOrder[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** What a column shows of several rounds: the middle one, and how far they lie apart. */
export interface Spread {
  median: number;
  least: number;
  most: number;
}

export const spread = (values: readonly number[]): Spread => ({
  median: median(values),
  least: Math.min(...values),
  most: Math.max(...values),
});
