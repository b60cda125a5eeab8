/**
 * What a sender of webhooks is, as data. To add one: a file in sources/ and a line in
 * sources/index.ts; the suite in sources/sources.test.ts then signs, replays and forges its sample.
 */
import type { z } from "zod";
import type { Summary } from "../store/store.ts";
import { createDecoder, decodeObject } from "./decode.ts";
import { isRefusal, type Outcome, type Refusal, refuse } from "./outcome.ts";
import type { SignatureScheme } from "./signatures.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A request whose signature holds. */
export interface VerifiedRequest {
  contentType: string;
  /** The value of a header, or undefined. That none comes twice has been checked. */
  header(name: string): string | undefined;
  /** The names of all headers, in lower case. */
  headerNames(): Iterable<string>;
  bytes: Uint8Array;
  config: Record<string, unknown>;
}

/** As `VerifiedRequest`, with the body parsed. */
export interface ParsedRequest extends VerifiedRequest {
  body: JsonObject;
}

/** One event of a request. */
export interface Reading {
  type: string;
  externalId: string | null;
  body: JsonObject;
  /** Given where an event is only a part of what came in. */
  part?: { bytes: Uint8Array; contentType: string };
  /** Kept with the payload beside what the definition names: headers that are a part of the event. */
  headers?: Record<string, string>;
}

/** Where a value is found, with words for the error when it is not there. */
export interface Place {
  describe: string;
  reason: "missing_header" | "missing_field";
  find(request: ParsedRequest): string | undefined;
}

export const header = (name: string): Place => ({
  describe: `the header ${name}`,
  reason: "missing_header",
  find: (request) => request.header(name.toLowerCase()),
});

/** A path of names into the body, such as `event.type`. */
export const field = (path: string): Place => ({
  describe: `the field ${path}`,
  reason: "missing_field",
  find(request) {
    const value = at(request.body, path);
    return typeof value === "string"
      ? value
      : typeof value === "number"
        ? String(value)
        : undefined;
  },
});

export const either = (...places: [Place, ...Place[]]): Place => ({
  describe: places.map((place) => place.describe).join(" or "),
  reason: places[0].reason,
  find: (request) => places.map((place) => place.find(request)).find((value) => value),
});

export const fixed = (value: string): Place => ({
  describe: `the value ${value}`,
  reason: "missing_field",
  find: () => value,
});

/** What a path such as `event.type` or `pages.0.title` leads to. */
export function at(body: Json | undefined, path: string): Json | undefined {
  let value: Json | undefined = body;
  for (const name of path.split(".")) {
    if (Array.isArray(value)) value = /^\d+$/.test(name) ? value[Number(name)] : undefined;
    else if (isObject(value)) value = Object.hasOwn(value, name) ? value[name] : undefined;
    else return undefined;
  }
  return value;
}

/** A delivery that the source's own documentation could show: `signalbox send` and the suite use it. */
export interface Sample {
  body: JsonObject;
  headers: Record<string, string>;
}

export interface Installation {
  id: string;
  /** The account, where the payload names it. */
  account?: { id: string; login: string | null };
  change?: "removed";
}

export interface SourceDefinition {
  id: string;
  title: string;
  /** The most bytes of one body. */
  maxBytes: number;
  signature(config: Record<string, unknown>): SignatureScheme;
  /** What an endpoint of this kind can be told. */
  config: z.ZodType<Record<string, unknown>> | undefined;
  /** Kept with the payload beside the signature's own headers. */
  headers: readonly string[];
  /** Only addresses of GitHub's published hook ranges may send, where the operator wants that. */
  githubAddressesOnly: boolean;
  accepts(contentType: string): boolean;
  /** Content types for the error message. */
  acceptsWords: string;
  /** The events of a request; or its outcome, where there is nothing to store. */
  decode(request: VerifiedRequest): Reading[] | Outcome;
  /** Answers an OPTIONS request, before there is anything to sign. */
  handshake: ((header: (name: string) => string | undefined) => Outcome) | undefined;
  /** Payloads say whose they are, so one endpoint can serve all tenants. */
  namesInstallation: boolean;
  installation(type: string, body: JsonObject): Installation | undefined;
  /** These are stored whatever the quota says. */
  skipsQuota(type: string): boolean;
  summarize(type: string, body: JsonObject): Partial<Summary>;
  /**
   * The sender takes nothing but a 200 for an answer, or shows the body to people: what was stored
   * is answered by an empty 200.
   */
  bareAnswer: boolean;
  /** A fresh sample with this id, or undefined for a variant that the source does not have. */
  sample(id: string, variant?: SampleVariant): Sample | undefined;
}

export interface SampleVariant {
  type?: string | undefined;
  action?: string | undefined;
  /** For payloads that carry the time of their sending. */
  now?: number | undefined;
}

interface SourceRecipe
  extends Pick<SourceDefinition, "id" | "title" | "summarize" | "sample">,
    Partial<
      Pick<
        SourceDefinition,
        | "maxBytes"
        | "config"
        | "headers"
        | "githubAddressesOnly"
        | "decode"
        | "handshake"
        | "installation"
        | "skipsQuota"
        | "bareAnswer"
      >
    > {
  signature: SignatureScheme | SourceDefinition["signature"];
  /** The sender's own id of the delivery; what comes twice under one id is stored once. */
  externalId?: Place;
  /** Set where a delivery without an id is let in; then nothing can be deduplicated. */
  idOptional?: boolean;
  eventType?: Place;
  /** The names that are read of JSON bodies, below the outermost members; without them, all are. */
  keys?: readonly string[];
  /** Requests that are answered at once and not stored, such as a ping. */
  control?(request: ParsedRequest): Outcome | undefined;
  accepts?: readonly string[] | "anything";
}

const MEBIBYTE = 1024 * 1024;

export function defineSource(recipe: SourceRecipe): SourceDefinition {
  const decodeBody = recipe.keys ? createDecoder(recipe.keys) : decodeObject;
  const { signature, accepts = ["application/json"], externalId, eventType } = recipe;
  return {
    maxBytes: MEBIBYTE,
    config: undefined,
    headers: [],
    githubAddressesOnly: false,
    handshake: undefined,
    namesInstallation: recipe.installation !== undefined,
    installation: () => undefined,
    skipsQuota: () => false,
    bareAnswer: false,
    decode(request) {
      const decoded = decodeBody(request.contentType, request.bytes);
      if (isRefusal(decoded)) return decoded;
      const parsed = { ...request, body: decoded.object };
      const control = recipe.control?.(parsed);
      if (control) return control;
      const type = eventType?.find(parsed);
      if (!type) return missing(eventType);
      const id = externalId?.find(parsed);
      if (!id && !recipe.idOptional) return missing(externalId);
      // An empty id is no id: taken as one, it would make duplicates of all that come without.
      return [{ type, externalId: id || null, body: decoded.object }];
    },
    ...recipe,
    signature: typeof signature === "function" ? signature : () => signature,
    accepts: (type) =>
      accepts === "anything" ||
      accepts.includes(type) ||
      (accepts.includes("application/json") && type.endsWith("+json")),
    acceptsWords: accepts === "anything" ? accepts : accepts.join(" or "),
  };
}

const missing = (place: Place | undefined): Refusal =>
  refuse(place?.reason ?? "missing_field", `The delivery lacks ${place?.describe ?? "a type"}.`);
