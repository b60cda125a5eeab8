/**
 * Resolves a path such as `/webhooks/stripe/KEY` to a source, a tenant and secrets. Endpoints are cached
 * for a few seconds, so that not every webhook queries the database; an added or removed secret takes
 * effect within that time. Unknown keys have a separate cache, so that guessed keys evict no endpoint.
 */
import { BoundedMap } from "../lib/bounded-map.ts";
import type { MakeHmacKey, MaybePromise } from "../lib/hmac.ts";
import type { Store } from "../store/store.ts";
import { fromStore } from "./from-store.ts";
import { type Key, makeKey, type SignatureScheme } from "./signatures.ts";
import type { SourceDefinition } from "./source.ts";

export interface Endpoint {
  source: SourceDefinition;
  /** Delivery ids are unique per endpoint. */
  id: string;
  /** Undefined if the payload identifies the tenant. */
  tenant: string | undefined;
  config: Record<string, unknown>;
  scheme: SignatureScheme;
  keys: { key: Key; expiresAt: number | null }[];
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

/** The format of the keys that `signalbox source add` creates. */
const KEY = /^[\w-]{22}$/;

export interface Endpoints {
  /** Returns a source by name, without a query. */
  source(name: string): SourceDefinition | undefined;
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
      keys: (secrets[source.id] ?? []).map((secret) => ({
        key: makeKey(scheme, secret, makeHmacKey),
        expiresAt: null,
      })),
    });
  }

  const load = async (kind: string, key: string): Promise<Endpoint | undefined> => {
    const source = definitions.get(kind);
    const found = source && (await fromStore(store.findSource(key)));
    if (!found || found.kind !== kind) return undefined;
    const config = source.config?.parse(found.config) ?? {};
    const scheme = source.signature(config);
    return {
      source,
      id: found.id,
      tenant: found.tenant,
      config,
      scheme,
      keys: await Promise.all(
        found.secrets.map(async (secret) => ({
          key: makeKey(scheme, await unseal(secret.sealed), makeHmacKey),
          expiresAt: secret.expires_at,
        })),
      ),
    };
  };

  const cached = new BoundedMap<string, { until: number; endpoint: Endpoint }>(10_000);
  const unknown = new BoundedMap<string, { until: number; endpoint: undefined }>(1_000);

  return {
    source: (name) => definitions.get(name),
    find(kind, key) {
      if (key === undefined) return shared.get(kind);
      if (!KEY.test(key) || !definitions.has(kind)) return undefined;
      const name = `${kind}/${key}`;
      for (const entry of [cached.get(name), unknown.get(name)])
        if (entry && entry.until > monotonic()) return entry.endpoint;
      return load(kind, key).then((endpoint) => {
        const until = monotonic() + CACHE_MS;
        if (endpoint) cached.set(name, { until, endpoint });
        else unknown.set(name, { until, endpoint });
        return endpoint;
      });
    },
  };
}
