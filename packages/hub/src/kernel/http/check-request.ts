/** Checks the method and the headers of a webhook request, before its body is read. */

import type { IncomingRequest } from "../../events/admit/incoming-request.ts";
import { secretVariable } from "../../events/admit/secret-variable.ts";
import type { SourceDefinition } from "../../events/admit/source.ts";
import { isLoopback } from "./addresses.ts";
import { mediaType } from "./decode.ts";
import { type IngestOutcome, type Rejection, rejection } from "./ingest-outcome.ts";

type GetHeader = (name: string) => string | undefined;

export function checkMethod(
  { method }: IncomingRequest,
  source: SourceDefinition,
  header: GetHeader,
): IngestOutcome | undefined {
  if (method === "POST") return undefined;
  if (method === "OPTIONS" && source.handshake) return source.handshake(header);
  const allow = source.handshake ? "POST, OPTIONS" : "POST";
  return rejection("method_not_allowed", `Send webhooks with POST, not ${method}.`, { allow });
}

export function checkContentType(
  source: SourceDefinition,
  header: GetHeader,
): Rejection | undefined {
  const badEncoding = checkContentEncoding(header);
  if (badEncoding) return badEncoding;
  const contentType = header("content-type");
  return source.accepts(mediaType(contentType ?? ""))
    ? undefined
    : rejection(
        "unsupported_media_type",
        `${source.title} sends ${source.acceptedTypes}, but the content type is ${contentType ? `"${contentType.slice(0, 100)}"` : "missing"}.`,
      );
}

export function checkContentEncoding(header: GetHeader): Rejection | undefined {
  const encoding = header("content-encoding");
  return encoding && encoding.toLowerCase() !== "identity"
    ? rejection(
        "unsupported_media_type",
        `The body is encoded as "${encoding.slice(0, 100)}"; send it without Content-Encoding.`,
      )
    : undefined;
}

/** Decides whether an endpoint without a secret accepts the request. */
export function checkUnsigned(
  request: IncomingRequest,
  source: SourceDefinition,
  allowUnsigned: boolean,
): Rejection | undefined {
  if (!allowUnsigned)
    return rejection(
      "no_secret",
      `No secret is configured for ${source.title}, so its webhooks cannot be verified. Set ${secretVariable(source.id)}, or add an endpoint with \`npx signalbox source add ${source.id}\`.`,
    );
  const evidence = evidenceOfRemoteOrigin(request);
  if (evidence === undefined) return undefined;
  return rejection(
    "browser_origin",
    `Without a secret this hub accepts webhooks only from programs on this machine, but ${evidence}. Set ${secretVariable(source.id)} here and at the sender.`,
  );
}

/**
 * Headers that a tunnel or proxy adds when it forwards a request, which may come from another
 * machine.
 */
export const PROXY_HEADERS = ["x-forwarded-for", "x-forwarded-host", "forwarded"];

/**
 * Returns the evidence that the request comes from a browser or may come from another machine, as a
 * clause for the error message; undefined if there is none. Without this check, any page in a
 * browser on this machine could send webhooks: to the hub's address, or to a host name that resolves
 * to it (DNS rebinding).
 */
export function evidenceOfRemoteOrigin({
  header,
}: Pick<IncomingRequest, "header">): string | undefined {
  if (header("origin").length > 0) return "this one comes from a page in a browser (Origin)";
  if (header("sec-fetch-site").some((site) => site !== "none" && site !== "same-origin"))
    return "this one comes from a page in a browser (Sec-Fetch-Site)";
  const proxied = PROXY_HEADERS.find((name) => header(name).length > 0);
  if (proxied) return `this one comes through a tunnel or proxy (${proxied})`;
  const hosts = header("host");
  if (hosts.length === 0 || !hosts.every(isLoopbackHost))
    return "this one is not addressed to localhost, 127.0.0.1 or [::1] (Host)";
  return undefined;
}

const isLoopbackHost = (host: string): boolean =>
  isLoopback(/^(\[[^\]]*\]|[^:@]*)(?::\d+)?$/.exec(host.toLowerCase())?.[1] ?? "");
