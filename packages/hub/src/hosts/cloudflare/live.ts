/** Live streams on Cloudflare: Server-Sent Events, and WebSockets with the Hibernation API. */
import type { DurableObjectState, HibernatableSocket, SocketPair } from "cloudflare:workers";
import {
  isAnswer,
  type LiveConnection,
  type LiveRequest,
  type LiveStreams,
  type LiveSubscription,
  liveUnavailable,
  TOKEN_INVALID,
  UNAUTHORIZED,
} from "../../events/live/live-streams.ts";
import {
  type MessageEncoder,
  socketEncoder,
  sseEncoder,
} from "../../events/live/message-encoder.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { limitSocket, type SocketLimit } from "../../kernel/lib/limit-socket.ts";
import { SOCKET_LIMITS } from "../../kernel/lib/limits.ts";
import type { Store } from "../../store.ts";
import type { AlarmTimers } from "./alarm-timers.ts";

declare const WebSocketPair: SocketPair;

export interface SocketsOptions {
  state: Pick<DurableObjectState, "acceptWebSocket" | "getWebSockets">;
  live: LiveStreams;
  store: Pick<Store, "subscribe">;
  timers: Pick<AlarmTimers, "now" | "monotonic" | "after" | "wakeAt">;
  onError: (error: unknown) => void;
}

/** How long sockets stay subscribed after the last event. */
const SUBSCRIBED_MS = 2_000;
/** How often the tokens of idle sockets are checked. Each check wakes the object. */
const RECHECK_MS = 5 * 60_000;
/** The WebSocket close code for an internal error. */
const INTERNAL_ERROR = 1011;

/**
 * Serves `GET /events` over WebSockets with the Hibernation API. The sockets stay open while the object is
 * evicted, and the attachment of a socket stores its access and its cursor. A socket is subscribed to the
 * feed only for a short time after an event, since the timers of a stream would keep an idle object in
 * memory. On the next event, its token is checked again, and it is subscribed again from its cursor.
 */
export function createSockets({ state, live, store, timers, onError }: SocketsOptions) {
  /** The subscribed sockets, and the functions that unsubscribe them. */
  const subscribed = new Map<HibernatableSocket, () => void>();
  /**
   * Lost on eviction, which is harmless: an object is evicted after ten idle seconds, and after five
   * seconds the client has its full allowance again.
   */
  const limits = new WeakMap<HibernatableSocket, SocketLimit>();
  /** The number of sockets that wait for the check of their token, or for the first read of the log. */
  let startingCount = 0;
  /** The monotonic time of the last event or message. */
  let activeAt = 0;
  let isTimerSet = false;

  /** Unsubscribes all sockets when there has been no event for a while. */
  const stopWhenIdle = () => {
    activeAt = timers.monotonic();
    if (isTimerSet) return;
    isTimerSet = true;
    timers.after(SUBSCRIBED_MS, () => {
      isTimerSet = false;
      // A socket that is starting has not been sent the event that woke it.
      if (startingCount > 0 || timers.monotonic() - activeAt < SUBSCRIBED_MS / 2)
        return stopWhenIdle();
      for (const stop of subscribed.values()) stop();
    });
  };

  const follow = async (socket: HibernatableSocket, isResumed: boolean): Promise<void> => {
    if (subscribed.has(socket)) return;
    const subscription = socket.deserializeAttachment() as LiveSubscription;
    let cursor: ReadonlyMap<string, number> | undefined;
    const saveCursor = (after: ReadonlyMap<string, number>) => {
      cursor = after;
      socket.serializeAttachment({ ...subscription, after: new Map(after) });
    };
    const listeners: (() => void)[] = [];
    let isStopped = false;
    const stop = () => {
      if (isStopped) return;
      isStopped = true;
      subscribed.delete(socket);
      for (const listener of listeners) listener();
      // Since it was saved, the feed may have advanced the cursor past events that the filter excludes.
      if (cursor) saveCursor(cursor);
    };
    subscribed.set(socket, stop);
    const connection: LiveConnection = {
      encoder: createCursorEncoder(saveCursor, isResumed),
      send(text) {
        if (text === "") return;
        activeAt = timers.monotonic();
        try {
          socket.send(text);
        } catch {
          stop(); // the client has disconnected
        }
      },
      isFull: () => isStopped,
      onDrain() {},
      onClose(listener) {
        // The client may have disconnected while its token was checked.
        if (isStopped) listener();
        else listeners.push(listener);
      },
      close(code, reason) {
        socket.close(code, reason);
        stop();
      },
    };
    startingCount += 1;
    try {
      await (isResumed ? live.resume : live.follow)(subscription, connection);
    } catch (error) {
      onError(error);
      connection.close(INTERNAL_ERROR, "the log cannot be read; resume after your cursor");
    } finally {
      startingCount -= 1;
      stopWhenIdle();
    }
  };

  /** Idle sockets too: no event wakes them any more. */
  const closeTenant = (tenant: string) => {
    for (const socket of state.getWebSockets()) {
      const { access } = socket.deserializeAttachment() as LiveSubscription;
      if (!access.tenants.includes(tenant)) continue;
      socket.close(UNAUTHORIZED, TOKEN_INVALID);
      onClose(socket);
    }
  };
  const resumeAll = () => {
    for (const socket of state.getWebSockets()) void follow(socket, true);
  };
  const unsubscribe = store.subscribe((notice) => {
    if (notice.topic === "tenant_deleted") return closeTenant(notice.tenant);
    if (notice.topic !== "events" && notice.topic !== "gap") return;
    // The event may have to be read from another object, which takes a while.
    activeAt = timers.monotonic();
    resumeAll();
  });
  let isRecheckSet = false;
  const scheduleRecheck = () => {
    if (isRecheckSet) return;
    isRecheckSet = true;
    timers.wakeAt(timers.now() + RECHECK_MS);
    timers.after(RECHECK_MS, () => {
      isRecheckSet = false;
      recheck();
    });
  };
  const recheck = () => {
    if (state.getWebSockets().length === 0) return;
    resumeAll();
    scheduleRecheck();
  };
  recheck(); // the alarm for a recheck may have started the object

  const onClose = (socket: HibernatableSocket): void => subscribed.get(socket)?.();
  const limitOf = (socket: HibernatableSocket): SocketLimit => {
    const existing = limits.get(socket);
    if (existing) return existing;
    const limit = limitSocket(timers.monotonic, (code, reason) => {
      socket.close(code, reason);
      onClose(socket);
    });
    limits.set(socket, limit);
    return limit;
  };

  return {
    async accept(request: Request): Promise<Response> {
      const subscription = await live.authorize(toLiveRequest(request));
      if (isAnswer(subscription)) {
        const { status, headers, body } = subscription;
        return new Response(body, { status, headers });
      }
      const { 0: client, 1: socket } = new WebSocketPair();
      state.acceptWebSocket(socket);
      socket.serializeAttachment(subscription);
      await follow(socket, false);
      scheduleRecheck();
      // `webSocket` is an extension of workerd.
      return new Response(null, { status: 101, webSocket: client } as ResponseInit);
    },
    /** workerd passes on whole messages only; it responds to ping frames itself. */
    onMessage(socket: HibernatableSocket, data: string | ArrayBuffer): void {
      if (limitOf(socket).takeMessage(sizeOf(data)) && data === "ping")
        socket.send(`{"pong":${timers.now()}}`);
    },
    onClose,
    close: unsubscribe,
  };
}

/**
 * The bytes of a message. A text with more characters than the limit is not encoded, since it has at
 * least as many bytes.
 */
function sizeOf(data: string | ArrayBuffer): number {
  if (typeof data !== "string") return data.byteLength;
  return data.length > SOCKET_LIMITS.messageBytes ? data.length : utf8(data).byteLength;
}

/** Encodes messages, and saves the cursor of each. A resumed client is not sent `connected` again. */
const createCursorEncoder = (
  save: (cursor: ReadonlyMap<string, number>) => void,
  isResumed: boolean,
): MessageEncoder => ({
  ...socketEncoder,
  connected(log, cursor, tenants) {
    save(cursor);
    return isResumed ? "" : socketEncoder.connected(log, cursor, tenants);
  },
  event(event, cursor, tenants) {
    save(cursor);
    return socketEncoder.event(event, cursor, tenants);
  },
  heartbeat(now, cursor, tenants) {
    save(cursor);
    return socketEncoder.heartbeat(now, cursor, tenants);
  },
});

const BUFFER_BYTES = 64 * 1024;

/** Serves Server-Sent Events in the body of a `Response`. */
export async function serveSse(
  streams: LiveStreams,
  request: Request,
  onError: (error: unknown) => void,
): Promise<Response> {
  const subscription = await streams.authorize(toLiveRequest(request));
  const respond = ({ status, headers, body }: ReturnType<typeof liveUnavailable>) =>
    new Response(body, { status, headers });
  if (isAnswer(subscription)) return respond(subscription);
  let onDrain = () => {};
  let onClose = () => {};
  let isClosed = false;
  const end = () => {
    if (isClosed) return;
    isClosed = true;
    onClose();
  };
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start(streamController) {
        controller = streamController;
      },
      pull: () => onDrain(),
      cancel: end,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: BUFFER_BYTES }),
  );
  const send = (text: string) => {
    if (!isClosed) controller?.enqueue(utf8(text));
  };
  try {
    await streams.follow(subscription, {
      encoder: sseEncoder,
      send,
      isFull: () => isClosed || (controller?.desiredSize ?? 0) <= 0,
      onDrain(listener) {
        onDrain = listener;
      },
      onClose(listener) {
        onClose = listener;
      },
      close(code, reason) {
        if (isClosed) return;
        send(`event: closed\ndata: ${JSON.stringify({ code, reason })}\n\n`);
        controller?.close();
        end();
      },
    });
  } catch (error) {
    onError(error);
    end();
    return respond(liveUnavailable());
  }
  return new Response(body, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
  });
}

/** Path and query of a URL. */
export function pathOf(url: string): string {
  const { pathname, search } = new URL(url);
  return `${pathname}${search}`;
}

const toLiveRequest = ({ method, url, headers }: Request): LiveRequest => ({
  method,
  url: pathOf(url),
  header: (name) => headers.get(name) || undefined,
});
