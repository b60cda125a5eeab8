/** Limits the bytes of the values that a run stores with its steps. */
import type { RunError } from "./model.ts";

export interface RunBudget {
  /**
   * Reserves the bytes of a value before it is stored. Returns an error if the run exceeds its
   * limit.
   */
  reserve(bytes: number, field: "input" | "output"): RunError | undefined;
}

export const DEFAULT_RUN_BYTES = 64_000_000;

/** `used`: the bytes that were stored before the run was claimed. */
export function createRunBudget(limit: number, used: number): RunBudget {
  let remaining = limit - used;
  return {
    reserve(bytes, field) {
      if (bytes > remaining)
        return {
          code: "run_too_large",
          message:
            `The ${field} of the step has ${formatBytes(bytes)} of JSON, but the run may store only ` +
            `${formatBytes(Math.max(0, remaining))} more: its limit is ${formatBytes(limit)} for all steps. ` +
            `${field === "output" ? "Return" : "Pass"} less, or raise SIGNALBOX_RUN_BYTES.`,
        };
      remaining -= bytes;
      return undefined;
    },
  };
}

/** Returns a text such as `1.3 MB`, or `12.1 kB` below one megabyte. */
const formatBytes = (bytes: number): string =>
  bytes < 1_000_000
    ? `${Math.round(bytes / 100) / 10} kB`
    : `${Math.round(bytes / 100_000) / 10} MB`;
