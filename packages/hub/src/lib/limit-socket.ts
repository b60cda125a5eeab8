/** Counts what the client of a WebSocket sends. A host passes on what its runtime reports. */
import { createAllowance } from "./allowance.ts";
import { SOCKET_LIMITS } from "./limits.ts";

/** Each function returns whether the client has kept all limits so far. */
export interface SocketLimit {
  takeFrame(): boolean;
  takeBytes(count: number): boolean;
  /** For hosts that see whole messages only. */
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
  let isOver = false;
  const check = (isAllowed: boolean, code: number, limit: string) => {
    if (!isAllowed && !isOver) {
      isOver = true;
      close(code, `The limit is ${limit}.`);
    }
    return !isOver;
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
