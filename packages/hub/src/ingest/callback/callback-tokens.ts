/**
 * Looks up the tokens of callbacks by their SHA-256, also in the cache: so the time of a lookup reveals
 * nothing about other tokens. They are cached for a few seconds, and invalidated when
 * connections or triggers change, so that a removed trigger takes effect immediately.
 */
import { BoundedMap } from "../../lib/bounded-map.ts";
import type { MaybePromise, Sha256Hex } from "../../lib/hmac.ts";
import type { ConnectionStore, FoundCallbackToken } from "../../store/connection-store.ts";
import type { Store } from "../../store/store.ts";
import { fromStore } from "../from-store.ts";

export const CALLBACK_TOKEN_PREFIX = "sbcb_";

export interface CallbackToken extends FoundCallbackToken {
  hash: string;
}

export interface CallbackTokens {
  /** Undefined if the token is unknown or has expired. */
  find(secret: string): MaybePromise<CallbackToken | undefined>;
  close(): void;
}

export interface CallbackTokensOptions {
  store: Pick<ConnectionStore, "findCallbackToken"> & Pick<Store, "subscribe">;
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

export function createCallbackTokens(options: CallbackTokensOptions): CallbackTokens {
  const { store, sha256Hex, now, monotonic = now } = options;
  const cached = new BoundedMap<string, Entry>(10_000);
  /** A separate cache, so that guessed tokens evict no valid one. */
  const unknown = new BoundedMap<string, Entry>(1_000);
  const loading = new Map<string, Promise<CallbackToken | undefined>>();
  let invalidations = 0;

  const unsubscribe = store.subscribe(({ topic }) => {
    if (topic !== "connections" && topic !== "tools" && topic !== "gap") return;
    invalidations += 1;
    cached.clear();
    unknown.clear();
    loading.clear();
  });

  const query = async (hash: string): Promise<CallbackToken | undefined> => {
    const before = invalidations;
    const found = await fromStore(store.findCallbackToken(hash, now()));
    const token = found && { ...found, hash };
    // After an invalidation, the result may be outdated.
    if (invalidations === before) {
      const entry = { until: monotonic() + CACHE_MS, token };
      if (token) cached.set(hash, entry);
      else {
        cached.delete(hash);
        unknown.set(hash, entry);
      }
    }
    return token;
  };

  /** Concurrent requests with one token share a query. */
  const load = (hash: string): Promise<CallbackToken | undefined> => {
    const loaded = query(hash).finally(() => {
      if (loading.get(hash) === loaded) loading.delete(hash);
    });
    loading.set(hash, loaded);
    return loaded;
  };

  const findBy = (hash: string): MaybePromise<CallbackToken | undefined> => {
    const entry = cached.get(hash) ?? unknown.get(hash);
    return entry && entry.until > monotonic()
      ? unexpired(entry.token)
      : (loading.get(hash) ?? load(hash)).then(unexpired);
  };

  const unexpired = (token: CallbackToken | undefined): CallbackToken | undefined =>
    token && (token.expires_at === null || token.expires_at > now()) ? token : undefined;

  return {
    find(secret) {
      if (!FORMAT.test(secret)) return undefined;
      const hash = sha256Hex(secret);
      return typeof hash === "string" ? findBy(hash) : hash.then(findBy);
    },
    close: unsubscribe,
  };
}
