import { OutboundError } from "@signalbox/rules/flows/outbound.ts";

/** Parses and checks a URL before its host is resolved. Throws an `OutboundError`. */
export function parseOutboundUrl(text: string, { allowHttp = false, base = "" } = {}): URL {
  const url = base === "" ? URL.parse(text) : URL.parse(text, base);
  const invalidUrl = (message: string) => new OutboundError("invalid_url", message);
  if (!url)
    throw invalidUrl("The URL is not valid. Write it in full, such as https://example.com/hook.");
  if (url.protocol !== "https:" && !(allowHttp && url.protocol === "http:"))
    throw invalidUrl(
      `The URL has the protocol ${url.protocol}, which is not allowed. Use ${allowHttp ? "http: or " : ""}https:.`,
    );
  // The message does not repeat the credentials: it may be logged or shown to others.
  if (url.username !== "" || url.password !== "")
    throw invalidUrl(
      `The URL for ${url.host} contains a user name or a password. Send them in an Authorization header instead.`,
    );
  return url;
}
