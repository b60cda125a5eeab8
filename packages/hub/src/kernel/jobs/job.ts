/**
 * A job is work that would block the event loop: it reads large data, or runs what the author of a flow has
 * written. A capability exports its jobs, and the host lists the jobs of all capabilities (run-jobs.ts). On a
 * host with processes, workers run the jobs (worker-pool.ts). Requests and results are serialized: their data and
 * output are JSON text.
 */
import {
  dataTooLarge,
  type EvaluationError,
  type EvaluationResult,
  MAX_DATA_CHARACTERS,
  MAX_OUTPUT_DEPTH,
  outputTooDeep,
  type SerializedResult,
} from "@signalbox/rules/flows/evaluation.ts";
import { isDeeperThan } from "@signalbox/rules/flows/model.ts";
import {
  LargeJson,
  type MixedJson,
  parseIfLarge,
  parseUnlessLarge,
  writeJson,
} from "@signalbox/rules/large-json.ts";

export interface JobRequest {
  /** The name of the job. The fields that are not declared here are its input. */
  job: string;
  /** Limits the job itself; time in the queue does not count. */
  timeoutMs: number;
  /** Bytes are JSON in UTF-8, unless the job reads bytes. */
  data: MixedJson | Uint8Array;
}

/** A request as it is sent to a worker. Its data are JSON text, so no object is shared. */
export interface SerializedRequest extends JobRequest {
  data: string | Uint8Array;
}

export interface JobCaller {
  /** Jobs are queued per tenant, and each tenant gets the same time of the workers. */
  tenant: string;
  /** The queues of a tenant that get the same time, such as an app and its flow; the outermost first. */
  lane?: readonly string[] | undefined;
  signal: AbortSignal;
  /**
   * The maximum time in the queue. A job that has not started by then is rejected as busy. If too many
   * bytes are queued, it is rejected immediately. Requests set this limit, because their number is not
   * limited. Runs do not set it, and wait.
   */
  maxWaitMs?: number | undefined;
  /**
   * Called when the job is queued. The returned function is called when the job starts, or when its result
   * arrives if it was part of a batch.
   */
  onQueued?: () => () => void;
}

/**
 * Runs a job, which can access only its data, shares no state with other jobs, and ends within its limits.
 * Rejects when the signal is aborted, the hub is stopping, or the workers are busy: see `maxWaitMs`. If the
 * job itself fails, the promise resolves with an error.
 */
export type RunJob = <Request extends JobRequest>(
  request: Request,
  caller: JobCaller,
) => Promise<EvaluationResult>;

/** Declared as a method, so that a job can require its input. */
export interface Job {
  name: string;
  reads: "bytes" | "text";
  run(request: SerializedRequest): Promise<SerializedResult>;
}

/** A job whose output is one value. */
export interface ValueJob<Input, Output> extends Job {
  /** Runs the job, and parses its output. */
  request(
    runJob: RunJob,
    request: Input & Pick<JobRequest, "data" | "timeoutMs">,
    caller: JobCaller,
  ): Promise<{ output: Output } | EvaluationError>;
}

/** Defines a job that reads bytes, or JSON as text. */
export function defineJob<Input extends object, Output>(
  definition: { name: string } & (
    | { reads: "bytes"; run(input: Input & SerializedRequest & { data: Uint8Array }): Output }
    | { reads: "text"; run(input: Input & SerializedRequest & { data: string }): Output }
  ),
): ValueJob<Input, Output> {
  const { name, reads, run }: Pick<Job, "name" | "reads"> & Run<Output> = definition;
  return {
    name,
    reads,
    run: async (request) => toResult(run(request)),
    async request(runJob, request, caller) {
      const result = await runJob({ job: name, ...request }, caller);
      return "error" in result ? result : { output: parseIfLarge(result.output) as Output };
    },
  };
}

interface Run<Output> {
  run(request: SerializedRequest): Output;
}

export const toResult = (output: unknown): SerializedResult => ({
  log: [],
  output: JSON.stringify(output),
});

/**
 * Returns undefined if the data exceed the limit. It exists because parsing cannot be interrupted.
 */
function serialize({ data, ...request }: JobRequest): SerializedRequest | undefined {
  const serialized = data instanceof Uint8Array ? data : writeJson(data);
  return serialized.length > MAX_DATA_CHARACTERS ? undefined : { ...request, data: serialized };
}

function deserialize(result: SerializedResult): EvaluationResult {
  if ("error" in result) return result;
  const { log, parts } = result;
  const output = parseUnlessLarge(result.output);
  // The worker has checked the depth of a large output.
  if (!(output instanceof LargeJson) && isDeeperThan(MAX_OUTPUT_DEPTH, output))
    return { log, ...outputTooDeep };
  if (!parts) return { log, output };
  return { log, output, parts: parts.map((part) => part && parseUnlessLarge(part)) };
}

/** Calls `run` with the serialized request, and deserializes its result. */
export async function runThroughJson(
  request: JobRequest,
  run: (serialized: SerializedRequest) => Promise<SerializedResult>,
): Promise<EvaluationResult> {
  const serialized = serialize(request);
  return serialized ? deserialize(await run(serialized)) : { log: [], ...dataTooLarge };
}
