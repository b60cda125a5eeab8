/**
 * Limits the concurrent requests of each token, so that a burst of one client does not delay other
 * clients. Up to `perToken` requests run, up to `maxQueued` requests wait in a queue, and further requests
 * get 429. A request holds its slot for at most `slotMs`, so that streams and long calls do not block
 * other requests.
 */
import type { Context, MiddlewareHandler } from "hono";
import { createSemaphore, QueueFull } from "../lib/semaphore.ts";
import { responseSent } from "./byte-budgets.ts";
import { createSessionCookie } from "./cookie.ts";
import { problemResponse } from "./problem-response.ts";
import { bearerToken } from "./request-token.ts";

export interface ConcurrencyLimitOptions {
  yieldToEventLoop: () => Promise<void>;
  publicUrl?: string | undefined;
  perToken?: number;
  maxQueued?: number;
  slotMs?: number;
}

export function limitConcurrency({
  yieldToEventLoop,
  publicUrl,
  perToken = 32,
  maxQueued = 512,
  slotMs = 1_000,
}: ConcurrencyLimitOptions): MiddlewareHandler {
  const cookie = createSessionCookie(publicUrl);
  const slots = createSemaphore({ perKey: perToken, maxQueued });

  return async (c, next) => {
    // The token is not verified yet: a request with an invalid token is rejected later.
    const authorization = c.req.header("authorization");
    const token =
      bearerToken(authorization) ??
      cookie.read(c.req.raw.headers) ??
      authorization?.split(" ").at(-1);
    if (token === undefined) return next();
    let release = slots.tryAcquire(token);
    if (!release) {
      const acquired = await slots.acquire(token).catch((error: unknown) => {
        if (error instanceof QueueFull) return undefined;
        throw error;
      });
      if (!acquired) return tooManyRequests(perToken + maxQueued);
      release = acquired;
      // New requests of other tokens run before queued requests of this token.
      await yieldToEventLoop();
      if (isDisconnected(c)) {
        release();
        return new Response(null, { status: 499 });
      }
    }
    const timer = setTimeout(release, slotMs);
    const finish = () => {
      clearTimeout(timer);
      release();
    };
    await next(); // does not throw: Hono turns errors into responses
    // At this point, a stream has sent only its headers.
    if (isStream(c.res)) void responseSent(c).then(finish);
    else finish();
  };
}

const tooManyRequests = (max: number) =>
  problemResponse(
    429,
    "busy",
    "Too many requests",
    `This token has ${max} concurrent requests, which is the limit. Wait for some of the responses.`,
    { "retry-after": "1" },
  );

const isStream = ({ headers }: Response): boolean =>
  headers.get("content-type")?.startsWith("text/event-stream") ?? false;

/** Always false on hosts other than Node. */
const isDisconnected = ({ env }: Context): boolean =>
  (env as { incoming?: { socket?: { destroyed: boolean } } } | undefined)?.incoming?.socket
    ?.destroyed ?? false;
