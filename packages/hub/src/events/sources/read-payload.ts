/** Reads a stored payload as JSON. It never throws: other content is returned as base64. */
import type { Json } from "@signalbox/rules/json.ts";
import { decodeForm, decodeJson, decodeText, FORM, mediaType } from "../../kernel/http/decode.ts";
import { isRejection } from "../../kernel/http/ingest-outcome.ts";
import { toBase64 } from "../../kernel/lib/bytes.ts";
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
