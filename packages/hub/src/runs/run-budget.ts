/** Limits the bytes of the values that a run stores with its steps. */
import type { RunError } from "../store/run-store.ts";

export interface RunBudget {
  /** Counts the bytes of a value before it is stored. Returns an error if the run exceeds its limit. */
  take(bytes: number, what: "input" | "output"): RunError | undefined;
}

export const DEFAULT_RUN_BYTES = 64_000_000;

/** `used`: the bytes that were stored before the run was claimed. */
export function createRunBudget(limit: number, used: number): RunBudget {
  let left = limit - used;
  return {
    take(bytes, what) {
      if (bytes > left)
        return {
          code: "run_too_large",
          message:
            `The ${what} of the step has ${megabytes(bytes)} of JSON, but the run may store only ` +
            `${megabytes(Math.max(0, left))} more: its limit is ${megabytes(limit)} for all steps. ` +
            `${what === "output" ? "Return" : "Pass"} less, or raise SIGNALBOX_RUN_BYTES.`,
        };
      left -= bytes;
      return undefined;
    },
  };
}

/** Such as `1.3 MB`, and `12.1 kB` below one megabyte. */
const megabytes = (bytes: number): string =>
  bytes < 1_000_000
    ? `${Math.round(bytes / 100) / 10} kB`
    : `${Math.round(bytes / 100_000) / 10} MB`;
