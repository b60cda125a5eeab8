/**
 * Maps Node's errors to `OutboundError`. The messages of Node's system errors contain addresses, so users
 * see only the code of such an error; its message is in `cause`.
 */
import { OutboundError } from "@signalbox/rules/flows/outbound.ts";

interface SystemError extends NodeJS.ErrnoException {
  reason?: string;
  errors?: SystemError[];
}

export function tlsFailure(error: SystemError, url: URL): OutboundError {
  const reason = /SSL routines:[^:]*:([^:]+)/.exec(error.message)?.[1];
  return new OutboundError(
    "tls_error",
    `${url.host} failed the TLS handshake: ${reason ?? error.reason ?? error.message}. Check that it supports TLS on this port, with a certificate that is valid for this name.`,
    { cause: error },
  );
}

export function outboundFailure(error: unknown, url: URL): OutboundError {
  if (error instanceof OutboundError) return error;
  const cause: SystemError = error instanceof Error ? error : new Error(String(error));
  // An AggregateError has one error for each address that was tried.
  const codes = (cause.errors ?? [cause]).map(({ code }) => code);
  const { host, hostname, port, protocol } = url;

  if (cause.code?.match(/^ERR_(SSL|TLS)_/)) return tlsFailure(cause, url);
  if (codes.includes("ECONNREFUSED"))
    return new OutboundError(
      "connection_refused",
      `${hostname} refuses connections on port ${port || (protocol === "https:" ? 443 : 80)}. Check the port, and that the receiver is running.`,
      { cause },
    );
  if (codes.includes("ETIMEDOUT"))
    return new OutboundError(
      "timeout",
      `${host} could not be reached in time. Check that the receiver is running, and that no firewall blocks the connection.`,
      { cause },
    );
  return new OutboundError(
    "network",
    `${host} sent no complete response (${cause.code ?? cause.message}). Check the receiver, or try again later.`,
    { cause },
  );
}
