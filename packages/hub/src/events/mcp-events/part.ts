/** MCP Events: the methods of `/mcp`, and the deliverer of webhooks to subscribers. */
import { once } from "../../kernel/lib/once.ts";
import type { Kernel, Part } from "../../part.ts";
import type { TokensPart } from "../../tokens/part.ts";
import type { EventsPart } from "../part.ts";
import { createDeliverer } from "./deliverer.ts";
import { createDeliveryMetrics } from "./metrics.ts";
import { createEventStreams } from "./stream.ts";
import { createSubscriber } from "./subscribe.ts";
import { createPostWebhook } from "./webhook.ts";

export function createMcpEventsPart(
  { store, ports, settings, seal, onError }: Kernel,
  { tokens, streamSlots }: TokensPart,
  { feed }: Pick<EventsPart, "feed">,
): Part {
  const { timers, guardedFetch, makeHmacKey } = ports;
  const { now } = timers;
  const { allowHttp } = settings;
  const onOutcome = createDeliveryMetrics(ports.metrics);
  if (!settings.eventsDraft) return {};
  const post = createPostWebhook({ fetch: guardedFetch, now, allowHttp, makeHmacKey });
  const deliverer = createDeliverer({
    store,
    tokens,
    feed,
    post,
    unseal: seal.unseal,
    by: crypto.randomUUID(),
    now,
    monotonic: timers.monotonic,
    random: Math.random,
    after: timers.after,
    // `pollMs` is infinite only if no other process uses the store.
    isOnlyProcess: timers.pollMs === Number.POSITIVE_INFINITY,
    onOutcome,
    onError,
  });
  const subscriber = createSubscriber({
    store,
    post,
    seal: seal.seal,
    now,
    allowHttp,
    onChange: deliverer.wake,
  });
  const streams = createEventStreams();
  const close = once(() => Promise.all([streams.close(), deliverer.close()]));
  return {
    async loadMcp() {
      const { eventsOffer } = await import("./events-offer.ts");
      const context = { store, feed, streamSlots, now, streams, subscriber, onError };
      return { ...eventsOffer(context), close };
    },
    start: deliverer.wake,
    stop: close,
  };
}
