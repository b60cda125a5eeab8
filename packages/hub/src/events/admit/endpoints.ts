/**
 * Resolves a path such as `/webhooks/stripe/KEY` to a source, a tenant and secrets. Endpoints are cached
 * for a few seconds, so that not every webhook queries the database; an added or removed secret takes
 * effect within that time. Unknown keys have a separate cache, so that guessed keys evict no endpoint.
 */

import { BoundedMap } from "../../kernel/lib/bounded-map.ts";
import type { MakeHmacKey } from "../../kernel/lib/hmac.ts";
import type { MaybePromise } from "../../kernel/lib/maybe-promise.ts";
import { wrapStoreErrors } from "../../kernel/store/availability.ts";
import type { Store } from "../../store.ts";
import { makeSigningKey, type SignatureScheme, type SigningKey } from "./signatures.ts";
import type { SourceDefinition } from "./source.ts";

export interface Endpoint {
  source: SourceDefinition;
  /** Delivery ids are unique per endpoint. */
  id: string;
  /** Undefined if the payload identifies the tenant. */
  tenant: string | undefined;
  config: Record<string, unknown>;
  scheme: SignatureScheme;
  /** Empty if the endpoint has no secret. */
  signingKeys: { key: SigningKey; expiresAt: number | null }[];
}

export interface EndpointsOptions {
  sources: readonly SourceDefinition[];
  store: Pick<Store, "findSource">;
  /** The secrets of the endpoints without a key, by source. */
  secrets: Record<string, readonly string[]>;
  /** The tenant of the endpoints without a key; undefined if the payloads identify it. */
  tenant: string | undefined;
  unseal: (sealed: string) => Promise<string>;
  makeHmacKey: MakeHmacKey;
  now: () => number;
  /** The clock of the cache, which is never set back. */
  monotonic?: () => number;
}

const CACHE_MS = 5_000;

/** The format of the keys in URLs, as `signalbox source add` creates them. */
const URL_KEY = /^[\w-]{22}$/;

export interface Endpoints {
  /** Returns a source by name, without a query. */
  source(name: string): SourceDefinition | undefined;
  /** Returns the endpoint `/webhooks/SOURCE/KEY`, or `/webhooks/SOURCE` if the key is undefined. */
  find(source: string, key: string | undefined): MaybePromise<Endpoint | undefined>;
}

export function createEndpoints(options: EndpointsOptions): Endpoints {
  const { store, tenant, secrets, unseal, makeHmacKey, now, monotonic = now } = options;
  const definitions = new Map(options.sources.map((source) => [source.id, source]));

  const shared = new Map<string, Endpoint>();
  for (const source of options.sources) {
    // If the payloads identify the tenant, only sources that name an installation can be shared.
    if (tenant === undefined && !source.namesInstallation) continue;
    const config = source.config?.parse({}) ?? {};
    const scheme = source.signature(config);
    shared.set(source.id, {
      source,
      id: source.id,
      tenant,
      config,
      scheme,
      signingKeys: (secrets[source.id] ?? []).map((secret) => ({
        key: makeSigningKey(scheme, secret, makeHmacKey),
        expiresAt: null,
      })),
    });
  }

  const load = async (kind: string, key: string): Promise<Endpoint | undefined> => {
    const source = definitions.get(kind);
    const stored = source && (await wrapStoreErrors(store.findSource(key)));
    if (!stored || stored.kind !== kind) return undefined;
    const config = source.config?.parse(stored.config) ?? {};
    const scheme = source.signature(config);
    return {
      source,
      id: stored.id,
      tenant: stored.tenant,
      config,
      scheme,
      signingKeys: await Promise.all(
        stored.secrets.map(async (secret) => ({
          key: makeSigningKey(scheme, await unseal(secret.sealed), makeHmacKey),
          expiresAt: secret.expires_at,
        })),
      ),
    };
  };

  const endpointCache = new BoundedMap<string, { until: number; endpoint: Endpoint }>(10_000);
  const unknownKeyCache = new BoundedMap<string, { until: number; endpoint: undefined }>(1_000);

  return {
    source: (name) => definitions.get(name),
    find(kind, key) {
      if (key === undefined) return shared.get(kind);
      if (!URL_KEY.test(key) || !definitions.has(kind)) return undefined;
      const path = `${kind}/${key}`;
      for (const entry of [endpointCache.get(path), unknownKeyCache.get(path)])
        if (entry && entry.until > monotonic()) return entry.endpoint;
      return load(kind, key).then((endpoint) => {
        const until = monotonic() + CACHE_MS;
        if (endpoint) endpointCache.set(path, { until, endpoint });
        else unknownKeyCache.set(path, { until, endpoint });
        return endpoint;
      });
    },
  };
}
