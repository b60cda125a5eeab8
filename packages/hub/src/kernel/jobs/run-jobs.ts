/** Runs the jobs of a list: in a worker, or in the calling isolate. It enforces no deadline; the worker pool does. */
import {
  MAX_OUTPUT_DEPTH,
  outputTooDeep,
  type SerializedResult,
} from "@signalbox/rules/flows/evaluation.ts";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { isTextDeeperThan } from "../lib/json-text.ts";
import { type Job, type RunJob, runThroughJson, type SerializedRequest } from "./job.ts";

const decoder = new TextDecoder();

/** Returns a function that runs a serialized request, for a worker. */
export function createJobRunner(
  jobs: readonly Job[],
): (request: SerializedRequest) => Promise<SerializedResult> {
  const byName = new Map(jobs.map((job) => [job.name, job]));
  return async (request) => {
    const job = byName.get(request.job);
    if (!job) throw new Error(`There is no job ${request.job}.`);
    const { data } = request;
    const result = await job.run(
      job.reads === "bytes" || typeof data === "string"
        ? request
        : { ...request, data: decoder.decode(data) },
    );
    if ("error" in result) return result;
    const { log, output, parts = [] } = result;
    // The depth of a small output is checked after it was parsed; see job.ts.
    const isTooDeep =
      (output.length > LARGE_BYTES && isTextDeeperThan(MAX_OUTPUT_DEPTH, output)) ||
      parts.some((part) => part !== undefined && isTextDeeperThan(MAX_OUTPUT_DEPTH, part));
    return isTooDeep ? { log, ...outputTooDeep } : result;
  };
}

/**
 * Runs jobs in the calling isolate, for hosts without processes, such as Durable Objects. The clock does not
 * advance there during a computation, so the jobs themselves must limit what authors have written.
 */
export function createInProcessJobs(jobs: readonly Job[]): RunJob {
  const run = createJobRunner(jobs);
  return async (request, { signal }) => {
    signal.throwIfAborted();
    return runThroughJson(request, run);
  };
}
