/** Maps the errors of the SDK and of the address guard to `ConnectionError`. */
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { OutboundError, type OutboundErrorCode } from "@signalbox/rules/flows/outbound.ts";
import { isObject } from "@signalbox/rules/json.ts";
import { NO_ANSWER, OVER_LIMIT } from "./answer-codes.ts";
import { ConnectionError, type ConnectionErrorCode } from "./connection-error.ts";
import type { EchoMask } from "./echo-mask.ts";

export function toConnectionError(error: unknown, quote: EchoMask["quote"]): ConnectionError {
  const typedError = causeChain(error).find(
    (cause) => cause instanceof ConnectionError || cause instanceof OutboundError,
  );
  if (typedError instanceof ConnectionError) return typedError;
  if (typedError instanceof OutboundError) {
    const code = OUTBOUND_CODES[typedError.code] ?? "unreachable";
    return new ConnectionError(code, typedError.message, { cause: error });
  }
  if (SdkHttpError.isInstance(error)) return httpError(error, quote);
  if (ProtocolError.isInstance(error)) return protocolError(error, quote);
  if (SdkError.isInstance(error)) return sdkError(error, quote);
  if (error instanceof SyntaxError)
    return invalidResponse("The server's answer is not valid JSON.", error);
  if (error instanceof Error && error.name === "ZodError")
    return invalidResponse("The server's answer is JSON, but not a JSON-RPC message.", error);
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  if (String(syscall).startsWith("spawn"))
    return new ConnectionError(
      "invalid_target",
      `The command cannot be run (${code}). Give the full path of a file that can be executed.`,
      { cause: error },
    );
  return new ConnectionError(
    "unreachable",
    `The server could not be called: ${quote(error instanceof Error ? error.message : String(error))}.`,
    { cause: error },
  );
}

/** Whether the server no longer knows the session of the client, for example after a restart. */
export const isSessionLost = (error: unknown): boolean =>
  causeChain(error).some(
    (cause) => SdkHttpError.isInstance(cause) && (cause.status === 404 || cause.status === 400),
  );

const OUTBOUND_CODES: Partial<Record<OutboundErrorCode, ConnectionErrorCode>> = {
  address_refused: "address_refused",
  timeout: "timeout",
  aborted: "cancelled",
  too_large: "too_large",
  invalid_url: "invalid_target",
  invalid_request: "invalid_target",
  too_many_redirects: "invalid_target",
};

/** The error and its causes. The limit protects against cyclic causes. */
function causeChain(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let cause = error; cause instanceof Error && chain.length < 8; cause = cause.cause)
    chain.push(cause);
  return chain;
}

const invalidResponse = (message: string, cause: unknown) =>
  new ConnectionError(
    "invalid_response",
    `${message} Check that the URL is that of an MCP server.`,
    { cause },
  );

function protocolError(error: ProtocolError, quote: EchoMask["quote"]): ConnectionError {
  if (error.code === NO_ANSWER) return invalidResponse(error.message, error);
  const code = error.code === OVER_LIMIT ? "too_large" : "rejected";
  return new ConnectionError(code, quote(error.message), { cause: error });
}

function httpError(error: SdkHttpError, quote: EchoMask["quote"]): ConnectionError {
  const { status } = error;
  if (status >= 300 && status < 400) {
    const match = /Redirect to (\S+)|try (\S+) as/.exec(error.message);
    const target = match?.[1] ?? match?.[2];
    const where = target ? ` to ${quote(target)}` : "";
    return new ConnectionError(
      "invalid_target",
      `The server redirects${where}. Only redirects within the same origin are followed, so that no credential reaches another server. If that is the right server, use its URL.`,
      { cause: error },
    );
  }
  const text = errorText(error, quote);
  const detail = text === undefined ? "" : `: ${text}`;
  if (status === 401 || status === 403)
    return new ConnectionError(
      "unauthorized",
      `The server answered HTTP ${status}${detail}. Check the credentials of the connection.`,
      { cause: error },
    );
  return new ConnectionError("rejected", `The server answered HTTP ${status}${detail}.`, {
    cause: error,
  });
}

/** The message of a JSON error, or the text itself. */
function errorText({ data }: SdkHttpError, quote: EchoMask["quote"]): string | undefined {
  const text = (data as { text?: unknown }).text;
  if (typeof text !== "string" || text.trim() === "") return undefined;
  try {
    const json: unknown = JSON.parse(text);
    const error = isObject(json) && isObject(json.error) ? json.error : json;
    if (isObject(error))
      for (const name of ["message", "error_description", "detail", "error"])
        if (typeof error[name] === "string") return withoutDot(quote(error[name]));
  } catch {
    // not JSON
  }
  return withoutDot(quote(text));
}

const withoutDot = (text: string): string => text.replace(/\.$/, "");

function sdkError(error: SdkError, quote: EchoMask["quote"]): ConnectionError {
  switch (error.code) {
    case SdkErrorCode.RequestTimeout:
      return new ConnectionError("timeout", "The server did not answer in time.", { cause: error });
    case SdkErrorCode.ConnectionClosed:
    case SdkErrorCode.NotConnected:
      return new ConnectionError("unreachable", "The server closed the connection.", {
        cause: error,
      });
    case SdkErrorCode.ClientHttpUnexpectedContent:
      return invalidResponse(
        `The server's answer has the content type ${quote(contentType(error))} instead of application/json or text/event-stream.`,
        error,
      );
    default: {
      const cause = error.cause;
      return cause instanceof Error
        ? toConnectionError(cause, quote)
        : invalidResponse(
            `The server's answer is not valid MCP: ${withoutDot(quote(error.message))}.`,
            error,
          );
    }
  }
}

const contentType = ({ data }: SdkError): string =>
  String((data as { contentType?: unknown } | undefined)?.contentType ?? "(none)");
