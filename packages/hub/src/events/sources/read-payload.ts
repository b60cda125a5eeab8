/**
 * Reads stored payloads as JSON. It never throws because of the content of a payload: what is not JSON is
 * returned as base64. `loadPayload` leaves large JSON unparsed, and a job converts other large payloads.
 */
import type { Json } from "@signalbox/rules/json.ts";
import { LARGE_BYTES, type MaybeLarge, parseUnlessLarge } from "@signalbox/rules/large-json.ts";
import { decodeForm, decodeJson, decodeText, FORM, mediaType } from "../../kernel/http/decode.ts";
import { isRejection } from "../../kernel/http/ingest-outcome.ts";
import { defineJob, type RunJob } from "../../kernel/jobs/job.ts";
import { toBase64 } from "../../kernel/lib/bytes.ts";
import type { MaybePromise } from "../../kernel/lib/maybe-promise.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Payload } from "../../kernel/store/packs.ts";
import { STRUCTURED, structuredForm } from "./cloudevents-format.ts";

type PayloadContent = Pick<Payload, "content_type" | "headers" | "body">;

export interface ReadPayload {
  value: Json;
  /** The original text, if it is JSON without line breaks. */
  text?: string;
}

export const readPayload = (source: string, payload: PayloadContent): Json =>
  readWithText(source, payload).value;

export function readWithText(source: string, payload: PayloadContent): ReadPayload {
  const read = source === "cloudevents" ? readCloudEvent(payload) : readBody(payload);
  return read ?? { value: { data_base64: toBase64(payload.body) } };
}

function readCloudEvent(payload: PayloadContent): ReadPayload | undefined {
  if (mediaType(payload.content_type) === STRUCTURED) return readBody(payload);
  const form = structuredForm(Object.entries(payload.headers), payload.content_type, payload.body);
  return isRejection(form) ? undefined : { value: form };
}

function readBody({ content_type, body }: PayloadContent): ReadPayload | undefined {
  const text = decodeText(body);
  if (isRejection(text)) return undefined;
  if (mediaType(content_type) === FORM) {
    const form = decodeForm(text);
    return isRejection(form) ? undefined : { value: form.object };
  }
  const json = decodeJson(text);
  if (isRejection(json)) return undefined;
  // The indentation of formatted JSON would waste space in responses.
  return text.includes("\n") ? json : { ...json, text };
}

interface StoredPayload {
  tenant: string;
  source: string;
  payload: Payload;
}

const TIMEOUT_MS = 10_000;
const decoder = new TextDecoder();

/** Returns a promise only if the payload is large and must be converted to JSON. */
export function loadPayload(
  runJob: RunJob,
  { tenant, source, payload }: StoredPayload,
): MaybePromise<MaybeLarge> {
  const { content_type, headers, body } = payload;
  if (body.byteLength <= LARGE_BYTES) return readPayload(source, payload);
  // The body needs no check: it was parsed before the event was stored.
  if (isStoredAsJson(source, content_type)) return parseUnlessLarge(decoder.decode(body));
  return convert(runJob, tenant, { source, content_type, headers }, body);
}

/** Returns whether the stored body already is the payload's JSON, and needs no conversion. */
export function isStoredAsJson(source: string, contentType: string): boolean {
  const type = mediaType(contentType);
  return source === "cloudevents" ? type === STRUCTURED : type !== FORM;
}

/** The fields of an event that determine how the body of its payload is decoded. */
export type PayloadFormat = { source: string } & Omit<Payload, "body">;

/** Reads the body of a stored payload; the output is its JSON. */
export const payloadJob = defineJob({
  name: "payload",
  reads: "bytes",
  run: ({ payload, data: body }: { payload: PayloadFormat; data: Uint8Array }) =>
    readPayload(payload.source, { ...payload, body }),
});

async function convert(
  runJob: RunJob,
  tenant: string,
  payload: PayloadFormat,
  data: Uint8Array,
): Promise<MaybeLarge> {
  const signal = new AbortController().signal;
  // Not `payloadJob.request`, which would parse the output.
  const result = await runJob(
    { job: payloadJob.name, payload, data, timeoutMs: TIMEOUT_MS },
    { tenant, signal },
  );
  if ("output" in result) return result.output;
  throw new RequestError("invalid", "payload", `cannot be read: reading it ${result.message}`);
}
