/**
 * Limits the size of a response body while it streams. If the body is too large, the stream fails with
 * the error that `tooLarge` returns. `onChunk` is called with each chunk; if it returns an error, the
 * stream fails with that error.
 */
export function limitBody(
  response: Response,
  limit: number,
  { onChunk, tooLarge }: { onChunk(chunk: Uint8Array): Error | undefined; tooLarge(): Error },
): Response {
  const { body, status, statusText, headers } = response;
  if (!body) return response;
  const length = Number(headers.get("content-length") ?? Number.NaN);
  const limited =
    length > limit ? failingStream(body, tooLarge()) : limitStream(body, limit, onChunk, tooLarge);
  return new Response(limited, { status, statusText, headers });
}

function failingStream(body: ReadableStream<Uint8Array>, error: Error): ReadableStream<Uint8Array> {
  body.cancel(error).catch(() => {});
  return new ReadableStream({ start: (controller) => controller.error(error) });
}

function limitStream(
  body: ReadableStream<Uint8Array>,
  limit: number,
  onChunk: (chunk: Uint8Array) => Error | undefined,
  tooLarge: () => Error,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let size = 0;
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        size += value.byteLength;
        const error = size > limit ? tooLarge() : onChunk(value);
        if (!error) return controller.enqueue(value);
        reader.cancel(error).catch(() => {});
        controller.error(error);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
