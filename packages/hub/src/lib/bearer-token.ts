import { MAX_TOKEN_LENGTH } from "./limits.ts";

/**
 * The token of an `Authorization: Bearer …` header; undefined if the header has another form. For a
 * token that is too long, it returns an empty string, which matches no token, so that long values do not
 * fill caches.
 */
export function bearerToken(authorization: string | null | undefined): string | undefined {
  const token = /^bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
  return token !== undefined && token.length > MAX_TOKEN_LENGTH ? "" : token;
}
