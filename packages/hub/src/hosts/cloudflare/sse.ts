/** Serves `GET /events` and `GET /api/live` as Server-Sent Events in the body of a `Response`. */
import { isAnswer, type LiveStreams, liveUnavailable } from "../../events/live/live-streams.ts";
import { sseEncoder } from "../../events/live/message-encoder.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { toLiveRequest } from "./live-request.ts";

const BUFFER_BYTES = 64 * 1024;

export async function serveSse(
  streams: LiveStreams,
  request: Request,
  onError: (error: unknown) => void,
): Promise<Response> {
  const subscription = await streams.authorize(toLiveRequest(request));
  const respond = ({ status, headers, body }: ReturnType<typeof liveUnavailable>) =>
    new Response(body, { status, headers });
  if (isAnswer(subscription)) return respond(subscription);
  let onDrain = () => {};
  let onClose = () => {};
  let isClosed = false;
  const end = () => {
    if (isClosed) return;
    isClosed = true;
    onClose();
  };
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start(streamController) {
        controller = streamController;
      },
      pull: () => onDrain(),
      cancel: end,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: BUFFER_BYTES }),
  );
  const send = (text: string) => {
    if (!isClosed) controller?.enqueue(utf8(text));
  };
  try {
    await streams.follow(subscription, {
      encoder: sseEncoder,
      send,
      isFull: () => isClosed || (controller?.desiredSize ?? 0) <= 0,
      onDrain(listener) {
        onDrain = listener;
      },
      onClose(listener) {
        onClose = listener;
      },
      close(code, reason) {
        if (isClosed) return;
        send(`event: closed\ndata: ${JSON.stringify({ code, reason })}\n\n`);
        controller?.close();
        end();
      },
    });
  } catch (error) {
    onError(error);
    end();
    return respond(liveUnavailable());
  }
  return new Response(body, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
  });
}
