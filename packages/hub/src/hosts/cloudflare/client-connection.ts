/** Keeps the connection of a client usable after its request, and notices when it has disconnected. */
import { utf8 } from "../../kernel/lib/bytes.ts";

const MAX_DRAINED_BYTES = 1024 * 1024;
const MAX_DRAIN_MS = 5_000;

/**
 * Reads the rest of a request body, for example after a rejection. If a body stays unread, workerd closes
 * the connection after the response, and the next request of a client with keep-alive fails. A large or
 * slow body is cancelled.
 */
export async function drainBody({ body, bodyUsed }: Request): Promise<void> {
  if (!body || bodyUsed || body.locked) return;
  const reader = body.getReader();
  const cancel = () => reader.cancel().catch(() => {});
  const timer = setTimeout(cancel, MAX_DRAIN_MS);
  try {
    for (let bytes = 0; bytes <= MAX_DRAINED_BYTES; ) {
      const { done, value } = await reader.read();
      if (done) return;
      bytes += value.byteLength;
    }
    await cancel();
  } catch {
    // The client has disconnected.
  } finally {
    clearTimeout(timer);
  }
}

const KEEP_ALIVE_MS = 5_000;
const COMMENT = utf8(": keep-alive\n\n");

/**
 * Adds a comment to an event stream every 5 seconds. A Worker detects that a client has disconnected only
 * when it writes; then `request.signal` is aborted, and the hub cancels the work of the request.
 */
export function keepAlive(response: Response, signal: AbortSignal): Response {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  if (!isStream || !response.body) return response;
  let timer: ReturnType<typeof setInterval> | undefined;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>({
    start(controller) {
      // Chunks are whole events, so a comment between them is valid.
      timer = setInterval(() => controller.enqueue(COMMENT), KEEP_ALIVE_MS);
    },
  });
  const stop = () => clearInterval(timer);
  signal.addEventListener("abort", stop);
  response.body.pipeTo(writable, { signal }).then(stop, stop);
  return new Response(readable, response);
}
