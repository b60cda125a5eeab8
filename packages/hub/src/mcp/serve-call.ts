import type { McpHttpHandler } from "@modelcontextprotocol/server";
import { type RequestContext, toAuthInfo } from "./request-context.ts";

/** The SDK's limit for a body. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Serves a single call, and parses its body here: the SDK would clone the request first, which takes
 * longer than the rest of a small call. A body without a length, above the limit or without valid
 * JSON is left to the SDK, which rejects it.
 */
export async function serveCall(
  handler: McpHttpHandler,
  request: Request,
  requestContext: RequestContext,
): Promise<Response> {
  const { headers, method, url, signal } = request;
  const authInfo = toAuthInfo(requestContext);
  const length = Number(headers.get("content-length") ?? 0);
  // Only the 2026-07-28 protocol has this header; `sessions` has read the bodies of earlier ones.
  if (!headers.has("mcp-method") || !(length > 0 && length <= MAX_BYTES))
    return handler.fetch(request, { authInfo });
  const text = await request.text();
  let parsedBody: unknown;
  try {
    parsedBody = JSON.parse(text);
  } catch {
    const again = new Request(url, { method, headers, signal, body: text });
    return handler.fetch(again, { authInfo });
  }
  return handler.fetch(request, { authInfo, parsedBody });
}
