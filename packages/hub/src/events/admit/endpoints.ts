/**
 * Resolves a path such as `/webhooks/stripe/KEY` to a source, a tenant and secrets. Endpoints are cached
 * for a few seconds, so that not every webhook queries the database; an added or removed secret takes
 * effect within that time. Unknown keys have a separate cache, so that guessed keys evict no endpoint.
 *
 * Also checks whether a request is signed with one of the endpoint's secrets.
 */

import type { JsonObject } from "@signalbox/rules/json.ts";
import { type Rejection, rejection } from "../../kernel/http/ingest-outcome.ts";
import { BoundedMap } from "../../kernel/lib/bounded-map.ts";
import type { MakeHmacKey } from "../../kernel/lib/hmac.ts";
import type { MaybePromise } from "../../kernel/lib/maybe-promise.ts";
import { wrapStoreErrors } from "../../kernel/store/availability.ts";
import type { Store } from "../../store.ts";
import {
  makeSigningKey,
  type SignatureScheme,
  type SignatureStatus,
  type SignedRequest,
  type SigningKey,
} from "./signatures.ts";
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

type InvalidStatus = Exclude<SignatureStatus, "valid">;

const missingSignature = ({ scheme }: Endpoint): Rejection =>
  rejection(
    "signature_missing",
    `The webhook is not signed: it lacks ${scheme.reads}. Set the same secret at the sender and here.`,
  );

/** Rejects a request without the headers of the signature, before its body is read. */
export const checkSignatureHeaders = (
  endpoint: Endpoint,
  header: SignedRequest["header"],
): Rejection | undefined =>
  endpoint.scheme.isPresent(header) ? undefined : missingSignature(endpoint);

/**
 * Returns false if the request lacks the signature headers of its source. Returns true if the endpoints
 * of the source configure these headers, because the endpoint is not loaded yet.
 */
export const canBeSigned = (
  { config, signature }: SourceDefinition,
  header: SignedRequest["header"],
): boolean => config !== undefined || signature({}).isPresent(header);

/** If the signature is valid for no secret, the most specific status is reported. */
const specificity = { missing: 0, mismatch: 1, malformed: 2, expired: 3 } as const;

export async function checkSignature(
  endpoint: Endpoint,
  request: SignedRequest,
): Promise<Rejection | undefined> {
  const { source, scheme, signingKeys } = endpoint;
  let reported: InvalidStatus | undefined;
  for (const { key, expiresAt } of signingKeys) {
    if (expiresAt !== null && expiresAt <= request.now) continue;
    const verifying = scheme.verify(request, key);
    const status = verifying instanceof Promise ? await verifying : verifying;
    if (status === "valid") return undefined;
    if (reported === undefined || specificity[status] > specificity[reported]) reported = status;
  }
  reported ??= "mismatch"; // every secret has expired
  if (reported === "missing") return missingSignature(endpoint);
  const details: Record<Exclude<InvalidStatus, "missing">, string> = {
    malformed: `The signature (${scheme.reads}) does not have the format that ${source.title} uses.`,
    mismatch: `The signature does not match the body. Check that the secret at ${source.title} equals the one configured here, and that no proxy changes the body.`,
    expired: EXPIRED,
  };
  return rejection(`signature_${reported}`, details[reported]);
}

const EXPIRED =
  "The signed time differs too much from this hub's clock. Check the clocks of both machines.";

/** Checks the time of sending in the signed body, if the source defines a field for it. */
export function checkSentAt(
  { sentAt, title }: Pick<SourceDefinition, "sentAt" | "title">,
  body: JsonObject,
  now: number,
): Rejection | undefined {
  if (!sentAt) return undefined;
  const sent = body[sentAt.field];
  if (typeof sent !== "number")
    return rejection(
      "signature_malformed",
      `The field ${sentAt.field}, in which ${title} sends the signed time, must be a number.`,
    );
  return Math.abs(now - sent) <= sentAt.toleranceMs
    ? undefined
    : rejection("signature_expired", EXPIRED);
}
