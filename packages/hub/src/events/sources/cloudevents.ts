/** https://cloudevents.io: the three modes of the HTTP binding 1.0, and the webhook handshake. */
import { decodeJson, decodeObject, decodeText } from "../../kernel/http/decode.ts";
import { type IngestOutcome, isRejection, rejection } from "../../kernel/http/ingest-outcome.ts";
import { endOfString, type TextRange, toByteRanges } from "../../kernel/lib/json-text.ts";
import { bearer } from "../admit/signatures.ts";
import { type DecodedEvent, defineSource, type VerifiedRequest } from "../admit/source.ts";
import {
  attributesFrom,
  BATCHED,
  type CloudEvent,
  checkEvent,
  STRUCTURED,
  structuredForm,
} from "./cloudevents-format.ts";
import { pickText, summarizePlain } from "./summary.ts";

const MAX_BATCH = 100;

export const cloudevents = defineSource({
  id: "cloudevents",
  title: "CloudEvents",
  secret: {
    issuedBy: "you",
    setup:
      "In the settings of the sender's subscription, set the URL as the sink, and send the secret in the header Authorization: Bearer SECRET.",
  },
  signature: bearer,
  accepts: "anything", // in binary mode the content type is that of the data
  decode(request) {
    if (request.contentType === STRUCTURED) return decodeStructured(request);
    if (request.contentType === BATCHED) return decodeBatch(request);
    if (request.contentType.startsWith("application/cloudevents"))
      return rejection(
        "unsupported_media_type",
        `Send CloudEvents as ${STRUCTURED}, as ${BATCHED}, or with their attributes in headers.`,
      );
    return decodeBinary(request);
  },
  handshake,
  summarize(_, body) {
    const data = summarizePlain({ data: body.data ?? null });
    return {
      ...data,
      sender: pickText(body, "source"),
      title: pickText(body, "subject") ?? data.title ?? null,
    };
  },
  sample: (id, { type = "com.example.lamp.changed", now = Date.now() } = {}) => ({
    headers: { "content-type": STRUCTURED },
    body: {
      specversion: "1.0",
      id,
      source: "https://signals.example.com/tracks/3",
      type,
      subject: "lamp-7",
      time: new Date(now).toISOString(),
      datacontenttype: "application/json",
      data: { from: "red", to: "green", url: "https://signals.example.com/tracks/3/lamps/7" },
    },
  }),
});

/** An id is unique only within its source, so the delivery id is the JSON of both. */
const toDecodedEvent = (event: CloudEvent, optional: Partial<DecodedEvent> = {}): DecodedEvent => ({
  type: event.type,
  externalId: JSON.stringify([event.source, event.id]),
  body: event,
  ...optional,
});

function decodeStructured(request: VerifiedRequest): DecodedEvent[] | IngestOutcome {
  const decoded = decodeObject(request.contentType, request.bytes, request);
  if (isRejection(decoded)) return decoded;
  const event = checkEvent(decoded.object);
  return isRejection(event) ? event : [toDecodedEvent(event)];
}

/** One invalid event rejects the batch, because the sender can only retry the whole batch. */
function decodeBatch({ bytes, maxValues }: VerifiedRequest): DecodedEvent[] | IngestOutcome {
  const text = decodeText(bytes);
  if (isRejection(text)) return text;
  const json = decodeJson(text, maxValues);
  if (isRejection(json)) return json;
  if (!Array.isArray(json.value))
    return rejection("invalid_field", "A batch of CloudEvents must be a JSON array.");
  if (json.value.length > MAX_BATCH)
    return rejection(
      "invalid_field",
      `The batch contains ${json.value.length} events; the limit is ${MAX_BATCH}.`,
    );
  if (json.value.length === 0) return { outcome: "pong" }; // allowed by the specification
  const ranges = toByteRanges(jsonElements(text), text, bytes);
  const events: DecodedEvent[] = [];
  for (const [index, value] of json.value.entries()) {
    const event = checkEvent(value, `event ${index} of the batch`);
    if (isRejection(event)) return event;
    const range = ranges[index] as TextRange;
    events.push(toDecodedEvent(event, { part: { ...range, contentType: STRUCTURED } }));
  }
  return events;
}

function decodeBinary(request: VerifiedRequest): DecodedEvent[] | IngestOutcome {
  const headers: Record<string, string> = {};
  for (const name of request.headerNames())
    if (name.startsWith("ce-")) headers[name] = request.header(name) ?? "";
  if (headers["ce-specversion"] === undefined)
    return rejection(
      "missing_header",
      `The request is not a CloudEvent: it lacks the header ce-specversion, and its content type is not ${STRUCTURED}.`,
    );
  const attributes = attributesFrom(Object.entries(headers));
  if (isRejection(attributes)) return attributes;
  const checked = checkEvent(attributes);
  if (isRejection(checked))
    return rejection("invalid_header", `In the headers ce-…: ${checked.detail}`);
  const form = structuredForm(
    Object.entries(headers),
    request.header("content-type") ?? "",
    request.bytes,
    request.maxValues,
  );
  return isRejection(form)
    ? form
    : [toDecodedEvent({ ...checked, ...form }, { headers, inHeaders: ["type", "externalId"] })];
}

/** The requests per minute that the hub's default rate limit allows. */
const MAX_RATE = 600_000;

/** https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md, "Abuse protection". */
function handshake(header: (name: string) => string | undefined): IngestOutcome {
  const origin = header("webhook-request-origin");
  if (!origin)
    return rejection(
      "missing_header",
      "The handshake lacks the header WebHook-Request-Origin, the name of the sending system.",
    );
  if (!/^[\x21-\x7e]{1,255}$/.test(origin))
    return rejection(
      "invalid_header",
      "The header WebHook-Request-Origin must be a name of 1 to 255 printable ASCII characters.",
    );
  const requested = header("webhook-request-rate");
  const rate =
    requested && /^[1-9]\d{0,8}$/.test(requested)
      ? Math.min(Number(requested), MAX_RATE)
      : MAX_RATE;
  return {
    outcome: "handshake",
    headers: {
      allow: "POST",
      "webhook-allowed-origin": origin,
      "webhook-allowed-rate": String(rate),
    },
  };
}

/**
 * Finds the ranges of an array's elements in its valid JSON text. Serializing the parsed elements instead
 * would change numbers that JavaScript cannot represent.
 */
export function jsonElements(text: string): TextRange[] {
  const elements: TextRange[] = [];
  let depth = 0;
  let start = 0;
  const add = (end: number) => {
    const element = text.slice(start, end);
    const from = start + (element.length - element.trimStart().length);
    elements.push({ start: from, end: from + element.trim().length });
  };
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at);
    else if (character === "[" || character === "{") {
      depth += 1;
      if (depth === 1) start = at + 1;
    } else if (character === "]" || character === "}") {
      depth -= 1;
      if (depth === 0) add(at);
    } else if (character === "," && depth === 1) {
      add(at);
      start = at + 1;
    }
  }
  // The text between the brackets of an empty array is not an element.
  const [first] = elements;
  return elements.length === 1 && first?.start === first?.end ? [] : elements;
}
