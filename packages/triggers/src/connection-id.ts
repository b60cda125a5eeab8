/**
 * The id of the connection that calls a tool is the claim `connectionId`, or `metadata.connectionId`,
 * of the JWT in the header `x-mesh-token`. The token is decoded, but not verified: authenticate
 * requests before they reach the server, for example in a proxy.
 */
import { isObject } from "./json.ts";

const HEADER = "x-mesh-token";

/**
 * The last argument of a tool's callback. It has only the fields that identify the client, of versions
 * 1 and 2 of the MCP SDK.
 */
export interface ToolContext {
  /** Version 2. */
  http?: { req?: Request; authInfo?: AuthInfo };
  /** Version 1. */
  requestInfo?: { headers: Record<string, string | string[] | undefined> };
  /** Version 1. */
  authInfo?: AuthInfo;
}

interface AuthInfo {
  token: string;
  clientId: string;
  scopes: string[];
  extra?: Record<string, unknown>;
}

export function connectionIdOf(context: unknown): string | undefined {
  const token = readToken(context);
  const claims = token === undefined ? undefined : decodeClaims(token);
  if (!claims) return undefined;
  const { connectionId, metadata } = claims;
  return (
    nonEmptyString(connectionId) ??
    (isObject(metadata) ? nonEmptyString(metadata.connectionId) : undefined)
  );
}

const nonEmptyString = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

function readToken(context: unknown): string | undefined {
  if (!isObject(context)) return undefined;
  const { http, requestInfo } = context;
  if (isObject(http) && isObject(http.req)) return readHeader(http.req.headers);
  return isObject(requestInfo) ? readHeader(requestInfo.headers) : undefined;
}

function readHeader(headers: unknown): string | undefined {
  if (headers instanceof Headers) return headers.get(HEADER) ?? undefined;
  if (!isObject(headers)) return undefined;
  const value = headers[HEADER];
  return nonEmptyString(Array.isArray(value) ? value[0] : value);
}

function decodeClaims(token: string): Record<string, unknown> | undefined {
  const payload = token.split(".")[1];
  if (payload === undefined) return undefined;
  try {
    const binary = atob(payload.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(claims) ? claims : undefined;
  } catch {
    return undefined;
  }
}
