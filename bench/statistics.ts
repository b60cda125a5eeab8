/** The percentile of sorted values; `share` is from 0 to 1. NaN for an empty list. */
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

/** Median, minimum and maximum of several rounds. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

export const spread = (values: readonly number[]): Spread => ({
  median: median(values),
  min: Math.min(...values),
  max: Math.max(...values),
});

/** The median of the ratios `rounds[i] / reference[i]`. Each round measures both servers, one after the other. */
export const relativeTo = <Round>(
  reference: readonly Round[],
  rounds: readonly Round[],
  value: (round: Round) => number,
): number =>
  median(
    rounds.map((round, at) => {
      const other = reference[at];
      return other === undefined ? Number.NaN : value(round) / value(other);
    }),
  );
