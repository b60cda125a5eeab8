export type Backend = "sqlite" | "postgres";

export interface Options {
  backends: readonly Backend[];
  /** A short run with fewer rounds and smaller backlogs. */
  quick: boolean;
  /** Path of a built CLI to measure instead of this checkout's. */
  hub: string | undefined;
  /** The duration of a benchmark that has no fixed one. */
  minutes: number | undefined;
  /** Shows the current activity on the terminal. */
  reportProgress(text: string): void;
}

/** A target value and the measured value. */
export interface Goal {
  what: string;
  met: boolean;
  found: string;
}

export interface Result {
  /** Printed in this order. */
  tables: { title: string; text: string }[];
  goals: Goal[];
  /** False when requests were rejected or lost; the figures are then meaningless. */
  valid: boolean;
  /** All measurements, for the JSON file. */
  data: unknown;
}

export type Benchmark = (options: Options) => Promise<Result>;
