/** Finds the token of a request, in its headers or its URL. */
import { MAX_TOKEN_LENGTH } from "../lib/limits.ts";

/** The detail of the response to a token above the maximum length. */
export const TOKEN_TOO_LONG = `The token exceeds the limit of ${MAX_TOKEN_LENGTH} characters.`;

/**
 * Returns the token of an `Authorization: Bearer …` header, or undefined if the header has another
 * form. A token above the maximum length is replaced with an empty string, which no valid token equals.
 * Otherwise long tokens could fill the caches whose keys are tokens.
 */
export function bearerToken(authorization: string | null | undefined): string | undefined {
  const token = /^bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
  return token !== undefined && token.length > MAX_TOKEN_LENGTH ? "" : token;
}

/**
 * Separates `?token=…` from the URL of a live stream. Clients that cannot set headers, such as a
 * browser's EventSource, send their token in the URL. The rest of the hub gets the URL without the token,
 * so that no error and no log line can contain it.
 */
export function separateQueryToken(url: string): { url: string; token: string | undefined } {
  const queryStart = url.indexOf("?");
  if (queryStart === -1) return { url, token: undefined };
  const query = new URLSearchParams(url.slice(queryStart));
  const token = query.get("token");
  if (token === null) return { url, token: undefined };
  query.delete("token");
  return { url: `${url.slice(0, queryStart)}?${query}`, token: token || undefined };
}
