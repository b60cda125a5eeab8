/** A token bucket: `perSecond` on average, up to `burst` at a time. */
export interface Allowance {
  /** Whether so many are allowed now. */
  take(count: number): boolean;
}

/** `now` returns milliseconds of a clock that never goes back. */
export function createAllowance(
  { perSecond, burst }: { perSecond: number; burst: number },
  now: () => number,
): Allowance {
  let left = burst;
  let at = now();
  return {
    take(count) {
      const time = now();
      left = Math.min(burst, left + ((time - at) / 1000) * perSecond);
      at = time;
      if (count > left) return false;
      left -= count;
      return true;
    },
  };
}
