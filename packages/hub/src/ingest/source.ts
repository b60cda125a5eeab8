/**
 * What a sender of webhooks is, as data. To add one: a file in sources/ and a line in
 * sources/index.ts; the suite in sources/sources.test.ts then signs, replays and forges its sample.
 */

import { BoundedMap } from "@signalbox/rules/bounded-map.ts";
import type { z } from "zod";
import type { Summary } from "../store/store.ts";
import { decodeObject, FORM } from "./decode.ts";
import { type IngestOutcome, isRejection, type Rejection, rejection } from "./ingest-outcome.ts";
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
  /** Which of the above were found in headers: a fault of theirs is told as one of a header. */
  inHeaders?: readonly ("type" | "externalId")[];
  /** Kept with the payload beside what the definition names: headers that are a part of the event. */
  headers?: Record<string, string>;
}

/** Where a value is found, with words for the error when it is not there. */
export interface Extractor {
  describe: string;
  reason: "missing_header" | "missing_field";
  find(request: ParsedRequest): Extracted | undefined;
}

export interface Extracted {
  text: string;
  in: "header" | "field";
}

const found = (text: string | undefined, where: Extracted["in"]): Extracted | undefined =>
  text ? { text, in: where } : undefined; // an empty id or type is none

export const header = (name: string): Extractor => ({
  describe: `the header ${name}`,
  reason: "missing_header",
  find: (request) => found(request.header(name.toLowerCase()), "header"),
});

/** A path of names into the body, such as `event.type`. */
export const field = (path: string): Extractor => ({
  describe: `the field ${path}`,
  reason: "missing_field",
  find(request) {
    const value = at(request.body, path);
    const isText = typeof value === "string" || typeof value === "number";
    return isText ? found(String(value), "field") : undefined;
  },
});

export const either = (...places: [Extractor, ...Extractor[]]): Extractor => ({
  describe: places.map((place) => place.describe).join(" or "),
  reason: places[0].reason,
  find(request) {
    for (const place of places) {
      const value = place.find(request);
      if (value) return value;
    }
    return undefined;
  },
});

export const fixed = (value: string): Extractor => ({
  describe: `the value ${value}`,
  reason: "missing_field",
  find: () => found(value, "field"),
});

/** Nearly all paths are written in our own tables: each is taken apart once. */
const namesOf = new BoundedMap<string, readonly string[]>(2_000);

/** What a path such as `event.type` or `pages.0.title` leads to. */
export function at(body: Json | undefined, path: string): Json | undefined {
  let names = namesOf.get(path);
  if (!names) {
    names = path.split(".");
    namesOf.set(path, names);
  }
  let value: Json | undefined = body;
  for (const name of names) {
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
  /** Given where the event is about the installation itself: only that may move or remove it. */
  about?: { version: number; change: "removed" | "revived" | null };
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
  decode(request: VerifiedRequest): Reading[] | IngestOutcome;
  /** Answers an OPTIONS request, before there is anything to sign. */
  handshake: ((header: (name: string) => string | undefined) => IngestOutcome) | undefined;
  /** Payloads say whose they are, so one endpoint can serve all tenants. */
  namesInstallation: boolean;
  installation(type: string, body: JsonObject): Installation | undefined;
  /** These are stored whatever the quota says, where the endpoint is not one of a single tenant. */
  skipsQuota(type: string, body: JsonObject): boolean;
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

export interface Tenancy {
  /** The tenant of an installation, or undefined where nothing says whose it is. */
  resolve(installation: Installation | undefined): Promise<string | undefined>;
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
  externalId?: Extractor;
  /** Set where a delivery without an id is let in; then nothing can be deduplicated. */
  idOptional?: boolean;
  eventType?: Extractor;
  /** What a form without the field `payload` is: an event itself, or none (default: an event). */
  plainForm?: "event" | "refused";
  /** Requests that are answered at once and not stored, such as a ping. */
  control?(request: ParsedRequest): IngestOutcome | undefined;
  accepts?: readonly string[] | "anything";
}

const MEBIBYTE = 1024 * 1024;

export function defineSource(recipe: SourceRecipe): SourceDefinition {
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
      const decoded = decodeObject(request.contentType, request.bytes);
      if (isRejection(decoded)) return decoded;
      if (recipe.plainForm === "refused" && isPlainForm(request))
        return rejection(
          "missing_field",
          "The form lacks the field payload, with the event as JSON.",
        );
      const parsed = { ...request, body: decoded.object };
      const control = recipe.control?.(parsed);
      if (control) return control;
      const type = eventType?.find(parsed);
      if (!type) return missing(eventType);
      const id = externalId?.find(parsed);
      if (!id && !recipe.idOptional) return missing(externalId);
      const inHeaders: Reading["inHeaders"] = [
        ...(type.in === "header" ? ["type" as const] : []),
        ...(id?.in === "header" ? ["externalId" as const] : []),
      ];
      return [{ type: type.text, externalId: id?.text ?? null, body: decoded.object, inHeaders }];
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

const isPlainForm = ({ contentType, bytes }: VerifiedRequest): boolean =>
  contentType === FORM && !new URLSearchParams(new TextDecoder().decode(bytes)).has("payload");

const missing = (place: Extractor | undefined): Rejection =>
  rejection(place?.reason ?? "missing_field", `The delivery lacks ${place?.describe ?? "a type"}.`);
