/**
 * Which source, tenant and secrets an address like `/webhooks/stripe/KEY` stands for. Endpoints are
 * remembered for some seconds, so that the database is not asked for every webhook; a secret that
 * was added or withdrawn takes effect within that time. So are keys that are none, in a place of
 * their own: whoever guesses keys pushes no endpoint out.
 */
import { BoundedMap } from "@signalbox/rules/bounded-map.ts";
import type { MakeHmacKey, MaybePromise } from "../lib/hmac.ts";
import type { Store } from "../store/store.ts";
import { fromStore } from "./from-store.ts";
import { type Key, makeKey, type SignatureScheme } from "./signatures.ts";
import type { SourceDefinition } from "./source.ts";

export interface Endpoint {
  source: SourceDefinition;
  /** Delivery ids are unique within one endpoint. */
  id: string;
  /** Undefined where the payload says whose it is. */
  tenant: string | undefined;
  config: Record<string, unknown>;
  scheme: SignatureScheme;
  keys: { key: Key; expiresAt: number | null }[];
}

export interface EndpointsOptions {
  sources: readonly SourceDefinition[];
  store: Pick<Store, "findSource">;
  /** Secrets of the endpoints without a key, by source. */
  secrets: Record<string, readonly string[]>;
  /** Whose events those are; undefined where each payload says. */
  tenant: string | undefined;
  unseal: (sealed: string) => Promise<string>;
  makeHmacKey: MakeHmacKey;
  now: () => number;
}

const REMEMBER_MS = 5_000;

/** As `signalbox source add` makes them. */
const KEY = /^[\w-]{22}$/;

export interface Endpoints {
  /** The source by its name, without asking anybody. */
  source(name: string): SourceDefinition | undefined;
  find(source: string, key: string | undefined): MaybePromise<Endpoint | undefined>;
}

export function createEndpoints(options: EndpointsOptions): Endpoints {
  const { store, tenant, secrets, unseal, makeHmacKey, now } = options;
  const definitions = new Map(options.sources.map((source) => [source.id, source]));

  const shared = new Map<string, Endpoint>();
  for (const source of options.sources) {
    // With a tenant per payload, only a source that names an installation can be shared by all.
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

  const remembered = new BoundedMap<string, { until: number; endpoint: Endpoint }>(10_000);
  const unknown = new BoundedMap<string, { until: number; endpoint: undefined }>(1_000);

  return {
    source: (name) => definitions.get(name),
    find(kind, key) {
      if (key === undefined) return shared.get(kind);
      if (!KEY.test(key) || !definitions.has(kind)) return undefined;
      const name = `${kind}/${key}`;
      for (const known of [remembered.get(name), unknown.get(name)])
        if (known && known.until > now()) return known.endpoint;
      return load(kind, key).then((endpoint) => {
        const until = now() + REMEMBER_MS;
        if (endpoint) remembered.set(name, { until, endpoint });
        else unknown.set(name, { until, endpoint });
        return endpoint;
      });
    },
  };
}
