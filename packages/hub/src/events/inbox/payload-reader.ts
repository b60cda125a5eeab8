/**
 * Reads the payloads of events. A payload above `LARGE_BYTES` is not parsed in this thread: its JSON is
 * copied or sliced, and jobs read the values inside it.
 */
import type { EvaluationError } from "@signalbox/rules/flows/evaluation.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { LARGE_BYTES, LargeJson, writeJson } from "@signalbox/rules/large-json.ts";
import { parsePath, valuesAt } from "@signalbox/rules/match/path.ts";
import { defineJob, type RunJob } from "../../kernel/jobs/job.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Payload } from "../../kernel/store/packs.ts";
import type { Store } from "../../store.ts";
import type { EventRow } from "../model.ts";
import { isStoredAsJson, loadPayload, readWithText } from "../sources/read-payload.ts";
import type { LargeReads } from "./large-reads.ts";

interface PartRequest {
  path?: string | undefined;
  /** The byte of the JSON at which a slice starts. */
  offset: number;
  maxBytes: number;
}

/** A payload or a part of it: the value or, if its JSON exceeds `maxBytes`, a slice of the JSON. */
export interface PayloadPart {
  payload: Json;
  /** Whether `payload` is a slice. */
  truncated?: boolean;
  /** The size of the whole JSON. */
  payload_bytes?: number;
  /** The byte at which the next slice starts; null after the last slice. */
  next_offset?: number | null;
}

export interface PayloadConditions {
  /** A condition is fulfilled if one of the values at its path is equal to its `value`. */
  conditions: readonly { path: string; value: string | number | boolean | null }[];
}

/**
 * Reads a part of a payload. Undefined if the payload has no value at the path. `text` is the JSON of
 * the whole payload, if the caller has it.
 */
function readPart(
  whole: { value: Json; text?: string },
  { path, offset, maxBytes }: PartRequest,
): PayloadPart | undefined {
  const value = path === undefined ? whole.value : valueAt(whole.value, path);
  if (value === undefined) return undefined;
  const text = (path === undefined ? whole.text : undefined) ?? JSON.stringify(value);
  if (offset === 0 && text.length * MAX_UTF8_BYTES <= maxBytes) return { payload: value };
  const bytes = utf8(text);
  const isWhole = offset === 0 && bytes.byteLength <= maxBytes;
  return isWhole ? { payload: value } : slicePart(bytes, offset, maxBytes);
}

/** The maximum number of bytes for one UTF-16 code unit. */
const MAX_UTF8_BYTES = 3;

/** The first value at the path, or an array of all values if the path has `[]`. */
function valueAt(payload: Json, path: string): Json | undefined {
  const values = valuesAt(payload, parsePath(path) ?? []);
  return path.includes("[]") ? values : values[0];
}

/**
 * Returns a slice of the JSON. It starts and ends between two characters. It contains at least one
 * character, unless it starts at the end.
 */
function slicePart(bytes: Uint8Array, offset: number, maxBytes: number): PayloadPart {
  const { length } = bytes;
  /** True for a continuation byte of UTF-8. */
  const isInCharacter = (index: number) => ((bytes[index] ?? 0) & 0xc0) === 0x80;
  let from = Math.min(offset, length);
  while (isInCharacter(from)) from -= 1;
  let to = Math.min(offset + maxBytes, length);
  while (isInCharacter(to)) to -= 1;
  if (to <= from) for (to = Math.min(from + 1, length); isInCharacter(to); ) to += 1;
  return {
    payload: new TextDecoder().decode(bytes.subarray(from, to)),
    truncated: true,
    payload_bytes: length,
    next_offset: to < length ? to : null,
  };
}

const areFulfilled = (conditions: PayloadConditions["conditions"], payload: Json): boolean =>
  conditions.every(({ path, value }) => valuesAt(payload, parsePath(path) ?? []).includes(value));

/** Reads a part of a large payload; the output is null if the path has no value. */
export const payloadPartJob = defineJob({
  name: "payload-part",
  reads: "text",
  run: ({ data: text, ...request }: PartRequest & { data: string }) =>
    readPart({ value: JSON.parse(text), text }, request) ?? null,
});

/** The output is true if the large payload fulfils the conditions. */
export const payloadMatchJob = defineJob({
  name: "payload-match",
  reads: "text",
  run: ({ data, conditions }: PayloadConditions & { data: string }) =>
    areFulfilled(conditions, JSON.parse(data)),
});

interface PayloadReaderOptions {
  store: Pick<Store, "getPayload" | "slicePayload">;
  runJob: RunJob;
  largeReads: LargeReads;
}

/** A payload that is loaded once for several checks. */
export interface OpenPayload {
  matches(conditions: PayloadConditions["conditions"]): Promise<boolean>;
}

interface ReadPart extends PayloadPart {
  /**
   * The JSON of the whole payload as it was received, if it has no line breaks. Its numbers are exact,
   * while those of `payload` may be rounded.
   */
  json?: string | undefined;
}

const READ_TIMEOUT_MS = 5_000;
/** How long a read waits for a worker. */
const MAX_WAIT_MS = 20_000;

export type PayloadReader = ReturnType<typeof createPayloadReader>;

export function createPayloadReader({ store, runJob, largeReads }: PayloadReaderOptions) {
  const getPayload = ({ tenant, seq }: EventRow) => store.getPayload(tenant, seq);

  /** Reads only a slice from the database. Returns undefined if the whole payload must be read. */
  async function sliceStored(
    { tenant, seq, size, source }: EventRow,
    { offset, maxBytes }: PartRequest,
  ): Promise<PayloadPart | undefined> {
    const start = await store.slicePayload(tenant, seq, 0, BOM_BYTES);
    if (!start || !isStoredAsJson(source, start.content_type)) return undefined;
    const bomBytes = start.body.byteLength - withoutBom(start.body).byteLength;
    // `offset` and the end of the slice may be inside of a character. `slicePart` needs these characters
    // to find where they start.
    const from = Math.max(0, offset - MAX_CHARACTER_BYTES);
    const to = offset + maxBytes + MAX_CHARACTER_BYTES;
    const stored = await store.slicePayload(tenant, seq, bomBytes + from, bomBytes + to);
    if (!stored) return undefined;
    const part = slicePart(stored.body, offset - from, maxBytes);
    const next = part.next_offset ?? null;
    return {
      ...part,
      payload_bytes: size - bomBytes,
      next_offset: next === null ? null : from + next,
    };
  }

  const load = ({ tenant, source }: EventRow, payload: Payload) =>
    loadPayload(runJob, { tenant, source, payload });

  const callerOf = (tenant: string) => ({
    tenant,
    signal: new AbortController().signal,
    maxWaitMs: MAX_WAIT_MS,
  });

  function outputOf<Output>(result: { output: Output } | EvaluationError): Output {
    if ("output" in result) return result.output;
    throw new RequestError(
      "invalid",
      "payload",
      `is too large to be read: reading it ${result.message}`,
    );
  }

  async function readPartOf(event: EventRow, request: PartRequest): Promise<ReadPart | undefined> {
    const { tenant, source } = event;
    if (event.size > LARGE_BYTES && request.path === undefined) {
      const part = await sliceStored(event, request);
      if (part) return part;
    }
    const stored = await getPayload(event);
    if (!stored) return readPart({ value: null }, request);
    if (stored.body.byteLength <= LARGE_BYTES) {
      const whole = readWithText(source, stored);
      const part = readPart(whole, request);
      const isWhole = request.path === undefined && !part?.truncated;
      return part && isWhole ? { ...part, json: whole.text } : part;
    }
    if (request.path === undefined && isStoredAsJson(source, stored.content_type))
      return slicePart(withoutBom(stored.body), request.offset, request.maxBytes);
    const payload = await load(event, stored);
    if (!(payload instanceof LargeJson)) return readPart({ value: payload }, request);
    const job = { ...request, data: payload, timeoutMs: READ_TIMEOUT_MS };
    return outputOf(await payloadPartJob.request(runJob, job, callerOf(tenant))) ?? undefined;
  }

  async function readJson(event: EventRow): Promise<string | Uint8Array> {
    const { source } = event;
    const stored = await getPayload(event);
    if (!stored) return "null";
    if (stored.body.byteLength > LARGE_BYTES)
      return isStoredAsJson(source, stored.content_type)
        ? withoutBom(stored.body)
        : writeJson(await load(event, stored));
    const { value, text } = readWithText(source, stored);
    return text ?? JSON.stringify(value);
  }

  return {
    /**
     * Returns the whole payload as JSON, or `null` if retention has removed it in the meantime. Large
     * JSON is returned as bytes: decoding and encoding it would take longer than reading it.
     */
    json: (event: EventRow) => largeReads(event, () => readJson(event)),

    /** Throws a `RequestError` if the path is invalid, has no value, or the offset is too large. */
    async part(event: EventRow, request: PartRequest): Promise<ReadPart> {
      const { path, offset } = request;
      if (path !== undefined && !parsePath(path))
        throw new RequestError(
          "invalid",
          "path",
          "is not a path such as issue.title or issue.labels[].name",
        );
      const part = await largeReads(event, () => readPartOf(event, request));
      if (!part) throw new RequestError("not_found", "path", `the payload has no value at ${path}`);
      if (part.payload_bytes !== undefined && offset > 0 && offset >= part.payload_bytes)
        throw new RequestError("invalid", "offset", `must be less than ${part.payload_bytes}`);
      return part;
    },

    /** Must be called within the `work` of `largeReads`, which ends after the last check. */
    async open(event: EventRow): Promise<OpenPayload> {
      const stored = await getPayload(event);
      const payload = stored ? await load(event, stored) : null;
      return {
        async matches(conditions) {
          if (!(payload instanceof LargeJson)) return areFulfilled(conditions, payload);
          const job = { conditions, data: payload, timeoutMs: READ_TIMEOUT_MS };
          return outputOf(await payloadMatchJob.request(runJob, job, callerOf(event.tenant)));
        },
      };
    },
  };
}

/** The size of a byte order mark in UTF-8. */
const BOM_BYTES = 3;
/** The maximum size of a character in UTF-8. */
const MAX_CHARACTER_BYTES = 4;

/** Removes the byte order mark, which a sender may add, but JSON must not contain. */
const withoutBom = (body: Uint8Array): Uint8Array =>
  body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;
