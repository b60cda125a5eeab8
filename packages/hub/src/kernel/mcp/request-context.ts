/** The context of an HTTP request for its handler. It passes through the SDK as `authInfo`. */
import type { AuthInfo, McpHttpHandler, ServerContext } from "@modelcontextprotocol/server";
import type { Json } from "@signalbox/rules/json.ts";
import type { Access } from "../access/authorizer.ts";
import type { ReserveBytes } from "../http/byte-budgets.ts";
import type { Batch } from "./batch.ts";

export interface RequestContext {
  access: Access;
  reserveBytes: ReserveBytes;
  /** The app whose server handles the request; undefined for the inbox. */
  app?: { slug: string };
  /** The tools that the URL selects; all if undefined. */
  toolset?: "inbox" | undefined;
  /** The body of a POST; undefined if it is not JSON (read-call.ts). */
  body?: Json | undefined;
  /** Set if the HTTP request contains a JSON-RPC batch. */
  batch?: Batch | undefined;
}

export const toAuthInfo = ({ body: _, ...requestContext }: RequestContext): AuthInfo => ({
  token: requestContext.access.token,
  clientId: requestContext.access.token,
  scopes: [...requestContext.access.scopes],
  extra: requestContext,
});

/** Every request has its own context, even within a session. */
export const requestContextOf = ({ http }: Pick<ServerContext, "http">): RequestContext =>
  http?.authInfo?.extra as unknown as RequestContext;

const isSameSet = (left: readonly string[], right: readonly string[]): boolean =>
  left.length === right.length && left.every((item) => right.includes(item));

/** Returns whether both have the same token, scopes and tenants. */
export const isSameAccess = (left: Access, right: Access): boolean =>
  left.token === right.token &&
  isSameSet(left.tenants, right.tenants) &&
  isSameSet(left.scopes, right.scopes);

/** Serves a request without a session. */
export const serveCall = (
  handler: McpHttpHandler,
  request: Request,
  requestContext: RequestContext,
): Promise<Response> =>
  handler.fetch(request, {
    authInfo: toAuthInfo(requestContext),
    ...(requestContext.body !== undefined && { parsedBody: requestContext.body }),
  });
