/**
 * Maps the errors of model providers to those of nodes. What a retry can resolve is retried, at the time
 * that the provider names; the rest is permanent, with the provider's words and the fix.
 */
import { APICallError } from "@ai-sdk/provider";
import { NodeError, Permanent, RetryAt } from "@signalbox/rules/flows/errors.ts";
import { PERMANENT_OUTBOUND_ERRORS, retryAfter } from "@signalbox/rules/flows/http-exchange.ts";
import { OutboundError } from "@signalbox/rules/flows/outbound.ts";

const FIXES: Readonly<Record<number, string>> = {
  401: "Check the secret in model.apiKey.",
  403: "Check the permissions of the key in model.apiKey.",
  404: "Check model.name and model.baseUrl.",
  413: "Give the agent less data, or fewer tools.",
};

/** Statuses below 500 that a retry may resolve. */
const TRANSIENT = new Set([408, 409, 425, 429]);

export function toNodeError(error: unknown, now: number): Error {
  if (error instanceof NodeError) return error;
  const outbound = findOutbound(error);
  if (outbound) return outboundError(outbound);
  const { status, message, headers, type } = readError(error);
  if (status === undefined)
    return new NodeError(`The request to the model failed: ${message}`, { code: "model_failed" });
  const words = `The model's provider returned ${status}: ${message}`;
  const options = { code: `model_http_${status}`, details: { status } };
  const isRetryable = (status >= 500 || TRANSIENT.has(status)) && type !== "insufficient_quota";
  if (!isRetryable)
    return new Permanent(`${endSentence(words)} ${FIXES[status] ?? ""}`.trim(), options);
  const at = retryAfter(headers?.["retry-after"] ?? null, now);
  return at === undefined ? new NodeError(words, options) : new RetryAt(at, words, options);
}

const outboundError = (error: OutboundError): NodeError => {
  const message = `model.baseUrl: ${error.message}`;
  const options = { code: error.code, cause: error };
  return PERMANENT_OUTBOUND_ERRORS.has(error.code)
    ? new Permanent(message, options)
    : new NodeError(message, options);
};

function findOutbound(error: unknown): OutboundError | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++)
    if (at instanceof OutboundError) return at;
  return undefined;
}

interface ReadError {
  status: number | undefined;
  message: string;
  headers?: Record<string, string> | undefined;
  type?: unknown;
}

/** An error of the request, or an error in the stream, which is a plain object. */
function readError(error: unknown): ReadError {
  const { message, statusCode, type, code } = Object(error) as Record<string, unknown>;
  const text = typeof message === "string" && message !== "" ? message : String(error);
  if (APICallError.isInstance(error)) {
    const { responseHeaders, data } = error;
    return {
      status: error.statusCode === 200 ? undefined : error.statusCode,
      message: text,
      headers: responseHeaders,
      type: (data as { error?: { type?: unknown } } | undefined)?.error?.type,
    };
  }
  const status = typeof statusCode === "number" ? statusCode : Number(code);
  return { status: status >= 400 && status < 600 ? status : undefined, message: text, type };
}

const endSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);
