/**
 * Streams that stay open: whether a reader keeps up, when it has left, and whether its token is still
 * good. A reader that has stopped reading is told nothing until it goes on, so it costs no memory.
 */
import type { Access, Authorizer } from "../tenants/authorizer.ts";

interface Held {
  request: Request;
  access: Access;
  end(): void;
}

export interface HeldStream {
  response: Response;
  /** What was written last has not been read yet. */
  isFull(): boolean;
}

export interface OpenStreams {
  /** Keeps an eye on the stream of `response`; `end` is called when its token is no longer good. */
  hold(response: Response, held: Held & Observer): HeldStream;
  close(): void;
}

interface Observer {
  /** There is room again. */
  onDrain(): void;
  /** Called once, whoever ended it. */
  onEnd(): void;
}

export function createOpenStreams(authorizer: Pick<Authorizer, "watch">): OpenStreams {
  const open = new Set<() => void>();
  return {
    hold(response, { request, access, end, onDrain, onEnd }) {
      open.add(end);
      const stopWatching = authorizer.watch(access, end);
      return observe(response, request.signal, {
        onDrain,
        onEnd() {
          open.delete(end);
          stopWatching();
          onEnd();
        },
      });
    },
    close() {
      for (const end of open) end();
    },
  };
}

export const isStream = (response: Response): boolean =>
  response.body !== null &&
  (response.headers.get("content-type") ?? "").startsWith("text/event-stream");

/** The same response, looked at on its way out. */
export function observe(
  response: Response,
  signal: AbortSignal,
  { onDrain, onEnd }: Observer,
): HeldStream {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let full = false;
  let ended = false;
  const end = () => {
    if (ended) return;
    ended = true;
    signal.removeEventListener("abort", leave);
    onEnd();
  };
  // Who leaves before the answer is there never cancels it.
  const leave = () => {
    end();
    reader.cancel().catch(() => {});
  };
  if (signal.aborted) queueMicrotask(leave);
  else signal.addEventListener("abort", leave);
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        full = false;
        onDrain();
        try {
          const { done, value } = await reader.read();
          if (done) {
            end();
            return controller.close();
          }
          full = true;
          controller.enqueue(value);
        } catch (error) {
          end();
          controller.error(error);
        }
      },
      cancel(reason) {
        end();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  const { status, headers } = response;
  return { response: new Response(body, { status, headers }), isFull: () => full };
}
