/**
 * The connection that calls a tool: the claim `connectionId` of the JWT in the header `x-mesh-token`.
 * The token is decoded, not verified: authenticate requests before they reach the server, for example
 * in a proxy.
 */
import { isObject } from "./json.ts";

const HEADER = "x-mesh-token";

/**
 * The last argument of a tool's callback. Only the fields that identify the client, in SDK versions 1
 * and 2.
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
  const token = headerOf(context);
  const claims = token === undefined ? undefined : claimsOf(token);
  if (!claims) return undefined;
  const { connectionId, metadata } = claims;
  return text(connectionId) ?? (isObject(metadata) ? text(metadata.connectionId) : undefined);
}

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

function headerOf(context: unknown): string | undefined {
  if (!isObject(context)) return undefined;
  const { http, requestInfo } = context;
  if (isObject(http) && isObject(http.req)) return read(http.req.headers);
  return isObject(requestInfo) ? read(requestInfo.headers) : undefined;
}

function read(headers: unknown): string | undefined {
  if (headers instanceof Headers) return headers.get(HEADER) ?? undefined;
  if (!isObject(headers)) return undefined;
  const found = headers[HEADER];
  return text(Array.isArray(found) ? found[0] : found);
}

function claimsOf(token: string): Record<string, unknown> | undefined {
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
