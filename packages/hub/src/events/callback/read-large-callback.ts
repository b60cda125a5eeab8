/** Parses and summarizes the large body of a callback by a job. */
import { isRejection, type Rejection } from "../../kernel/http/ingest-outcome.ts";
import { defineJob, type RunJob } from "../../kernel/jobs/job.ts";
import { READ_TIMEOUT_MS, READ_WAIT_MS, rejectUnread } from "../admit/reject-unread.ts";
import type { Summary } from "../model.ts";
import { summarizeCallback } from "./callback-event.ts";
import { type Callback, parseCallback } from "./parse-callback.ts";

/** A callback with the summary of its data. The job does not return the data themselves. */
type SummarizedCallback = Omit<Callback, "data"> & { summary: Summary };

/** The event's body is a range of the request's body; `end` is 0 if the callback has no data. */
type ReadCallback = Rejection | (Omit<SummarizedCallback, "body"> & { start: number; end: number });

export const callbackJob = defineJob({
  name: "callback",
  reads: "bytes",
  run({ data: bytes }: { data: Uint8Array }): ReadCallback {
    const callback = parseCallback(bytes);
    if (isRejection(callback)) return callback;
    const { data, body, ...fields } = callback;
    // Without data, `body` is a constant with its own buffer.
    const start = body.buffer === bytes.buffer ? body.byteOffset - bytes.byteOffset : 0;
    const end = body.buffer === bytes.buffer ? start + body.byteLength : 0;
    return { ...fields, summary: summarizeCallback(data), start, end };
  },
});

const EMPTY = new TextEncoder().encode("{}");

export async function readLargeCallback(
  runJob: RunJob,
  tenant: string,
  bytes: Uint8Array,
): Promise<SummarizedCallback | Rejection> {
  const result = await callbackJob.request(
    runJob,
    { data: bytes, timeoutMs: READ_TIMEOUT_MS },
    { tenant, signal: new AbortController().signal, maxWaitMs: READ_WAIT_MS },
  );
  if ("error" in result) return rejectUnread(result);
  const { output } = result;
  if (isRejection(output)) return output;
  const { start, end, ...fields } = output;
  return { ...fields, body: end === 0 ? EMPTY : bytes.subarray(start, end) };
}
