import { BoundedMap } from "../../kernel/lib/bounded-map.ts";
import type { Sha256Hex } from "../../kernel/lib/hmac.ts";
import type { MaybePromise } from "../../kernel/lib/maybe-promise.ts";
import { wrapStoreErrors } from "../../kernel/store/availability.ts";
import type { Store } from "../../store.ts";
import type { FoundCallbackToken } from "../model.ts";

export const CALLBACK_TOKEN_PREFIX = "sbcb_";

export interface CallbackToken extends FoundCallbackToken {
  hash: string;
}

export interface CallbackTokenCache {
  /** Returns undefined if the token is unknown or has expired. */
  find(secret: string): MaybePromise<CallbackToken | undefined>;
  close(): void;
}

export interface CallbackTokenCacheOptions {
  store: Pick<Store, "findCallbackToken"> & Pick<Store, "subscribe">;
  sha256Hex: Sha256Hex;
  now: () => number;
  /** The clock of the cache, which is never set back. */
  monotonic?: () => number;
}

interface Entry {
  until: number;
  token: CallbackToken | undefined;
}

const CACHE_MS = 5_000;

/** 256 bits in base64url after the prefix. Other secrets are rejected without a query. */
const FORMAT = new RegExp(`^${CALLBACK_TOKEN_PREFIX}[\\w-]{43}$`);

export function createCallbackTokenCache(options: CallbackTokenCacheOptions): CallbackTokenCache {
  const { store, sha256Hex, now, monotonic = now } = options;
  const cached = new BoundedMap<string, Entry>(10_000);
  /** A separate cache, so that guessed tokens do not evict valid ones. */
  const unknown = new BoundedMap<string, Entry>(1_000);
  const loading = new Map<string, Promise<CallbackToken | undefined>>();
  let invalidations = 0;

  const unsubscribe = store.subscribe(() => {
    invalidations += 1;
    cached.clear();
    unknown.clear();
    loading.clear();
  }, ["connections", "tools", "gap"]);

  const query = async (hash: string): Promise<CallbackToken | undefined> => {
    const invalidationsBefore = invalidations;
    const row = await wrapStoreErrors(store.findCallbackToken(hash, now()));
    const token = row && { ...row, hash };
    // A result that was read before an invalidation may be outdated, so it is not cached.
    if (invalidations === invalidationsBefore) {
      const entry = { until: monotonic() + CACHE_MS, token };
      if (token) cached.set(hash, entry);
      else {
        cached.delete(hash);
        unknown.set(hash, entry);
      }
    }
    return token;
  };

  /** Concurrent requests with the same token share a query. */
  const load = (hash: string): Promise<CallbackToken | undefined> => {
    const loaded = query(hash).finally(() => {
      if (loading.get(hash) === loaded) loading.delete(hash);
    });
    loading.set(hash, loaded);
    return loaded;
  };

  const findByHash = (hash: string): MaybePromise<CallbackToken | undefined> => {
    const entry = cached.get(hash) ?? unknown.get(hash);
    return entry && entry.until > monotonic()
      ? unlessExpired(entry.token)
      : (loading.get(hash) ?? load(hash)).then(unlessExpired);
  };

  const unlessExpired = (token: CallbackToken | undefined): CallbackToken | undefined =>
    token && (token.expires_at === null || token.expires_at > now()) ? token : undefined;

  return {
    find(secret) {
      if (!FORMAT.test(secret)) return undefined;
      const hash = sha256Hex(secret);
      return typeof hash === "string" ? findByHash(hash) : hash.then(findByHash);
    },
    close: unsubscribe,
  };
}
