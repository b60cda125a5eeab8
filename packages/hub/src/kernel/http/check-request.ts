/** Checks the headers of a request: where it comes from, and how its body is encoded. */
import { isLoopback } from "./addresses.ts";
import { type Rejection, rejection } from "./ingest-outcome.ts";

type GetHeader = (name: string) => string | undefined;

export function checkContentEncoding(header: GetHeader): Rejection | undefined {
  const encoding = header("content-encoding");
  return encoding && encoding.toLowerCase() !== "identity"
    ? rejection(
        "unsupported_media_type",
        `The body is encoded as "${encoding.slice(0, 100)}"; send it without Content-Encoding.`,
      )
    : undefined;
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
}: {
  /** All values of a header. */
  header(name: string): readonly string[];
}): string | undefined {
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
