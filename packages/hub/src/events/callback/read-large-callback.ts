/** Parses and summarizes the large body of a callback in the sandbox. */
import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import { parseIfLarge } from "@signalbox/rules/large-json.ts";
import { isRejection, type Rejection } from "../../kernel/http/ingest-outcome.ts";
import { READ_TIMEOUT_MS, READ_WAIT_MS, rejectUnread } from "../admit/reject-unread.ts";
import type { Summary } from "../model.ts";
import { summarizeCallback } from "./callback-event.ts";
import { type Callback, parseCallback } from "./parse-callback.ts";

/** A callback with the summary of its data. The sandbox does not return the data themselves. */
type SummarizedCallback = Omit<Callback, "data"> & { summary: Summary };

/**
 * The result of `readCallbackInSandbox`. The event's body is a range of the request's body; `end` is 0 if
 * the callback has no data.
 */
type SandboxResult =
  | Rejection
  | (Omit<SummarizedCallback, "body"> & { start: number; end: number });

/** Runs in the sandbox. */
export function readCallbackInSandbox(bytes: Uint8Array): SandboxResult {
  const callback = parseCallback(bytes);
  if (isRejection(callback)) return callback;
  const { data, body, ...fields } = callback;
  // Without data, `body` is a constant with its own buffer.
  const start = body.buffer === bytes.buffer ? body.byteOffset - bytes.byteOffset : 0;
  const end = body.buffer === bytes.buffer ? start + body.byteLength : 0;
  return { ...fields, summary: summarizeCallback(data), start, end };
}

const EMPTY = new TextEncoder().encode("{}");

export async function readLargeCallback(
  evaluate: Evaluate,
  tenant: string,
  bytes: Uint8Array,
): Promise<SummarizedCallback | Rejection> {
  const result = await evaluate(
    { language: "callback", data: bytes, timeoutMs: READ_TIMEOUT_MS },
    { tenant, signal: new AbortController().signal, maxWaitMs: READ_WAIT_MS },
  );
  if ("error" in result) return rejectUnread(result);
  const callback = parseIfLarge(result.output) as unknown as SandboxResult;
  if (isRejection(callback)) return callback;
  const { start, end, ...fields } = callback;
  return { ...fields, body: end === 0 ? EMPTY : bytes.subarray(start, end) };
}
