/**
 * Limits the frames and bytes that the client of a WebSocket may send. The host calls the functions
 * for what its runtime reports: frames and bytes, or whole messages.
 */
import { SOCKET_LIMITS } from "./limits.ts";

/** Each function returns false from the moment when the client has exceeded a limit. */
export interface SocketLimit {
  takeFrame(): boolean;
  takeBytes(count: number): boolean;
  /** For hosts whose runtime reports only whole messages. It counts the message as one frame. */
  takeMessage(bytes: number): boolean;
}

const POLICY_VIOLATION = 1008;
const MESSAGE_TOO_BIG = 1009;

/** Calls `close` once, when the client exceeds a limit. `now` returns milliseconds of a monotonic clock. */
export function limitSocket(
  now: () => number,
  close: (code: number, reason: string) => void,
): SocketLimit {
  const { messageBytes } = SOCKET_LIMITS;
  const frames = createAllowance(SOCKET_LIMITS.frames, now);
  const bytes = createAllowance(SOCKET_LIMITS.bytes, now);
  let isExceeded = false;
  const check = (isAllowed: boolean, code: number, limit: string) => {
    if (!isAllowed && !isExceeded) {
      isExceeded = true;
      close(code, `The limit is ${limit}.`);
    }
    return !isExceeded;
  };
  const takeFrame = () =>
    check(frames.take(1), POLICY_VIOLATION, `${SOCKET_LIMITS.frames.perSecond} frames per second`);
  const takeBytes = (count: number) =>
    check(bytes.take(count), POLICY_VIOLATION, `${SOCKET_LIMITS.bytes.perSecond} bytes per second`);
  return {
    takeFrame,
    takeBytes,
    takeMessage: (size) =>
      check(size <= messageBytes, MESSAGE_TOO_BIG, `${messageBytes} bytes per message`) &&
      takeBytes(size) &&
      takeFrame(),
  };
}

/** A token bucket: it allows `perSecond` on average, and up to `burst` at a time. */
export interface Allowance {
  /** Takes `count` from the bucket. If less is left, it takes nothing and returns false. */
  take(count: number): boolean;
}

/** `now` returns milliseconds of a monotonic clock. */
export function createAllowance(
  { perSecond, burst }: { perSecond: number; burst: number },
  now: () => number,
): Allowance {
  let left = burst;
  let refilledAt = now();
  return {
    take(count) {
      const time = now();
      left = Math.min(burst, left + ((time - refilledAt) / 1000) * perSecond);
      refilledAt = time;
      if (count > left) return false;
      left -= count;
      return true;
    },
  };
}
