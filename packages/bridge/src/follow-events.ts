/**
 * Follows the hub's live stream until it is aborted. Reconnects whenever the stream ends, with
 * exponential backoff, and resumes after the last processed message.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { Routes } from "@signalbox/contract";
import { type Access, sendWithAccess } from "./access.ts";
import { createBackoff } from "./backoff.ts";
import { causeOf } from "./hub-error.ts";
import { createSseParser, type SseMessage } from "./sse-parser.ts";

const STREAM: Routes["path"] = "/events";

export interface FollowOptions {
  url: string;
  access: Access;
  /** The message after which the stream resumes; undefined: only new messages. */
  position(): string | undefined;
  /** `hubTime`: the hub's `Date` header, or else the local time. `resumed`: older messages may follow. */
  onOpen(opened: { hubTime: number; resumed: boolean }): void;
  /** `reconnect`: the position has changed, so the stream must be opened again. */
  onMessage(message: SseMessage): "reconnect" | undefined;
  /** The hub rejects the position. */
  onBadPosition(): void;
  warn(message: string): void;
  signal: AbortSignal;
  fetch?: typeof fetch;
  now?: () => number;
  random?: () => number;
  wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** The hub sends heartbeats more often than this; a longer silence means a dead connection. */
  idleTimeoutMs?: number;
}

const REJECTED_RETRY_MS = 60_000;
/** While the user signs in. */
const PENDING_RETRY_MS = 2_000;

export async function followEvents(options: FollowOptions): Promise<void> {
  const { url, access, position, onOpen, onMessage, onBadPosition, signal } = options;
  const {
    fetch = globalThis.fetch,
    now = Date.now,
    random = Math.random,
    idleTimeoutMs = 90_000,
    wait = (ms: number, until: AbortSignal) => sleep(ms, undefined, { signal: until }),
  } = options;
  const backoff = createBackoff({ random });
  let lastWarning: string | undefined;
  /** Does not repeat a warning at every attempt. */
  const warnOnce = (message: string) => {
    if (message !== lastWarning) options.warn(message);
    lastWarning = message;
  };

  while (!signal.aborted) {
    const delay = await followOnce().catch((error: unknown) => {
      if (!signal.aborted)
        warnOnce(`cannot follow the hub at ${url} (${causeOf(error)}); retrying.`);
      return backoff.next();
    });
    if (!signal.aborted) await wait(delay, signal).catch(() => {});
  }

  /** Returns the delay before the next attempt. */
  async function followOnce(): Promise<number> {
    const after = position();
    // Node 20.0 does not have `AbortSignal.any`.
    const attempt = new AbortController();
    const onAbort = () => attempt.abort(signal.reason);
    signal.addEventListener("abort", onAbort);
    const onIdle = () => attempt.abort(new Error("idle timeout"));
    let timer = setTimeout(onIdle, idleTimeoutMs);
    try {
      const response = await sendWithAccess(access, (authorization) =>
        fetch(`${url}${STREAM}`, {
          headers: {
            accept: "text/event-stream",
            ...authorization,
            ...(after === undefined ? {} : { "last-event-id": after }),
          },
          signal: attempt.signal,
        }),
      );
      const type = response.headers.get("content-type") ?? "";
      if (!response.ok || !response.body || !type.startsWith("text/event-stream")) {
        await response.body?.cancel();
        return onErrorStatus(response.status, after);
      }
      if (lastWarning !== undefined) options.warn(`following the hub at ${url} again.`);
      lastWarning = undefined;
      const date = Date.parse(response.headers.get("date") ?? "");
      onOpen({ hubTime: Number.isNaN(date) ? now() : date, resumed: after !== undefined });
      const parse = createSseParser();
      for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
        clearTimeout(timer);
        timer = setTimeout(onIdle, idleTimeoutMs);
        for (const message of parse(text)) {
          // An accepted connection alone does not prove that the hub is up.
          backoff.reset();
          if (onMessage(message) === "reconnect") return backoff.next();
        }
      }
      return backoff.next();
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }

  function onErrorStatus(status: number, after: string | undefined): number {
    // The sign-in has reported what the user must do.
    if (status === 401 && access.isPending()) return PENDING_RETRY_MS;
    if (status === 401 || status === 403) {
      warnOnce(
        status === 401
          ? `${access.advice()} Events are not announced.`
          : `the hub at ${url} does not allow this token to read the inbox (403). Create one with the scope inbox:read. Events are not announced.`,
      );
      return REJECTED_RETRY_MS / 2 + REJECTED_RETRY_MS * random();
    }
    if (status === 400 && after !== undefined) {
      warnOnce(`the hub at ${url} rejects the saved position: continuing with new events.`);
      onBadPosition();
    } else warnOnce(`the hub at ${url} does not stream events (HTTP ${status}); retrying.`);
    return backoff.next();
  }
}
