/**
 * Follows the hub's live stream for as long as it is let: connects again after every end, ever
 * more slowly while that fails, and always after the last message that was taken.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createBackoff } from "./backoff.ts";
import { causeOf } from "./hub-error.ts";
import { createSseParser, type SseMessage } from "./sse-parser.ts";

export interface FollowOptions {
  url: string;
  token: string | undefined;
  /** After which message to go on; undefined: with what comes from now on. */
  position(): string | undefined;
  /** With the hub's time, as far as it says so; `resumed` when older messages may follow. */
  onOpen(opened: { hubTime: number; resumed: boolean }): void;
  /** `again`: this is not the stream that is wanted; the position is another one now. */
  onMessage(message: SseMessage): "again" | undefined;
  /** The hub does not take our position: there is nothing to go on from. */
  onBadPosition(): void;
  say(words: string): void;
  signal: AbortSignal;
  fetch?: typeof fetch;
  now?: () => number;
  random?: () => number;
  wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** The hub is never silent for so long (it has a heartbeat): the connection must be dead. */
  silenceMs?: number;
}

const REFUSED_MS = 60_000;

export async function followEvents(options: FollowOptions): Promise<void> {
  const { url, token, position, onOpen, onMessage, onBadPosition, signal } = options;
  const {
    fetch = globalThis.fetch,
    now = Date.now,
    random = Math.random,
    silenceMs = 90_000,
    wait = (ms: number, until: AbortSignal) => sleep(ms, undefined, { signal: until }),
  } = options;
  const backoff = createBackoff({ random });
  let said: string | undefined;
  /** The same complaint once, not at every attempt. */
  const complain = (words: string) => {
    if (words !== said) options.say(words);
    said = words;
  };

  while (!signal.aborted) {
    const delay = await followOnce().catch((error: unknown) => {
      if (!signal.aborted)
        complain(`the hub at ${url} cannot be followed (${causeOf(error)}); trying again.`);
      return backoff.next();
    });
    if (!signal.aborted) await wait(delay, signal).catch(() => {});
  }

  /** Answers with how long to wait before the next time. */
  async function followOnce(): Promise<number> {
    const after = position();
    const silence = new AbortController();
    const giveUp = () => silence.abort(new Error("it has fallen silent"));
    let watch = setTimeout(giveUp, silenceMs);
    try {
      const response = await fetch(`${url}/events`, {
        headers: {
          accept: "text/event-stream",
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(after === undefined ? {} : { "last-event-id": after }),
        },
        signal: AbortSignal.any([signal, silence.signal]),
      });
      const type = response.headers.get("content-type") ?? "";
      if (!response.ok || !response.body || !type.startsWith("text/event-stream")) {
        await response.body?.cancel();
        return refused(response.status, after);
      }
      if (said !== undefined) options.say(`following the hub at ${url} again.`);
      said = undefined;
      const date = Date.parse(response.headers.get("date") ?? "");
      onOpen({ hubTime: Number.isNaN(date) ? now() : date, resumed: after !== undefined });
      const parse = createSseParser();
      for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
        clearTimeout(watch);
        watch = setTimeout(giveUp, silenceMs);
        for (const message of parse(text)) {
          // Only a hub that really talks is a hub that is up again.
          backoff.reset();
          if (onMessage(message) === "again") return backoff.next();
        }
      }
      return backoff.next();
    } finally {
      clearTimeout(watch);
    }
  }

  function refused(status: number, after: string | undefined): number {
    if (status === 401 || status === 403) {
      complain(
        status === 401
          ? `the hub at ${url} does not take the token (401): check SIGNALBOX_TOKEN. No events are announced.`
          : `the hub at ${url} does not let this token read the inbox (403). No events are announced.`,
      );
      return REFUSED_MS / 2 + REFUSED_MS * random();
    }
    if (status === 400 && after !== undefined) {
      complain(`the hub at ${url} does not know the place where we were: going on from now.`);
      onBadPosition();
    } else complain(`the hub at ${url} does not stream its events (HTTP ${status}); trying again.`);
    return backoff.next();
  }
}
