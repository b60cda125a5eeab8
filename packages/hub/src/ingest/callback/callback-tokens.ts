/**
 * Looks up the tokens of callbacks. They are cached for a few seconds, and invalidated when
 * connections or triggers change, so that a removed trigger takes effect immediately.
 */
import { BoundedMap } from "../../lib/bounded-map.ts";
import { type MakeHmacKey, type MaybePromise, sha256Hex, utf8 } from "../../lib/hmac.ts";
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
  makeHmacKey: MakeHmacKey;
  now: () => number;
}

interface Entry {
  until: number;
  token: CallbackToken | undefined;
}

const CACHE_MS = 5_000;

/** 256 bits in base64url after the prefix. Other secrets are rejected without a query. */
const FORMAT = new RegExp(`^${CALLBACK_TOKEN_PREFIX}[\\w-]{43}$`);

export function createCallbackTokens(options: CallbackTokensOptions): CallbackTokens {
  const { store, makeHmacKey, now } = options;
  // The cache is keyed by an HMAC with a key of this process: the time of a lookup depends on the
  // HMAC, and so reveals nothing about the cached secrets.
  const key = makeHmacKey(crypto.getRandomValues(new Uint8Array(32)));
  const cached = new BoundedMap<string, Entry>(10_000);
  /** A separate cache, so that guessed tokens evict no valid one. */
  const unknown = new BoundedMap<string, Entry>(1_000);
  const loading = new Map<string, Promise<CallbackToken | undefined>>();

  const unsubscribe = store.subscribe(({ topic }) => {
    if (topic !== "connections" && topic !== "tools" && topic !== "gap") return;
    cached.clear();
    unknown.clear();
    loading.clear();
  });

  /** Concurrent requests with one token share a query. */
  const load = (secret: string, name: string): Promise<CallbackToken | undefined> => {
    const query = async () => {
      const hash = await sha256Hex(secret);
      const found = await fromStore(store.findCallbackToken(hash, now()));
      const token = found && { ...found, hash };
      // Not if an invalidation has removed it: then the result may be outdated.
      if (loading.get(name) === loaded) {
        const entry = { until: now() + CACHE_MS, token };
        if (token) cached.set(name, entry);
        else {
          cached.delete(name);
          unknown.set(name, entry);
        }
      }
      return token;
    };
    const loaded = query().finally(() => {
      if (loading.get(name) === loaded) loading.delete(name);
    });
    loading.set(name, loaded);
    return loaded;
  };

  const findBy = (secret: string, mac: Uint8Array): MaybePromise<CallbackToken | undefined> => {
    const name = String.fromCharCode(...mac);
    const entry = cached.get(name) ?? unknown.get(name);
    return entry && entry.until > now()
      ? unexpired(entry.token)
      : (loading.get(name) ?? load(secret, name)).then(unexpired);
  };

  const unexpired = (token: CallbackToken | undefined): CallbackToken | undefined =>
    token && (token.expires_at === null || token.expires_at > now()) ? token : undefined;

  return {
    find(secret) {
      if (!FORMAT.test(secret)) return undefined;
      const mac = key.sign([utf8(secret)]);
      return mac instanceof Promise
        ? mac.then((bytes) => findBy(secret, bytes))
        : findBy(secret, mac);
    },
    close: unsubscribe,
  };
}
