/** What the runs of this process use at this moment. */
export interface WorkerLoad {
  slots: { busy: number; total: number; waiting: number };
  /** The runs in memory: those that work, and those that wait. */
  runs: number;
  /** In bytes. Runs are claimed while less than the budget is used. */
  memory: { used: number; budget: number };
  /** The origins with open requests, and the requests that wait for the limit of the origin. */
  origins: { origin: string; open: number; waiting: number }[];
}

const MAX_ORIGINS = 10;

/** Adds up the origins with the fewest requests as the origin "other". */
export function largestOrigins(origins: WorkerLoad["origins"]): WorkerLoad["origins"] {
  const sorted = origins.toSorted((a, b) => b.open + b.waiting - a.open - a.waiting);
  const rest = sorted.splice(MAX_ORIGINS);
  const sum = (field: "open" | "waiting") => rest.reduce((total, each) => total + each[field], 0);
  return rest.length === 0
    ? sorted
    : [...sorted, { origin: "other", open: sum("open"), waiting: sum("waiting") }];
}
