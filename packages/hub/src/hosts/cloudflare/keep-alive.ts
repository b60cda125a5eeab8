/**
 * Adds a comment to an event stream every 5 seconds. A Worker detects that a client has disconnected only
 * when it writes; then `request.signal` is aborted, and the hub cancels the work of the request.
 */
import { utf8 } from "../../kernel/lib/bytes.ts";

const EVERY_MS = 5_000;
const COMMENT = utf8(": keep-alive\n\n");

export function keepAlive(response: Response, signal: AbortSignal): Response {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  if (!isStream || !response.body) return response;
  let timer: ReturnType<typeof setInterval> | undefined;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>({
    start(controller) {
      // Chunks are whole events, so a comment between them is valid.
      timer = setInterval(() => controller.enqueue(COMMENT), EVERY_MS);
    },
  });
  const stop = () => clearInterval(timer);
  signal.addEventListener("abort", stop);
  response.body.pipeTo(writable, { signal }).then(stop, stop);
  return new Response(readable, response);
}
