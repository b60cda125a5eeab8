const MAX_BYTES = 1024 * 1024;
const MAX_MS = 5_000;

/**
 * Reads the rest of a request body, for example after a rejection. If a body stays unread, workerd closes
 * the connection after the response, and the next request of a client with keep-alive fails. A large or
 * slow body is cancelled.
 */
export async function drainBody({ body, bodyUsed }: Request): Promise<void> {
  if (!body || bodyUsed || body.locked) return;
  const reader = body.getReader();
  const cancel = () => reader.cancel().catch(() => {});
  const timer = setTimeout(cancel, MAX_MS);
  try {
    for (let bytes = 0; bytes <= MAX_BYTES; ) {
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
