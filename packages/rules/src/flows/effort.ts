/** How much a check may take: whoever writes the rule or the value, it must not hold the hub up. */
export class TooMuch extends Error {}

export interface Effort {
  /** A step is a comparison or so. Throws `TooMuch` where they are used up. */
  spend(steps: number): void;
  /** For what is made once and then kept under its name. */
  spendOnce(name: string, steps: number): void;
}

export function createEffort(most: number): Effort {
  let left = most;
  const made = new Set<string>();
  function spend(steps: number): void {
    left -= steps;
    if (left < 0) throw new TooMuch(`takes more than ${most} steps`);
  }
  return {
    spend,
    spendOnce(name, steps) {
      if (made.has(name)) return;
      spend(steps);
      made.add(name);
    },
  };
}
