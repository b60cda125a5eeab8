/** How much a check may take: whoever writes the rule or the value, it must not hold the hub up. */
export class TooMuch extends Error {}

export interface Effort {
  /** A step is a comparison or so. Throws `TooMuch` where they are used up. */
  spend(steps: number): void;
}

export function createEffort(most: number): Effort {
  let left = most;
  return {
    spend(steps) {
      left -= steps;
      if (left < 0) throw new TooMuch(`takes more than ${most} steps`);
    },
  };
}
