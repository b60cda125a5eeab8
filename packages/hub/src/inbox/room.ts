/**
 * Bounds what the hub holds for clients that have not read it yet: each token has room for so many
 * bytes of payloads, from when they are read until the answer has left. Who asks for more waits a
 * little; a client that never reads gets no further, and costs only its own token.
 */
import { RequestError } from "../lib/request-error.ts";

/** Waits until so many bytes may be held for whoever asks. */
export type MakeRoom = (bytes: number) => Promise<void>;

export interface RoomOptions {
  bytes: number;
  waitMs: number;
}

interface Holding {
  bytes: number;
  /** In the order in which they came. */
  waiting: Set<() => void>;
}

export function createRoom({ bytes: most, waitMs }: RoomOptions) {
  const holdings = new Map<string, Holding>();

  /** `left` settles when the answer has left, or nobody waits for it any more. */
  return (token: string, bytes: number, left: Promise<unknown>): Promise<void> => {
    const holding = holdings.get(token) ?? { bytes: 0, waiting: new Set() };
    holdings.set(token, holding);
    const { promise, resolve, reject } = Promise.withResolvers<void>();

    const enter = () => {
      // One that is larger than all the room may still go alone.
      if (holding.bytes > 0 && holding.bytes + bytes > most) return false;
      holding.bytes += bytes;
      void left.then(leave);
      resolve();
      return true;
    };
    const leave = () => {
      holding.bytes -= bytes;
      for (const look of [...holding.waiting]) look();
      if (holding.bytes === 0) holdings.delete(token);
    };
    if (enter()) return promise;

    const stop = () => {
      clearTimeout(timer);
      holding.waiting.delete(look);
    };
    const look = () => {
      if (enter()) stop();
    };
    const giveUp = () => {
      stop();
      reject(
        new RequestError(
          "busy",
          "answers",
          "too much is under way that was not read yet; try again",
        ),
      );
    };
    const timer = setTimeout(giveUp, waitMs);
    holding.waiting.add(look);
    void left.then(giveUp);
    return promise;
  };
}
