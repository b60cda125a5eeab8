/**
 * `events/subscribe` and `events/unsubscribe` of webhook subscriptions. Subscribing again with the same
 * parameters refreshes the expiry and the secret, and keeps the positions of the deliveries.
 */
import { OutboundError } from "@signalbox/rules/flows/outbound.ts";
import type { Access } from "../../kernel/access/authorizer.ts";
import { sha256Hex } from "../../kernel/lib/hmac.ts";
import { randomSecret } from "../../kernel/lib/random-secret.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Seal } from "../../kernel/lib/seal.ts";
import { createSemaphore } from "../../kernel/lib/semaphore.ts";
import { parseOutboundUrl } from "../../kernel/outbound/request-rules.ts";
import type { Store } from "../../store.ts";
import { encodeCursor } from "../inbox/cursor.ts";
import { findType, type Narrowing } from "./event-types.ts";
import type { Subscription } from "./model.ts";
import { EventsError, type SubscribeParams, type UnsubscribeParams } from "./protocol.ts";
import { findStart } from "./read-log.ts";
import { type PostWebhook, verifyEndpoint } from "./webhook.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const MIN_TTL_MS = MINUTE_MS;
const DEFAULT_TTL_MS = 7 * DAY_MS;
const MAX_TTL_MS = 30 * DAY_MS;
/** How long messages are signed with the former secret too, after a rotation. */
const FORMER_SECRET_MS = DAY_MS;

export interface SubscriberOptions {
  store: Store;
  post: PostWebhook;
  seal: Seal["seal"];
  now: () => number;
  allowHttp: boolean;
  /** Called when there is a new or refreshed subscription. */
  onChange: () => void;
  maxPerPrincipal?: number;
  /** The maximum number of concurrent verifications for one principal. */
  verifyConcurrency?: number;
}

export interface Subscriber {
  subscribe(access: Access, params: SubscribeParams): Promise<Record<string, unknown>>;
  unsubscribe(access: Access, params: UnsubscribeParams): Promise<Record<string, unknown>>;
}

export function createSubscriber({
  store,
  post,
  seal,
  now,
  allowHttp,
  onChange,
  maxPerPrincipal = 100,
  verifyConcurrency = 4,
}: SubscriberOptions): Subscriber {
  const verifications = createSemaphore({ perKey: verifyConcurrency });
  const parseUrl = (text: string): string => {
    try {
      const { href } = parseOutboundUrl(text, { allowHttp });
      if (href.length <= 2_000) return href;
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      throw new RequestError("invalid", "delivery.url", error.message);
    }
    throw new RequestError("invalid", "delivery.url", "must have at most 2000 characters");
  };

  const exhausted = () =>
    new EventsError(
      "exhausted",
      `This token has ${maxPerPrincipal} subscriptions, which is the limit; unsubscribe from one first.`,
      { limit: maxPerPrincipal },
    );

  const verify = async (principal: string, id: string, url: string, secret: string) => {
    // Another request may have verified the endpoint while this one waited.
    if (await store.isVerified(principal, url)) return;
    // Do not call the endpoint for a subscription that would exceed the limit.
    const isFull = (await store.countSubscriptions(principal)) >= maxPerPrincipal;
    if (isFull && !(await store.findSubscription(id))) throw exhausted();
    const challenge = randomSecret("");
    const verified = await verifyEndpoint(
      post,
      { subscription: id, url, secrets: [secret] },
      challenge,
    );
    if (verified.outcome === "rejected")
      throw new RequestError("invalid", "delivery.url", verified.message);
    if (verified.outcome === "failed")
      throw new EventsError(
        "callbackEndpoint",
        `delivery.url: the endpoint could not be verified. ${verified.message}`,
        { reason: verified.reason },
      );
    await store.putVerification(principal, url, now());
  };

  return {
    async subscribe({ token, tenants }, params) {
      const { mode, secret } = params.delivery;
      if (mode !== "webhook")
        throw new EventsError(
          "unsupported",
          `delivery.mode: must be webhook, not ${JSON.stringify(mode.slice(0, 50))}; events/stream pushes over MCP.`,
          { feature: "delivery.mode" },
        );
      const url = parseUrl(params.delivery.url);
      await findType(store, tenants, params.name, params.arguments);
      const notBefore = params.maxAgeMs === undefined ? undefined : now() - params.maxAgeMs;
      const { from, truncated, logId } = await findStart(store, tenants, params.cursor, notBefore);
      const identity = {
        principal: token,
        tenants,
        name: params.name,
        arguments: params.arguments,
        url,
      };
      const id = await subscriptionId(identity);
      if (!(await store.isVerified(token, url))) {
        const release = await verifications.acquire(token);
        await verify(token, id, url, secret).finally(release);
      }
      const ttl = Math.min(Math.max(params.ttlMs ?? DEFAULT_TTL_MS, MIN_TTL_MS), MAX_TTL_MS);
      const subscription = await store.putSubscription(
        {
          ...identity,
          id,
          tenants: [...tenants],
          arguments: canonicalize(params.arguments),
          secret: await seal(secret),
          secret_hash: await sha256Hex(`${id} ${secret}`),
          positions: Object.fromEntries(from),
          expires_at: now() + ttl,
        },
        { now: now(), limit: maxPerPrincipal, formerUntil: now() + FORMER_SECRET_MS },
      );
      if (!subscription) throw exhausted();
      onChange();
      const isNew = subscription.created_at === subscription.updated_at;
      return {
        id,
        refreshBefore: new Date(subscription.expires_at).toISOString(),
        cursor: encodeCursor(new Map(Object.entries(subscription.positions)), tenants, logId),
        truncated: isNew ? truncated : subscription.gap,
        deliveryStatus: statusOf(subscription),
      };
    },

    async unsubscribe({ token, tenants }, params) {
      const url = parseUrl(params.delivery.url);
      const { name } = params;
      const id = await subscriptionId({
        principal: token,
        tenants,
        name,
        arguments: params.arguments,
        url,
      });
      if (!(await store.removeSubscription(id)))
        throw new EventsError(
          "notFound",
          "There is no subscription with this name, these arguments and this URL.",
          { kind: "subscription" },
        );
      return {};
    },
  };
}

/** Sorts the keys and omits undefined values, so that equal arguments have the same JSON. */
const canonicalize = (narrowing: Narrowing): Record<string, string | number> =>
  Object.fromEntries(
    Object.entries(narrowing)
      .filter((entry): entry is [string, string | number] => entry[1] !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );

/** The id is a hash of everything that identifies a subscription, so that subscribing is idempotent. */
async function subscriptionId(identity: {
  principal: string;
  tenants: readonly string[];
  name: string;
  arguments: Narrowing;
  url: string;
}): Promise<string> {
  const { principal, tenants, name, arguments: narrowing, url } = identity;
  const parts = [principal, [...tenants].sort(), name, canonicalize(narrowing), url];
  return `sub_${(await sha256Hex(JSON.stringify(parts))).slice(0, 40)}`;
}

const isoOrNull = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

const statusOf = (subscription: Subscription) => ({
  state: subscription.failing_since === null ? "ok" : "failing",
  failedAttempts: subscription.attempt,
  failingSince: isoOrNull(subscription.failing_since),
  lastError: subscription.last_error,
  lastDeliveredAt: isoOrNull(subscription.delivered_at),
});
