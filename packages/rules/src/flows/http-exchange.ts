/** Encodes the request of an HttpRequest node, and decodes the response to an output or an error. */
import type { Json } from "../json.ts";
import {
  LARGE_BYTES,
  LargeJson,
  type MixedJson,
  type MixedObject,
  writeJson,
} from "../large-json.ts";
import { NodeError, Permanent, RetryAt } from "./errors.ts";
import { isDeeperThan } from "./model.ts";
import type { NodeContext } from "./node-type.ts";
import type { OutboundErrorCode, OutboundResponse } from "./outbound.ts";

/** Errors of requests that a retry cannot resolve. */
export const PERMANENT_OUTBOUND_ERRORS: ReadonlySet<unknown> = new Set([
  "invalid_url",
  "invalid_request",
  "address_refused",
  "too_large",
  "too_many_redirects",
] satisfies OutboundErrorCode[]);

export type Scalar = string | number | boolean | null;

export type HttpAuth =
  | { type: "bearer"; token: string }
  | { type: "basic"; username: string; password: string }
  | { type: "header"; name: string; value: string };

export type HttpBody =
  | { type: "json"; value: MixedJson }
  | { type: "text"; value: string }
  | { type: "form"; value: Record<string, Scalar | Scalar[]> };

/** Appends fields to the query of the URL. Omits null, the value of a missing optional reference. */
export function withQuery(url: string, query: Record<string, Scalar | Scalar[]>): string {
  const pairs = pairsOf(query);
  if (pairs.length === 0) return url;
  const [, base = "", hash = ""] = /^([^#]*)(#.*)?$/s.exec(url) ?? [];
  return `${base}${base.includes("?") ? "&" : "?"}${new URLSearchParams(pairs)}${hash}`;
}

const pairsOf = (fields: Record<string, Scalar | Scalar[]>): [string, string][] =>
  Object.entries(fields).flatMap(([name, value]) =>
    [value]
      .flat()
      .flatMap((item): [string, string][] => (item === null ? [] : [[name, String(item)]])),
  );

export function encodeBody(body: HttpBody): { contentType: string; bytes: Uint8Array } {
  const [contentType, text] =
    body.type === "json"
      ? ["application/json", writeJson(body.value)]
      : body.type === "form"
        ? ["application/x-www-form-urlencoded", new URLSearchParams(pairsOf(body.value)).toString()]
        : ["text/plain; charset=utf-8", body.value];
  return { contentType, bytes: new TextEncoder().encode(text) };
}

export function authHeader(auth: HttpAuth): [name: string, value: string] {
  if (auth.type === "bearer") return ["authorization", `Bearer ${auth.token}`];
  if (auth.type === "header") return [auth.name.toLowerCase(), auth.value];
  const bytes = new TextEncoder().encode(`${auth.username}:${auth.password}`);
  return ["authorization", `Basic ${base64(bytes)}`];
}

/** Converts the bytes in chunks, because the number of arguments of a call is limited. */
function base64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 10_000)
    binary += String.fromCharCode(...bytes.subarray(at, at + 10_000));
  return btoa(binary);
}

/** A range is a status such as `404`, or `400-499`. */
export const isStatusIn = (status: number, ranges: readonly (number | string)[]): boolean =>
  ranges.some((range) => {
    const [from = 0, to = from] = String(range).split("-").map(Number);
    return from <= status && status <= to;
  });

type EvaluateContext = Pick<NodeContext<never>, "evaluate">;

export async function readOutput(
  { status, headers, body, url }: OutboundResponse,
  context: EvaluateContext,
): Promise<MixedObject> {
  const type = headers.get("content-type") ?? "";
  return {
    status,
    headers: Object.fromEntries([...headers.keys()].map((name) => [name, headers.get(name) ?? ""])),
    ...(await readBody(type, body, context)),
    url,
  };
}

const isJson = (type: string) => /^[^;]*[/+]json\s*(;|$)/i.test(type);

async function readBody(
  type: string,
  bytes: Uint8Array,
  context: EvaluateContext,
): Promise<{ format: string; body: MixedJson }> {
  if (bytes.length === 0) return { format: "empty", body: null };
  const text = decode(type, bytes);
  if (text === undefined) return { format: "base64", body: base64(bytes) };
  if (!isJson(type)) return { format: "text", body: text };
  const body = bytes.length > LARGE_BYTES ? await readLargeJson(text, context) : readJson(text);
  return { format: "json", body };
}

const MAX_DEPTH = 200;

/** Throws permanent errors: the request has already had its effects, and must not be repeated. */
function readJson(text: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    // The message of the parser would quote the body, which may contain a secret.
    throw invalidJson("The content type of the response is JSON, but its body is not valid JSON.");
  }
  if (isDeeperThan(MAX_DEPTH, value))
    throw invalidJson(`The JSON of the response is nested deeper than ${MAX_DEPTH} levels.`);
  return value;
}

const LARGE_TIMEOUT_MS = 10_000;

/** A job checks large JSON, which stays text here. */
async function readLargeJson(text: string, { evaluate }: EvaluateContext): Promise<MixedJson> {
  const result = await evaluate({
    job: "select",
    paths: [[]],
    maxBytes: Number.MAX_SAFE_INTEGER,
    timeoutMs: LARGE_TIMEOUT_MS,
    data: new LargeJson(text),
  });
  if ("output" in result) return result.parts?.[0] ?? null;
  throw invalidJson(`The JSON of the response cannot be read: it ${result.message}.`);
}

const invalidJson = (message: string) => new Permanent(message, { code: "invalid_json" });

/** Returns undefined if the body is not text. */
function decode(type: string, bytes: Uint8Array): string | undefined {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(type)?.[1];
  if (charset === undefined && /^(image|audio|video|font)\//i.test(type)) return undefined;
  try {
    return new TextDecoder(isJson(type) ? "utf-8" : charset, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Statuses below 500 that a retry may resolve. */
const TRANSIENT = new Set([408, 425, 429]);

/** The error for a failed response. Its class determines whether and when the step is retried. */
export function responseError(request: string, response: OutboundResponse, now: number): Error {
  const { status, headers, body } = response;
  // The body is not truncated here: the mask for secrets would not recognize a truncated secret.
  const text = decode(headers.get("content-type") ?? "", body)?.trim();
  const message = `${request} returned ${status}${text ? `: ${text}` : ""}`;
  const code = `http_${status}`;
  const details = { status };
  const at =
    status === 429 || status === 503 ? retryAfter(headers.get("retry-after"), now) : undefined;
  if (at !== undefined) return new RetryAt(at, message, { code, details });
  if (status >= 400 && status < 500 && !TRANSIENT.has(status))
    return new Permanent(message, { code, details });
  return new NodeError(message, { code, details });
}

/** Returns the time in a Retry-After header, which contains seconds or a date. */
export function retryAfter(value: string | null, now: number): number | undefined {
  if (value === null) return undefined;
  const at = /^\d+$/.test(value.trim()) ? now + Number(value) * 1000 : Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(at, now);
}
