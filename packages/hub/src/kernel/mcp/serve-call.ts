import type { McpHttpHandler } from "@modelcontextprotocol/server";
import { type RequestContext, toAuthInfo } from "./request-context.ts";

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
