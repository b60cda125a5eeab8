import type { McpHttpHandler } from "@modelcontextprotocol/server";
import { type RequestContext, toAuthInfo } from "./request-context.ts";

/** The SDK's limit for a body. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Serves a request without a session. It parses the body of 2026-07-28 requests, because the SDK would
 * clone the request first, which takes longer than the rest of a small call. The SDK handles a body
 * without a length, above the limit or with invalid JSON.
 */
export async function serveCall(
  handler: McpHttpHandler,
  request: Request,
  requestContext: RequestContext,
): Promise<Response> {
  const { headers, method, url, signal } = request;
  const authInfo = toAuthInfo(requestContext);
  const length = Number(headers.get("content-length") ?? 0);
  // Only 2026-07-28 requests have this header.
  if (!headers.has("mcp-method") || !(length > 0 && length <= MAX_BYTES))
    return handler.fetch(request, { authInfo });
  const text = await request.text();
  let parsedBody: unknown;
  try {
    parsedBody = JSON.parse(text);
  } catch {
    const copy = new Request(url, { method, headers, signal, body: text });
    return handler.fetch(copy, { authInfo });
  }
  return handler.fetch(request, { authInfo, parsedBody });
}
