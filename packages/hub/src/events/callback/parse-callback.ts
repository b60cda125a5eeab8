/** Parses the body of a callback: `{ type, data?, id?, timestamp? }`. Other fields are ignored. */
import { MAX_ID, MAX_TIMESTAMP, MAX_TYPE } from "@signalbox/contract/event-limits.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { textProblem } from "../../kernel/http/check-text.ts";
import { asObject, decodeJson, decodeText } from "../../kernel/http/decode.ts";
import { isRejection, type Rejection, rejection } from "../../kernel/http/ingest-outcome.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { memberRange, toByteRanges } from "../../kernel/lib/json-text.ts";

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
