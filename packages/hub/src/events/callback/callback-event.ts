/**
 * Parses the body of a callback, and converts it to an event. The event's source is the connection; its
 * payload is the callback's `data`. A job reads large bodies; the result is the same.
 */

import { MAX_ID, MAX_TIMESTAMP, MAX_TYPE } from "@signalbox/contract/event-limits.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { asObject, decodeJson, decodeText } from "../../kernel/http/decode.ts";
import { isRejection, type Rejection, rejection } from "../../kernel/http/ingest-outcome.ts";
import { defineJob, type RunJob } from "../../kernel/jobs/job.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { memberRange, toByteRanges } from "../../kernel/lib/json-text.ts";
import { textProblem } from "../../kernel/lib/text-problem.ts";
import { readInJob } from "../admit/read-webhook.ts";
import type { FoundCallbackToken, NewEvent, Summary } from "../model.ts";
import { pickText, sanitizeSummary, summarizePlain } from "../sources/summary.ts";

export interface Callback {
  type: string;
  data: JsonObject;
  /** The JSON of `data` as it was received: serializing it again would change large numbers. */
  body: Uint8Array;
  /** Undefined if it is missing or empty. */
  id: string | undefined;
  timestamp: string | undefined;
}

const EMPTY = utf8("{}");

/** Parses `{ type, data?, id?, timestamp? }`. Other fields are ignored. */
export function parseCallback(bytes: Uint8Array): Callback | Rejection {
  const text = decodeText(bytes);
  if (isRejection(text)) return text;
  const json = decodeJson(text);
  if (isRejection(json)) return json;
  const decoded = asObject(json.value);
  if (isRejection(decoded)) return decoded;

  const { type, data = {}, id, timestamp } = decoded.object;
  if (type === undefined)
    return rejection("missing_field", "The body lacks the field type with the type of the event.");
  if (typeof type !== "string" || type.trim() === "")
    return invalidField("type", `must be a string that is not empty, but is ${describe(type)}`);
  const invalidType = checkText("type", type, MAX_TYPE);
  if (invalidType) return invalidType;
  if (!isObject(data)) return invalidField("data", `must be an object, but is ${describe(data)}`);
  for (const [name, value, max] of [
    ["id", id, MAX_ID],
    ["timestamp", timestamp, MAX_TIMESTAMP],
  ] as const) {
    if (value === undefined) continue;
    if (typeof value !== "string")
      return invalidField(name, `must be a string, but is ${describe(value)}`);
    const invalidText = checkText(name, value, max);
    if (invalidText) return invalidText;
  }
  return {
    type,
    data,
    body: bytesOfData(bytes, text),
    id: (id as string | undefined) || undefined,
    timestamp: timestamp as string | undefined,
  };
}

function bytesOfData(bytes: Uint8Array, text: string): Uint8Array {
  const textRange = memberRange(text, "data");
  if (!textRange) return EMPTY;
  const [range = textRange] = toByteRanges([textRange], text, bytes);
  return bytes.subarray(range.start, range.end);
}

const invalidField = (name: string, problem: string): Rejection =>
  rejection("invalid_field", `The field ${name} ${problem}.`);

function checkText(name: string, text: string, max: number): Rejection | undefined {
  const problem = textProblem(text, max);
  return problem === undefined ? undefined : invalidField(name, problem);
}

function describe(value: Json): string {
  if (typeof value === "string") return value === "" ? "empty" : "a string";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

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

export async function readLargeCallback(
  runJob: RunJob,
  tenant: string,
  bytes: Uint8Array,
): Promise<SummarizedCallback | Rejection> {
  const read = await readInJob(callbackJob, runJob, { data: bytes }, tenant);
  if (isRejection(read)) return read;
  const { start, end, ...fields } = read;
  return { ...fields, body: end === 0 ? EMPTY : bytes.subarray(start, end) };
}

/** The callback's `timestamp`. It is only stored: events are ordered by the time of their arrival. */
const TIMESTAMP_HEADER = "signalbox-timestamp";
/** The id of the trigger subscription whose token was sent. */
const SUBSCRIPTION_HEADER = "signalbox-subscription";

/** If a job has parsed the callback, there is a summary instead of the data. */
type CallbackToStore = Omit<Callback, "data"> & ({ data: JsonObject } | { summary: Summary });

export const toEvent = (
  callback: CallbackToStore,
  { connection, subscription }: Pick<FoundCallbackToken, "connection" | "subscription">,
  assigned: Pick<NewEvent, "id" | "external_id" | "received_at">,
): NewEvent => ({
  ...assigned,
  source: connection,
  source_id: connection,
  type: callback.type,
  ...("summary" in callback ? callback.summary : summarizeCallback(callback.data)),
  content_type: "application/json",
  headers: {
    [SUBSCRIPTION_HEADER]: subscription,
    ...(callback.timestamp !== undefined && { [TIMESTAMP_HEADER]: callback.timestamp }),
  },
  body: callback.body,
});

const summarizeCallback = (data: JsonObject): Summary =>
  sanitizeSummary({
    ...summarizePlain(data),
    repo: pickText(data, "repo", "repository", "repo.full_name", "repository.full_name"),
  });
