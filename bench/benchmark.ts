export type Backend = "sqlite" | "postgres";

export interface Options {
  backends: readonly Backend[];
  /** A short run with fewer rounds and smaller backlogs. */
  quick: boolean;
  /** Path of a built CLI to measure instead of this checkout's. */
  hub: string | undefined;
  /** The duration of the attacks of `soak`; undefined = its default. */
  minutes: number | undefined;
  /** Shows the current activity on the terminal. */
  reportProgress(text: string): void;
}

export interface Goal {
  /** The target value, as a sentence. */
  what: string;
  isMet: boolean;
  /** The measured value. */
  result: string;
}

export interface Result {
  /** Printed in this order. */
  tables: { title: string; text: string }[];
  goals: Goal[];
  /** False when requests were rejected or lost; the figures are then meaningless. */
  isValid: boolean;
  /** All measurements, for the JSON file. */
  data: unknown;
}

export type Benchmark = (options: Options) => Promise<Result>;
