import { MAX_TOKEN_LENGTH } from "./limits.ts";

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
