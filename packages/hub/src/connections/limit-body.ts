/**
 * Limits the size of a response body while it streams. `onBytes` is called with the size of each
 * chunk. `tooLarge` makes the error of the stream, and runs once.
 */
export function limitBody(
  response: Response,
  limit: number,
  { onBytes, tooLarge }: { onBytes(bytes: number): void; tooLarge(): Error },
): Response {
  const { body, status, statusText, headers } = response;
  if (!body) return response;
  const length = Number(headers.get("content-length") ?? Number.NaN);
  if (length <= limit) {
    onBytes(length);
    return response;
  }
  const limited =
    length > limit ? failed(body, tooLarge()) : counted(body, limit, onBytes, tooLarge);
  return new Response(limited, { status, statusText, headers });
}

function failed(body: ReadableStream<Uint8Array>, error: Error): ReadableStream<Uint8Array> {
  body.cancel(error).catch(() => {});
  return new ReadableStream({ start: (controller) => controller.error(error) });
}

function counted(
  body: ReadableStream<Uint8Array>,
  limit: number,
  onBytes: (bytes: number) => void,
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
        onBytes(value.byteLength);
        if (size <= limit) return controller.enqueue(value);
        const error = tooLarge();
        reader.cancel(error).catch(() => {});
        controller.error(error);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
