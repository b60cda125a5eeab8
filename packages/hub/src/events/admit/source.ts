/**
 * The definition of a webhook sender, and the extractors with which it reads a request. To add a sender, write
 * a file in sources/ and add a line to sources/index.ts; the tests in sources/sources.test.ts then sign and
 * forge its sample.
 */
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import type { z } from "zod";
import { decodeObject } from "../../kernel/http/decode.ts";
import {
  type IngestOutcome,
  isRejection,
  type Rejection,
  rejection,
} from "../../kernel/http/ingest-outcome.ts";
import { BoundedMap } from "../../kernel/lib/bounded-map.ts";
import type { Summary } from "../model.ts";
import type { SignatureScheme } from "./signatures.ts";

/** A request whose signature is valid. */
export interface VerifiedRequest {
  contentType: string;
  /** The value of a header, or undefined. A repeated header is rejected after decoding. */
  header(name: string): string | undefined;
  /** The names of all headers, in lower case. */
  headerNames(): Iterable<string>;
  bytes: Uint8Array;
  config: Record<string, unknown>;
  /** The maximum number of JSON values in the body; undefined if the body is small. */
  maxValues?: number;
}

/** A verified request with its parsed body. */
export interface ParsedRequest extends VerifiedRequest {
  body: JsonObject;
}

/** Reads one value, such as a delivery id or an event type, from a verified request. */
export interface Extractor {
  /** Names the value in the error message when it is missing. */
  describe: string;
  reason: "missing_header" | "missing_field";
  find(request: ParsedRequest): Extracted | undefined;
}

interface Extracted {
  text: string;
  in: "header" | "field";
}

/** One event of a request. */
export interface DecodedEvent {
  type: string;
  externalId: string | null;
  body: JsonObject;
  /** Set if the event is only a part of the request's body: the range of its bytes. */
  part?: { start: number; end: number; contentType: string };
  /**
   * The values that came from headers. If one is invalid, the reason is `invalid_header`, not
   * `invalid_field`.
   */
  inHeaders?: readonly ("type" | "externalId")[];
  /** Headers that are part of the event. They are stored in addition to `SourceDefinition.headers`. */
  headers?: Record<string, string>;
}

/** A realistic webhook. `signalbox send` and the tests send it. */
export interface Sample {
  body: JsonObject;
  headers: Record<string, string>;
}

export interface Installation {
  id: string;
  /** The account, if the payload names it. */
  account?: { id: string; login: string | null };
  /**
   * Set if the event is about the installation itself. Only such an event may change its state or
   * its account.
   */
  about?: {
    /** GitHub's time of the change. The store ignores an event with a lower version than its own. */
    version: number;
    change: "removed" | "restored" | null;
    suspended_at: number | null;
  };
  /** Set if the event reports a new name of the account: GitHub's time of the change. */
  renamedAt?: number;
}

/**
 * Instructions for the operator. `signalbox source add` prints them, and docs/webhooks.md contains
 * them.
 */
interface SecretSetup {
  /**
   * `sender`: the sender issues the secret, and you copy it to the hub. `you`: the hub generates it,
   * or you choose it.
   */
  issuedBy: "sender" | "you";
  /** Where to paste the URL, and where to paste or copy the secret. */
  setup: string;
}

/** The environment variable with the secrets of a source. */
export const secretVariable = (source: string): string =>
  `${source.toUpperCase().replaceAll("-", "_")}_WEBHOOK_SECRET`;

export interface SourceDefinition {
  id: string;
  title: string;
  secret: SecretSetup;
  /** The maximum size of a body. */
  maxBytes: number;
  signature(config: Record<string, unknown>): SignatureScheme;
  /**
   * A field of the body with the time of sending in milliseconds, for senders that sign the body but
   * no timestamp header. Protects against replays.
   */
  sentAt: { field: string; toleranceMs: number } | undefined;
  /** The schema of an endpoint's configuration. */
  config: z.ZodType<Record<string, unknown>> | undefined;
  /** Headers that are stored with the payload, in addition to those of the signature. */
  headers: readonly string[];
  /** If the operator enables the allowlist, only GitHub's published hook addresses may send. */
  githubAddressesOnly: boolean;
  accepts(contentType: string): boolean;
  /** The accepted content types, for the error message. */
  acceptedTypes: string;
  /** Returns the events of a request, or an outcome if there is nothing to store. */
  decode(request: VerifiedRequest): DecodedEvent[] | IngestOutcome;
  /** Responds to an OPTIONS request, which is never signed. */
  handshake: ((header: (name: string) => string | undefined) => IngestOutcome) | undefined;
  /**
   * True if payloads name an installation, which identifies the tenant. Then one endpoint can serve
   * all tenants.
   */
  namesInstallation: boolean;
  installation(type: string, body: JsonObject): Installation | undefined;
  /**
   * Returns whether the event is exempt from the quota: it is stored even above it, and does not count.
   * Applies only to the endpoint without a key.
   */
  skipsQuota(type: string, body: JsonObject): boolean;
  summarize(type: string, body: JsonObject): Partial<Summary>;
  /**
   * If true, the response to a stored event is 200 with an empty body, for senders that treat any
   * other status as a failure or show the response body to their users.
   */
  emptyResponse: boolean;
  /**
   * Returns a sample with this delivery id, or undefined if the source has no sample of the variant.
   */
  sample(id: string, variant?: SampleVariant): Sample | undefined;
}

export interface SampleVariant {
  type?: string | undefined;
  action?: string | undefined;
  /** For payloads that contain the time of sending. */
  now?: number | undefined;
}

/** Why an event has no tenant. */
export type NoTenant =
  /** The payload names no installation. */
  | "none"
  | "unknown"
  | "removed"
  | "suspended"
  /** The installation is unknown, and GitHub does not answer. */
  | "unavailable";

export type Owner =
  | { tenant: string; reason?: undefined }
  | { tenant?: undefined; reason: NoTenant };

export interface Tenancy {
  resolve(installation: Installation | undefined): Promise<Owner>;
}

interface SourceOptions
  extends Pick<SourceDefinition, "id" | "title" | "secret" | "summarize" | "sample">,
    Partial<
      Pick<
        SourceDefinition,
        | "maxBytes"
        | "sentAt"
        | "config"
        | "headers"
        | "githubAddressesOnly"
        | "decode"
        | "handshake"
        | "installation"
        | "skipsQuota"
        | "emptyResponse"
      >
    > {
  signature: SignatureScheme | SourceDefinition["signature"];
  /** The sender's delivery id. Webhooks with the same id are stored once. */
  externalId?: Extractor;
  /** Accepts webhooks without an id. They cannot be deduplicated. */
  idOptional?: boolean;
  eventType?: Extractor;
  /**
   * Rejects a form without the field `payload`. By default, the fields of such a form are the event.
   */
  requiresFormPayload?: boolean;
  /** Responds to requests that are not events, such as a ping. */
  control?(request: ParsedRequest): IngestOutcome | undefined;
  accepts?: readonly string[] | "anything";
}

const MEBIBYTE = 1024 * 1024;

export function defineSource(options: SourceOptions): SourceDefinition {
  const { signature, accepts = ["application/json"] } = options;
  return {
    maxBytes: MEBIBYTE,
    sentAt: undefined,
    config: undefined,
    headers: [],
    githubAddressesOnly: false,
    handshake: undefined,
    namesInstallation: options.installation !== undefined,
    installation: () => undefined,
    skipsQuota: () => false,
    emptyResponse: false,
    decode: (request) => decodeOneEvent(options, request),
    ...options,
    signature: typeof signature === "function" ? signature : () => signature,
    accepts: (type) =>
      accepts === "anything" ||
      accepts.includes(type) ||
      (accepts.includes("application/json") && type.endsWith("+json")),
    acceptedTypes: accepts === "anything" ? accepts : accepts.join(" or "),
  };
}

function decodeOneEvent(
  options: SourceOptions,
  request: VerifiedRequest,
): DecodedEvent[] | IngestOutcome {
  const { requiresFormPayload = false, eventType, externalId } = options;
  const { contentType, bytes, maxValues } = request;
  const decoded = decodeObject(contentType, bytes, { requiresFormPayload, maxValues });
  if (isRejection(decoded)) return decoded;
  const parsed = { ...request, body: decoded.object };
  const control = options.control?.(parsed);
  if (control) return control;
  const type = eventType?.find(parsed);
  if (!type) return rejectMissing(eventType);
  const id = externalId?.find(parsed);
  if (!id && !options.idOptional) return rejectMissing(externalId);
  const inHeaders: DecodedEvent["inHeaders"] = [
    ...(type.in === "header" ? ["type" as const] : []),
    ...(id?.in === "header" ? ["externalId" as const] : []),
  ];
  return [{ type: type.text, externalId: id?.text ?? null, body: decoded.object, inHeaders }];
}

const rejectMissing = (extractor: Extractor | undefined): Rejection =>
  rejection(
    extractor?.reason ?? "missing_field",
    `The webhook lacks ${extractor?.describe ?? "a type"}.`,
  );

/** An empty id or type counts as missing. */
const toExtracted = (text: string | undefined, where: Extracted["in"]): Extracted | undefined =>
  text ? { text, in: where } : undefined;

export const header = (name: string): Extractor => ({
  describe: `the header ${name}`,
  reason: "missing_header",
  find: (request) => toExtracted(request.header(name.toLowerCase()), "header"),
});

/** Reads a field of the body by its path, such as `event.type`. */
export const field = (path: string): Extractor => ({
  describe: `the field ${path}`,
  reason: "missing_field",
  find(request) {
    const value = valueAt(request.body, path);
    const isText = typeof value === "string" || typeof value === "number";
    return isText ? toExtracted(String(value), "field") : undefined;
  },
});

/** Returns the result of the first extractor that finds a value. */
export const either = (...extractors: [Extractor, ...Extractor[]]): Extractor => ({
  describe: extractors.map((extractor) => extractor.describe).join(" or "),
  reason: extractors[0].reason,
  find(request) {
    for (const extractor of extractors) {
      const value = extractor.find(request);
      if (value) return value;
    }
    return undefined;
  },
});

export const fixed = (value: string): Extractor => ({
  describe: `the value ${value}`,
  reason: "missing_field",
  find: () => toExtracted(value, "field"),
});

/** Caches split paths, because nearly all paths are constants of the source definitions. */
const splitPaths = new BoundedMap<string, readonly string[]>(2_000);

/** Returns the value at a path such as `event.type` or `pages.0.title`. */
export function valueAt(body: Json | undefined, path: string): Json | undefined {
  let names = splitPaths.get(path);
  if (!names) {
    names = path.split(".");
    splitPaths.set(path, names);
  }
  let value: Json | undefined = body;
  for (const name of names) {
    if (Array.isArray(value)) value = /^\d+$/.test(name) ? value[Number(name)] : undefined;
    else if (isObject(value)) value = Object.hasOwn(value, name) ? value[name] : undefined;
    else return undefined;
  }
  return value;
}
