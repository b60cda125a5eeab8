/**
 * Bounds the requests that one token has under way, so that a burst of one caller leaves the others
 * their turn: some are worked on, some more wait, the rest is refused. What waits rather than works
 * (a stream, a call that takes its time) stops counting after a moment.
 */
import type { Context, MiddlewareHandler } from "hono";
import { answered } from "./answer-room.ts";
import { problemResponse } from "./problem-response.ts";

export interface AtOnceOptions {
  /** Lets everything else that is due happen first, arriving requests too. */
  turn: () => Promise<void>;
  most?: number;
  mostWaiting?: number;
  /** The longest that a request counts. */
  countsMs?: number;
}

interface Line {
  underWay: number;
  waiting: (() => void)[];
}

export function limitAtOnce({
  turn,
  most = 32,
  mostWaiting = 512,
  countsMs = 1_000,
}: AtOnceOptions): MiddlewareHandler {
  const lines = new Map<string, Line>();

  return async (c, next) => {
    // Not yet looked up: who guesses tokens is refused soon enough.
    const token = c.req.header("authorization")?.split(" ").at(-1);
    if (token === undefined) return next();
    const line = lines.get(token) ?? { underWay: 0, waiting: [] };
    lines.set(token, line);

    let left = false;
    const leave = () => {
      if (left) return;
      left = true;
      clearTimeout(timer);
      const following = line.waiting.shift();
      if (following) return void turn().then(following); // it takes over the place
      line.underWay -= 1;
      if (line.underWay === 0) lines.delete(token);
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    if (line.underWay < most) line.underWay += 1;
    else if (line.waiting.length >= mostWaiting) return busy(most + mostWaiting);
    else {
      await new Promise<void>((resolve) => line.waiting.push(resolve));
      if (hasGone(c)) {
        leave();
        return new Response(null, { status: 499 });
      }
    }
    timer = setTimeout(leave, countsMs);
    await next(); // errors are answers by now
    // Of a stream only the headers are there: the work may still be to come.
    if (isStream(c.res)) void answered(c).then(leave);
    else leave();
  };
}

const busy = (most: number) =>
  problemResponse(
    429,
    "busy",
    "Too much at once",
    `This token has ${most} requests under way, which is the most. Wait for some of the answers.`,
    { "retry-after": "1" },
  );

const isStream = ({ headers }: Response): boolean =>
  headers.get("content-type")?.startsWith("text/event-stream") ?? false;

/** On hosts that can tell. */
const hasGone = ({ env }: Context): boolean =>
  (env as { incoming?: { socket?: { destroyed: boolean } } } | undefined)?.incoming?.socket
    ?.destroyed ?? false;
