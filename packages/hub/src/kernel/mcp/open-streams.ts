/**
 * Tracks SSE streams that stay open: whether the client reads, when it disconnects, and whether its token
 * is still valid. Senders write nothing while the client does not read, to limit the memory.
 */
import type { Access, Authorizer } from "../access/authorizer.ts";

export interface OpenStream {
  response: Response;
  /** Returns true until the client has read the last chunk. */
  isFull(): boolean;
}

interface StreamObserver {
  /** Called when the client has read everything. */
  onDrain(): void;
  /** Called once, when either side has ended the stream. */
  onEnd(): void;
}

interface StreamOptions extends StreamObserver {
  request: Request;
  access: Access;
  /** Ends the stream; called when the token is no longer valid, or the hub stops. */
  end(): void;
}

export interface OpenStreams {
  /** The client must get the returned response instead of `response`. */
  track(response: Response, options: StreamOptions): OpenStream;
  close(): void;
}

export function createOpenStreams(authorizer: Pick<Authorizer, "watch">): OpenStreams {
  /** Functions that end the open streams. */
  const ends = new Set<() => void>();
  return {
    track(response, { request, access, end, onDrain, onEnd }) {
      ends.add(end);
      const stopWatching = authorizer.watch(access, end);
      return observeStream(response, request.signal, {
        onDrain,
        onEnd() {
          ends.delete(end);
          stopWatching();
          onEnd();
        },
      });
    },
    close() {
      for (const end of ends) end();
    },
  };
}

/** Reads `body` last: on Node, its getter creates a `Response` that only streams need. */
export const isStream = (response: Response): boolean =>
  (response.headers.get("content-type") ?? "").startsWith("text/event-stream") &&
  response.body !== null;

/** Passes the response through, and reports its reads and its end. */
export function observeStream(
  response: Response,
  signal: AbortSignal,
  { onDrain, onEnd }: StreamObserver,
): OpenStream {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let isFull = false;
  let hasEnded = false;
  const end = () => {
    if (hasEnded) return;
    hasEnded = true;
    signal.removeEventListener("abort", disconnect);
    onEnd();
  };
  // A client that disconnects before it gets the response does not cancel its body.
  const disconnect = () => {
    end();
    reader.cancel().catch(() => {});
  };
  if (signal.aborted) queueMicrotask(disconnect);
  else signal.addEventListener("abort", disconnect);
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        isFull = false;
        onDrain();
        try {
          const { done, value } = await reader.read();
          if (done) {
            end();
            return controller.close();
          }
          isFull = true;
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
  return { response: new Response(body, { status, headers }), isFull: () => isFull };
}
