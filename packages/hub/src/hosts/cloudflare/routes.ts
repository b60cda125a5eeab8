/**
 * Chooses the Durable Object that serves a request, if every tenant has its own. A request for one
 * tenant goes to that tenant's `WebhookStore`, a request for several tenants to a `WebhookMcpAgent`, any
 * other request to the `TenantRegistry`. The registry also rejects requests without a valid token. A
 * wrong choice would disclose no data, since each object authorizes its requests.
 *
 * Look-ups in the registry are cached, so that a request usually calls only one object. The caches contain
 * values, never promises: in a Worker, a request cannot await a promise of another request.
 */

import { checkSignature } from "../../events/admit/check-signature.ts";
import { createEndpoints } from "../../events/admit/endpoints.ts";
import { readWebhook } from "../../events/admit/read-webhook.ts";
import {
  isIngestPath,
  TRIGGER_CALLBACK,
  toIncomingRequest,
  WEBHOOKS,
} from "../../events/admit/receive-request.ts";
import { sources } from "../../events/sources/index.ts";
import { EVERY_TENANT } from "../../kernel/access/scopes.ts";
import { createSessionCookie } from "../../kernel/http/cookie.ts";
import { mediaType } from "../../kernel/http/decode.ts";
import { createHeaderReader } from "../../kernel/http/header-reader.ts";
import { isRejection, toAnswer } from "../../kernel/http/ingest-outcome.ts";
import { bearerToken, separateQueryToken } from "../../kernel/http/request-token.ts";
import { BoundedMap } from "../../kernel/lib/bounded-map.ts";
import { sha256Hex, webHmacKey } from "../../kernel/lib/hmac.ts";
import type { Settings } from "../../settings.ts";
import { agentObject, type Bindings, registryObject, storeObject } from "./bindings.ts";
import { pathOf } from "./live.ts";

export async function forward(
  request: Request,
  env: Bindings,
  settings: Settings,
): Promise<Response> {
  const path = pathOf(request.url);
  if (path.startsWith(WEBHOOKS)) return forwardWebhook(request, env, settings);
  if (path.startsWith(TRIGGER_CALLBACK) && isIngestPath(path)) {
    const tenant = new URL(request.url).searchParams.get("tenant");
    const exists = tenant !== null && (await tenantExists(env, tenant));
    return (exists ? storeObject(env, tenant) : registryObject(env)).fetch(request);
  }
  const [tenant, another] = await tenantsOf(request, env, settings);
  if (tenant === undefined) return registryObject(env).fetch(request);
  return (another === undefined ? storeObject(env, tenant) : agentObject(env, tenant)).fetch(
    request,
  );
}

/** Creates a cached look-up in the registry. Missing values are not cached. */
function createLookUp<Value>(
  find: (env: Bindings, key: string) => Promise<Value | undefined>,
  cacheMs: number,
) {
  const cache = new BoundedMap<string, { value: Value; until: number }>(10_000);
  return async (env: Bindings, key: string): Promise<Value | undefined> => {
    const cached = cache.get(key);
    if (cached && cached.until > performance.now()) return cached.value;
    const value = await find(env, key);
    if (value !== undefined) cache.set(key, { value, until: performance.now() + cacheMs });
    return value;
  };
}

const grantedTenants = createLookUp(async (env, hash) => {
  const tenants = await registryObject(env).tenantsOf(hash);
  return tenants.length > 0 ? tenants : undefined;
}, 5_000);
const tenantExists = createLookUp(
  async (env, id) => (await registryObject(env).hasTenant(id)) || undefined,
  60_000,
);
const tenantOfKey = createLookUp((env, key) => registryObject(env).tenantOfKey(key), 60_000);
const tenantOfInstallation = createLookUp(
  (env, id) => registryObject(env).tenantOfInstallation(id),
  60_000,
);

/** The requested tenants that the token or session can access. If empty, the registry serves the request. */
async function tenantsOf(
  request: Request,
  env: Bindings,
  { publicUrl }: Settings,
): Promise<readonly string[]> {
  const { headers, url } = request;
  const secret =
    bearerToken(headers.get("authorization")) ??
    separateQueryToken(pathOf(url)).token ??
    createSessionCookie(publicUrl).read(headers);
  if (!secret) return [];
  const granted = (await grantedTenants(env, await sha256Hex(secret))) ?? [];
  const requested = new URL(url).searchParams.get("tenant") ?? headers.get("x-signalbox-tenant");
  const isForAll = granted.includes(EVERY_TENANT);
  if (requested === null) return isForAll ? [] : granted.toSorted();
  return isForAll || granted.includes(requested) ? [requested] : [];
}

async function forwardWebhook(
  request: Request,
  env: Bindings,
  { secrets }: Settings,
): Promise<Response> {
  const [, , kind = "", key] = new URL(request.url).pathname.split("/");
  if (key !== undefined) {
    const tenant = await tenantOfKey(env, key);
    return (tenant === undefined ? registryObject(env) : storeObject(env, tenant)).fetch(request);
  }
  // Created for each request, since it caches the promises of imported keys.
  const endpoints = createEndpoints({
    sources,
    store: { findSource: async () => undefined },
    secrets,
    tenant: undefined,
    unseal: async (sealed) => sealed,
    makeHmacKey: webHmacKey,
    now: Date.now,
  });
  const endpoint = await endpoints.find(kind, undefined);
  if (!endpoint || request.method !== "POST") return registryObject(env).fetch(request);
  const { header: values, headerNames, body } = toIncomingRequest(request, NO_ROUTE);
  const bytes = await body(endpoint.source.maxBytes);
  if (isRejection(bytes)) return toResponse(bytes);
  const { header } = createHeaderReader(values);
  const now = Date.now();
  const rejected = await checkSignature(endpoint, { header, body: bytes, now });
  if (rejected) return toResponse(rejected);
  const webhook = readWebhook(
    endpoint.source,
    {
      contentType: mediaType(header("content-type") ?? ""),
      header,
      headerNames,
      bytes,
      config: endpoint.config,
    },
    { isSigned: true, now },
  );
  const installation = "outcome" in webhook ? undefined : webhook.installation()?.id;
  const tenant =
    installation === undefined ? undefined : await tenantOfInstallation(env, installation);
  const { method, headers, url } = request;
  const copy = new Request(url, { method, headers, body: new Uint8Array(bytes) });
  return (tenant === undefined ? registryObject(env) : storeObject(env, tenant)).fetch(copy);
}

const NO_ROUTE = { source: "", key: undefined, address: "" };

function toResponse(outcome: Parameters<typeof toAnswer>[0]): Response {
  const { status, headers, body } = toAnswer(outcome);
  return new Response(body, { status, headers });
}
