/**
 * Reads the body of a request to an MCP server, once and within the limits, before the schemas of the
 * SDK read it. The SDK itself would clone the request for each of its readers.
 */
import { readRequestBody } from "@modelcontextprotocol/server";
import { isObject, type Json } from "@signalbox/rules/json.ts";
import {
  type BodyLimits,
  DEFAULT_BODY_LIMITS,
  MAX_BATCH_MESSAGES,
  MAX_OPENING_BYTES,
  MAX_OPENING_VALUES,
} from "../lib/limits.ts";
import { assertShape, assertValueCount } from "../lib/parse-json.ts";
import { RequestError } from "../lib/request-error.ts";

/** The maximum length of an id, a name or a URI. */
const MAX_NAME = 1_000;

interface Call {
  /** Its body has been read if `body` is defined. */
  request: Request;
  /** Undefined if the request is not a POST, or if its body is not JSON; the SDK rejects the latter. */
  body: Json | undefined;
}

/** Returns a response if the body exceeds a limit. */
export async function readCall(
  request: Request,
  limits: BodyLimits = DEFAULT_BODY_LIMITS,
): Promise<Call | Response> {
  const { headers, method, url, signal } = request;
  // The body of other methods has no meaning.
  if (method !== "POST") return { request, body: undefined };
  const isListen = headers.get("mcp-method") === "subscriptions/listen";
  const maxBytes = isListen ? MAX_OPENING_BYTES : limits.bodyBytes;
  const text = await readText(request, maxBytes);
  if (text === undefined) return tooLarge(maxBytes);
  try {
    assertValueCount(text, "The body", limits.values);
    const body = parse(text);
    if (body === undefined)
      return { request: new Request(url, { method, headers, signal, body: text }), body };
    assertShape(body, "The body");
    const messages = Array.isArray(body) ? body : [body];
    if (messages.length > MAX_BATCH_MESSAGES)
      throw new RequestError(
        "invalid",
        "The batch",
        `has ${messages.length} messages; the limit is ${MAX_BATCH_MESSAGES}`,
      );
    if (isListen || messages.some(isInitialize)) {
      if (text.length > MAX_OPENING_BYTES) return tooLarge(MAX_OPENING_BYTES);
      assertValueCount(text, "The body", MAX_OPENING_VALUES);
    }
    for (const message of messages) {
      assertNames(message);
      assertMetaSize(message);
    }
    return { request, body };
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    return jsonRpcError(400, -32600, `Invalid Request: ${error.field} ${error.message}`);
  }
}

const isInitialize = (message: Json): boolean =>
  isObject(message) && message.method === "initialize";

/** Limits the values that responses echo. */
function assertNames(message: Json): void {
  if (!isObject(message)) return;
  const { id, method, params } = message;
  const { name, uri, _meta } = isObject(params) ? params : {};
  const progressToken = isObject(_meta) ? _meta.progressToken : undefined;
  for (const [field, value] of Object.entries({
    id,
    method,
    "params.name": name,
    "params.uri": uri,
    "params._meta.progressToken": progressToken,
  }))
    if (typeof value === "string" && value.length > MAX_NAME)
      throw new RequestError(
        "invalid",
        field,
        `has ${value.length} characters; the limit is ${MAX_NAME}`,
      );
}

/**
 * Limits `_meta`, because the schemas of the SDK read it slowly. In the 2026-07-28 protocol, it has the
 * client capabilities that `initialize` has in earlier versions.
 */
function assertMetaSize(message: Json): void {
  const params = isObject(message) ? message.params : undefined;
  const meta = isObject(params) ? params._meta : undefined;
  if (meta !== undefined)
    assertValueCount(JSON.stringify(meta), "params._meta", MAX_OPENING_VALUES);
}

/** Returns undefined if the body has more than `maxBytes`. */
async function readText(request: Request, maxBytes: number): Promise<string | undefined> {
  const length = Number(request.headers.get("content-length") ?? Number.NaN);
  // With a known length, the host reads the body without a stream, which is faster.
  if (length <= maxBytes) return request.text();
  const read = await readRequestBody(request, maxBytes);
  return read.tooLarge ? undefined : read.text;
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

const tooLarge = (maxBytes: number): Response =>
  jsonRpcError(413, -32000, `Payload Too Large: Request body must not exceed ${maxBytes} bytes`);

const jsonRpcError = (status: number, code: number, message: string): Response =>
  Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status });
