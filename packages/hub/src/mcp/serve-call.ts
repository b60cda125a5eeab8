import type { McpHttpHandler } from "@modelcontextprotocol/server";
import { type RequestContext, toAuthInfo } from "./request-context.ts";

/** What the SDK reads of a body at the most. */
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * A single call, with its body parsed here: left to itself the SDK copies the request first, which
 * takes longer than all the rest of a small call. What has no plain length, is large or is no JSON
 * is the SDK's to read, and to refuse in its own words.
 */
export async function serveCall(
  handler: McpHttpHandler,
  request: Request,
  requestContext: RequestContext,
): Promise<Response> {
  const { headers, method, url, signal } = request;
  const authInfo = toAuthInfo(requestContext);
  const length = Number(headers.get("content-length") ?? 0);
  // Only the later era names the method in a header; into the others' bodies sessions have looked.
  if (!headers.has("mcp-method") || !(length > 0 && length <= MOST_BYTES))
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
