/** A token bucket: it allows `perSecond` on average, and up to `burst` at a time. */
export interface Allowance {
  /** Takes `count` from the bucket. If less is left, it takes nothing and returns false. */
  take(count: number): boolean;
}

/** `now` returns milliseconds of a monotonic clock. */
export function createAllowance(
  { perSecond, burst }: { perSecond: number; burst: number },
  now: () => number,
): Allowance {
  let left = burst;
  let refilledAt = now();
  return {
    take(count) {
      const time = now();
      left = Math.min(burst, left + ((time - refilledAt) / 1000) * perSecond);
      refilledAt = time;
      if (count > left) return false;
      left -= count;
      return true;
    },
  };
}
