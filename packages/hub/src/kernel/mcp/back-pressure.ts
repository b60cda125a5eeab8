/**
 * Counts the bytes of a response that the client has not read yet. The SDK's transports enqueue every
 * message whether the client reads or not, so a sender of many messages must check `isFull` first.
 */
import type { Access } from "../access/authorizer.ts";
import { isStream } from "./open-streams.ts";

export interface BackPressure {
  /** Returns whether the unread bytes have reached the limit of one connection. */
  isFull(): boolean;
  /** Calls back whenever a read leaves the unread bytes below the limit. */
  onDrain(drained: () => void): void;
  /** Calls back when the response has ended; immediately if it already has. */
  onClose(closed: () => void): void;
  /** Must be called for every sent message, with its size in bytes. */
  addUnread(bytes: number): void;
  /** Closes the connection and drops the unread bytes. */
  abort(): void;
  /** Wraps an SSE response, to count the messages that the client reads. */
  track(response: Response): Response;
}

const backPressures = new WeakMap<Access, BackPressure>();

/** The back-pressure of one request: every request is authorized with its own `Access` object. */
export function backPressureOf(access: Access): BackPressure {
  const backPressure = backPressures.get(access) ?? createBackPressure();
  backPressures.set(access, backPressure);
  return backPressure;
}

/** Tracks the response if it is an SSE stream. */
export const trackUnreadBytes = (access: Access, response: Response): Response =>
  isStream(response) ? backPressureOf(access).track(response) : response;

const MAX_UNREAD_BYTES = 512 * 1024;
const COLON = 0x3a;

function createBackPressure(): BackPressure {
  /** The sizes of the unread messages, in order. */
  const sizes: number[] = [];
  const onDrain = new Set<() => void>();
  const onClose = new Set<() => void>();
  let unreadBytes = 0;
  let isClosed = false;
  let abort = () => {};

  const close = () => {
    isClosed = true;
    for (const closed of onClose) closed();
  };
  const countRead = (chunk: Uint8Array) => {
    if (chunk[0] === COLON) return; // a keep-alive comment
    unreadBytes -= sizes.shift() ?? 0;
    if (unreadBytes < MAX_UNREAD_BYTES) for (const drained of onDrain) drained();
  };

  return {
    isFull: () => unreadBytes >= MAX_UNREAD_BYTES,
    onDrain: (drained) => void onDrain.add(drained),
    onClose(closed) {
      onClose.add(closed);
      if (isClosed) closed();
    },
    addUnread(bytes) {
      sizes.push(bytes);
      unreadBytes += bytes;
    },
    abort: () => abort(),
    track(response) {
      const reader = response.body?.getReader();
      if (!reader) return response;
      const body = new ReadableStream<Uint8Array>(
        {
          start(controller) {
            abort = () => {
              if (isClosed) return;
              close();
              controller.error(new Error("The client does not read."));
              reader.cancel().catch(() => {});
            };
          },
          // Each message is one chunk, which is read from the SDK's stream only when the client reads.
          async pull(controller) {
            const { done, value } = await reader.read();
            if (isClosed) return;
            if (done) {
              close();
              return controller.close();
            }
            countRead(value);
            controller.enqueue(value);
          },
          async cancel(reason) {
            close();
            await reader.cancel(reason);
          },
        },
        { highWaterMark: 0 },
      );
      return new Response(body, response);
    },
  };
}
