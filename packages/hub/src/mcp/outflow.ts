/**
 * How much of an answer has not left yet. The SDK's transports put every message into a stream
 * without asking whether anybody reads it; whoever sends many looks here first.
 */
import type { Access } from "../tenants/authorizer.ts";

export interface Outflow {
  /** True while more waits to be read than one connection may hold. */
  isFull(): boolean;
  /** Told when there is room again. */
  onRoom(room: () => void): void;
  /** Told when the client is gone; at once where it is already. */
  onGone(gone: () => void): void;
  /** A message of so many bytes goes into the answer. */
  sent(bytes: number): void;
  /** Ends the connection, with whatever was not read. */
  hangUp(): void;
  /** A stream of messages, counted as it leaves. */
  through(response: Response): Response;
}

const outflows = new WeakMap<Access, Outflow>();

/** Of the request that this access came with; each one has an access of its own. */
export function outflowOf(access: Access): Outflow {
  const outflow = outflows.get(access) ?? createOutflow();
  outflows.set(access, outflow);
  return outflow;
}

/** The answer on its way out: counted, where it is a stream of messages. */
export const letOut = (access: Access, response: Response): Response =>
  response.headers.get("content-type")?.startsWith("text/event-stream")
    ? outflowOf(access).through(response)
    : response;

const MOST_BYTES = 512 * 1024;
const COLON = 0x3a;

function createOutflow(): Outflow {
  /** Of the messages that nobody has read, in order. */
  const sizes: number[] = [];
  const rooms = new Set<() => void>();
  const ends = new Set<() => void>();
  let unread = 0;
  let gone = false;
  let hangUp = () => {};

  const end = () => {
    gone = true;
    for (const tell of ends) tell();
  };
  const left = (chunk: Uint8Array) => {
    if (chunk[0] === COLON) return; // a comment that keeps the connection alive
    unread -= sizes.shift() ?? 0;
    if (unread < MOST_BYTES) for (const tell of rooms) tell();
  };

  return {
    isFull: () => unread >= MOST_BYTES,
    onRoom: (room) => void rooms.add(room),
    onGone(tell) {
      ends.add(tell);
      if (gone) tell();
    },
    sent(bytes) {
      sizes.push(bytes);
      unread += bytes;
    },
    hangUp: () => hangUp(),
    through(response) {
      const reader = response.body?.getReader();
      if (!reader) return response;
      const body = new ReadableStream<Uint8Array>(
        {
          start(controller) {
            hangUp = () => {
              if (gone) return;
              end();
              controller.error(new Error("The client does not read."));
              reader.cancel().catch(() => {});
            };
          },
          // Each message is one chunk: only what is asked for is taken from the SDK's stream.
          async pull(controller) {
            const { done, value } = await reader.read();
            if (gone) return;
            if (done) {
              end();
              return controller.close();
            }
            left(value);
            controller.enqueue(value);
          },
          async cancel(reason) {
            end();
            await reader.cancel(reason);
          },
        },
        { highWaterMark: 0 },
      );
      return new Response(body, response);
    },
  };
}
