/** Parses and summarizes the large body of a callback in the sandbox. */
import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import { parseIfLarge } from "@signalbox/rules/large-json.ts";
import type { Summary } from "../../store/store.ts";
import { isRejection, type Rejection } from "../ingest-outcome.ts";
import { READ_TIMEOUT_MS, READ_WAIT_MS, rejectUnread } from "../reject-unread.ts";
import { summarizeCallback } from "./callback-event.ts";
import { type Callback, parseCallback } from "./parse-callback.ts";

/** A callback whose data were not returned. */
type SummarizedCallback = Omit<Callback, "data"> & { summary: Summary };

/** What the sandbox returns. The event's body is a range of the request's body. */
type SandboxResult =
  | Rejection
  | (Omit<SummarizedCallback, "body"> & { start: number; end: number });

/** Runs in the sandbox. */
export function readCallbackInSandbox(bytes: Uint8Array): SandboxResult {
  const callback = parseCallback(bytes);
  if (isRejection(callback)) return callback;
  const { data, body, ...rest } = callback;
  const start = body.buffer === bytes.buffer ? body.byteOffset - bytes.byteOffset : 0;
  const end = body.buffer === bytes.buffer ? start + body.byteLength : 0;
  return { ...rest, summary: summarizeCallback(data), start, end };
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
  const read = parseIfLarge(result.output) as unknown as SandboxResult;
  if (isRejection(read)) return read;
  const { start, end, ...rest } = read;
  return { ...rest, body: end === 0 ? EMPTY : bytes.subarray(start, end) };
}
