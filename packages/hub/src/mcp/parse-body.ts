/** What the SDK reads of a body at the most. */
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * The body of a call, parsed: left to itself the SDK copies the request first, which takes longer
 * than all the rest of a small call. What has no plain length, is large or is no JSON is the SDK's
 * to read, and to refuse in its own words.
 */
export async function parseBody(
  request: Request,
): Promise<{ request: Request; parsedBody?: unknown }> {
  const { headers, method, url, signal } = request;
  const length = Number(headers.get("content-length") ?? 0);
  // Only the later era names the method in a header; of the others' bodies sessions have a look.
  if (!headers.has("mcp-method") || !(length > 0 && length <= MOST_BYTES)) return { request };
  const text = await request.text();
  try {
    return { request, parsedBody: JSON.parse(text) };
  } catch {
    return { request: new Request(url, { method, headers, signal, body: text }) };
  }
}
