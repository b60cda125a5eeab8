/** A stored payload as JSON, for whoever reads an event. Never fails: what is not JSON comes as bytes. */
import { toBase64 } from "../../lib/hmac.ts";
import type { Payload } from "../../store/store.ts";
import { decodeForm, decodeJson, decodeText, FORM, mediaType } from "../decode.ts";
import { isRefusal } from "../outcome.ts";
import type { Json } from "../source.ts";
import { STRUCTURED, structuredForm } from "./cloudevents-format.ts";

type Stored = Pick<Payload, "content_type" | "headers" | "body">;

export function readPayload(source: string, payload: Stored): Json {
  const read = source === "cloudevents" ? readCloudEvent(payload) : readBody(payload);
  return read === undefined ? { data_base64: toBase64(payload.body) } : read;
}

function readCloudEvent(payload: Stored): Json | undefined {
  if (mediaType(payload.content_type) === STRUCTURED) return readBody(payload);
  const form = structuredForm(Object.entries(payload.headers), payload.content_type, payload.body);
  return isRefusal(form) ? undefined : form;
}

function readBody({ content_type, body }: Stored): Json | undefined {
  const text = decodeText(body);
  if (isRefusal(text)) return undefined;
  if (mediaType(content_type) === FORM) {
    const form = decodeForm(text);
    return isRefusal(form) ? undefined : form.object;
  }
  const json = decodeJson(text);
  return isRefusal(json) ? undefined : json.value;
}
