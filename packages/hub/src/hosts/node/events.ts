/** The draft of MCP Events on Node: what its methods need, and what delivers to webhooks. */
import { randomUUID } from "node:crypto";
import { createDeliverer } from "../../deliver/deliverer.ts";
import type { DeliveryOutcome } from "../../deliver/delivery.ts";
import { createPostWebhook } from "../../deliver/post-webhook.ts";
import type { Seal } from "../../lib/seal.ts";
import type { EventsContext } from "../../mcp/events/context.ts";
import { createEventStreams } from "../../mcp/events/stream.ts";
import { createSubscriber } from "../../mcp/events/subscribe.ts";
import type { Store } from "../../store/store.ts";
import type { Feed } from "../../stream/feed.ts";
import type { Authorizer } from "../../tenants/authorizer.ts";
import type { Settings } from "../settings.ts";
import { createGuardedFetch } from "./guarded-fetch.ts";
import { nodeHmacKey } from "./hmac.ts";

export interface EventsOptions {
  store: Store;
  feed: Feed;
  authorizer: Pick<Authorizer, "watch">;
  seal: Seal;
  settings: Pick<Settings, "allowPrivate">;
  onDelivery: (outcome: DeliveryOutcome) => void;
  onError: (error: unknown) => void;
}

export function createEvents({
  store,
  feed,
  authorizer,
  seal,
  settings,
  onDelivery,
  onError,
}: EventsOptions) {
  const now = Date.now;
  const { allowPrivate } = settings;
  // Endpoints of one's own network seldom have certificates.
  const allowHttp = allowPrivate !== false;
  const post = createPostWebhook({
    fetch: createGuardedFetch({ allowPrivate }),
    now,
    allowHttp,
    makeHmacKey: nodeHmacKey,
  });
  const deliverer = createDeliverer({
    store,
    feed,
    post,
    unseal: seal.unseal,
    by: randomUUID(),
    now,
    random: Math.random,
    after(ms, work) {
      const timer = setTimeout(work, ms);
      return () => clearTimeout(timer);
    },
    onOutcome: onDelivery,
    onError,
  });
  const streams = createEventStreams();
  const context: EventsContext = {
    store,
    feed,
    authorizer,
    now,
    streams,
    subscriber: createSubscriber({
      store,
      post,
      seal: seal.seal,
      now,
      allowHttp,
      onChange: deliverer.poke,
    }),
    onError,
  };
  return {
    context,
    start: deliverer.poke,
    async close() {
      await Promise.all([streams.close(), deliverer.close()]);
    },
  };
}
