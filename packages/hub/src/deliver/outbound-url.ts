import { OutboundError } from "@signalbox/rules/flows/outbound.ts";

/** What may be called at all, before anybody is asked for an address. */
export function parseOutboundUrl(text: string, { allowHttp = false, base = "" } = {}): URL {
  const url = base === "" ? URL.parse(text) : URL.parse(text, base);
  const refuse = (message: string) => new OutboundError("invalid_url", message);
  if (!url)
    throw refuse("The URL is not valid. Write it in full, such as https://example.com/hook.");
  if (url.protocol !== "https:" && !(allowHttp && url.protocol === "http:"))
    throw refuse(
      `The URL starts with ${url.protocol}, which is not called from here. Use ${allowHttp ? "http: or " : ""}https:.`,
    );
  // Not repeated in the message, which others may read.
  if (url.username !== "" || url.password !== "")
    throw refuse(
      `The URL for ${url.host} holds a user name or a password. Send them in an Authorization header instead.`,
    );
  return url;
}
