export type Backend = "sqlite" | "postgres";

export interface Options {
  backends: readonly Backend[];
  /** A short run: fewer rounds and smaller backlogs, for a first look. */
  quick: boolean;
  /** A built CLI to measure in place of this checkout's. */
  hub: string | undefined;
  /** Says what is being done. */
  tell(text: string): void;
}

/** What was aimed for, and what came out. */
export interface Goal {
  what: string;
  met: boolean;
  found: string;
}

export interface Result {
  /** Printed, one under the other. */
  tables: { title: string; text: string }[];
  goals: Goal[];
  /** False when requests were refused or lost: then the figures mean nothing. */
  valid: boolean;
  /** Everything that was measured, for the JSON file. */
  data: unknown;
}

export type Benchmark = (options: Options) => Promise<Result>;
