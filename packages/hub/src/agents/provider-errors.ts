/**
 * Converts errors of model providers to errors of nodes. An error that a retry can resolve is retried,
 * at the time that the provider names. Other errors are permanent, and their messages contain the
 * provider's message and the fix.
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
const TRANSIENT_STATUSES = new Set([408, 409, 425, 429]);

export function toNodeError(error: unknown, now: number): Error {
  if (error instanceof NodeError) return error;
  const outbound = findOutboundError(error);
  if (outbound) return fromOutboundError(outbound);
  const { status, message, headers, type } = readError(error);
  if (status === undefined)
    return new NodeError(`The request to the model failed: ${message}`, { code: "model_failed" });
  const text = `The model's provider returned ${status}: ${message}`;
  const options = { code: `model_http_${status}`, details: { status } };
  const isRetryable =
    (status >= 500 || TRANSIENT_STATUSES.has(status)) && type !== "insufficient_quota";
  if (!isRetryable)
    return new Permanent(`${endSentence(text)} ${FIXES[status] ?? ""}`.trim(), options);
  const at = retryAfter(headers?.["retry-after"] ?? null, now);
  return at === undefined ? new NodeError(text, options) : new RetryAt(at, text, options);
}

const fromOutboundError = (error: OutboundError): NodeError => {
  const message = `model.baseUrl: ${error.message}`;
  const options = { code: error.code, cause: error };
  return PERMANENT_OUTBOUND_ERRORS.has(error.code)
    ? new Permanent(message, options)
    : new NodeError(message, options);
};

/** Searches the causes of the error up to a depth, because the chain of causes could be a cycle. */
function findOutboundError(error: unknown): OutboundError | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; depth++) {
    if (cause instanceof OutboundError) return cause;
    cause = cause.cause;
  }
  return undefined;
}

interface ErrorFields {
  status: number | undefined;
  message: string;
  headers?: Record<string, string> | undefined;
  type?: unknown;
}

/** Reads an error of the request, or an error in the stream, which is a plain object. */
function readError(error: unknown): ErrorFields {
  const { message, statusCode, type, code } = Object(error) as Record<string, unknown>;
  const text = typeof message === "string" && message !== "" ? message : String(error);
  if (APICallError.isInstance(error)) {
    const { responseHeaders, data } = error;
    return {
      // With status 200, the request succeeded, but its response is invalid.
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
