/** Node's errors in the words of the outside. Its own messages name addresses: those stay in `cause`. */
import { OutboundError } from "@signalbox/rules/flows/outbound.ts";

interface Failure extends NodeJS.ErrnoException {
  reason?: string;
  errors?: Failure[];
}

export function tlsFailure(error: Failure, url: URL): OutboundError {
  const words = /SSL routines:[^:]*:([^:]+)/.exec(error.message)?.[1];
  return new OutboundError(
    "tls_error",
    `${url.host} made no secure connection: ${words ?? error.reason ?? error.message}. Check that it speaks TLS there, with a certificate that is valid for this name.`,
    { cause: error },
  );
}

export function outboundFailure(error: unknown, url: URL): OutboundError {
  if (error instanceof OutboundError) return error;
  const cause: Failure = error instanceof Error ? error : new Error(String(error));
  // Where several addresses were tried, each failed in its own way.
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
      `${host} could not be reached in time. Check that the receiver is running, and that no firewall is in between.`,
      { cause },
    );
  return new OutboundError(
    "network",
    `${host} gave no complete answer (${cause.code ?? cause.message}). Check that the receiver is well, or try again later.`,
    { cause },
  );
}
