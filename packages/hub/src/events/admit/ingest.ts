/**
 * Turns a webhook request into verified events that are ready to be stored, or into a rejection with
 * a reason. The checks run in this order, cheap ones first: address, rate, endpoint, headers,
 * signature, body, tenant. The database is not queried before the rate limit is checked, and the body
 * is not parsed before its signature is verified. The quota and duplicates are checked later, by the
 * transaction that stores the events.
 *
 * Rejections by the checks from endpoint to signature count towards the failure limit of the address. If
 * an address exceeds that limit, the hub still accepts its signed requests, because senders can share an
 * address.
 */

import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { checkContentEncoding, evidenceOfRemoteOrigin } from "../../kernel/http/check-request.ts";
import { mediaType } from "../../kernel/http/decode.ts";
import { createHeaderReader } from "../../kernel/http/header-reader.ts";
import {
  type IngestOutcome,
  isRejection,
  type Rejection,
  rejection,
} from "../../kernel/http/ingest-outcome.ts";
import { type RateLimit, UNLIMITED } from "../../kernel/http/rate-limit.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import type { AppendRequest, NewEvent } from "../model.ts";
import { canBeSigned, checkSignature, checkSignatureHeaders } from "./check-signature.ts";
import type { Endpoint, Endpoints } from "./endpoints.ts";
import { readLargeWebhook, readWebhook } from "./read-webhook.ts";
import type { IncomingRequest } from "./receive-request.ts";
import { type NoTenant, type SourceDefinition, secretVariable, type Tenancy } from "./source.ts";

export interface IngestOptions {
  endpoints: Endpoints;
  tenancy: Tenancy | undefined;
  /** Undefined if every address may send. */
  isGithubAddress: ((address: string) => boolean) | undefined;
  rateLimit: RateLimit;
  /** True only on a hub that no other machine can reach. */
  allowUnsigned: boolean;
  /** Reads large bodies. */
  runJob: RunJob;
  /** The maximum number of values in a large body. */
  maxValues: number;
  newId: () => string;
  now: () => number;
}

export interface AcceptedRequest {
  outcome: "accepted";
  appendRequest: AppendRequest;
  /** The sender expects an empty 200. */
  emptyResponse: boolean;
  /** Set for a callback; see `IngestOutcome`. */
  callback?: { type: string };
}

export function createIngest(options: IngestOptions) {
  const {
    endpoints,
    tenancy,
    isGithubAddress,
    rateLimit,
    allowUnsigned,
    runJob,
    maxValues,
    newId,
    now,
  } = options;

  return async function ingest(request: IncomingRequest): Promise<AcceptedRequest | IngestOutcome> {
    const source = endpoints.source(request.source);
    if (!source) return unknownSource(request);

    const { sample } = request;
    if (
      isGithubAddress &&
      source.githubAddressesOnly &&
      !sample &&
      !isGithubAddress(request.address)
    )
      return rejection(
        "address_not_allowed",
        `${request.address} is not one of GitHub's hook addresses. Behind a proxy, name its header in SIGNALBOX_PROXY_HEADER; to let any address send, set GITHUB_IP_ALLOWLIST=off.`,
      );

    const limit = sample ? UNLIMITED : rateLimit;
    const admission = limit.admit(request.address);
    if (admission === "rejected") return tooManyRequests;
    const countFailure = (rejected: Rejection): Rejection => {
      limit.fail(request.address);
      return rejected;
    };
    const rejectUnsigned = (rejected: Rejection): Rejection =>
      admission === "suspect" ? tooManyFailures : countFailure(rejected);

    const { header, rejectRepeated } = createHeaderReader(request.header);

    if (admission === "suspect" && request.key !== undefined && !canBeSigned(source, header))
      return tooManyFailures;
    // A cached endpoint is not awaited: that would defer every request by a microtask.
    const endpointOrPromise = endpoints.find(source.id, request.key);
    const endpoint =
      endpointOrPromise instanceof Promise ? await endpointOrPromise : endpointOrPromise;
    if (!endpoint)
      return rejectUnsigned(request.key === undefined ? keyRequired(source) : unknownKey);
    const isSigned = endpoint.signingKeys.length > 0;

    const outcomeOfHeaders =
      checkMethod(request, source, header) ??
      checkContentType(source, header) ??
      (isSigned
        ? checkSignatureHeaders(endpoint, header)
        : sample
          ? undefined
          : checkUnsigned(request, source, allowUnsigned));
    if (outcomeOfHeaders)
      return isRejection(outcomeOfHeaders) ? rejectUnsigned(outcomeOfHeaders) : outcomeOfHeaders;

    const bytes = await request.body(source.maxBytes);
    if (isRejection(bytes)) return bytes.reason === "busy" ? bytes : countFailure(bytes);

    const badSignature = isSigned
      ? await checkSignature(endpoint, { header, body: bytes, now: now() })
      : undefined;
    // If a header is repeated, only its first value was verified, so the rejection names that header.
    const repeatedInSignature = rejectRepeated();
    if (badSignature) return countFailure(repeatedInSignature ?? badSignature);
    if (repeatedInSignature) return repeatedInSignature;

    const readOptions = { isSigned, now: now() };
    const { config } = endpoint;
    const contentType = mediaType(header("content-type") ?? "");
    const isLarge = bytes.byteLength > LARGE_BYTES;
    const webhook = isLarge
      ? await readLargeWebhook(
          runJob,
          {
            ...readOptions,
            source: source.id,
            contentType,
            headers: publicHeaders(request, endpoint),
            config,
            maxValues,
          },
          { bytes, queue: endpoint.tenant ?? sample?.tenant ?? endpoint.id },
        )
      : readWebhook(
          source,
          { contentType, header, headerNames: request.headerNames, bytes, config },
          readOptions,
        );
    const repeatedInEvent = rejectRepeated();
    if (repeatedInEvent) return repeatedInEvent;
    if ("outcome" in webhook)
      return isSignatureRejection(webhook) ? countFailure(webhook) : webhook;

    const fixedTenant = endpoint.tenant ?? sample?.tenant;
    const owner =
      fixedTenant === undefined ? await tenancy?.resolve(webhook.installation()) : undefined;
    const tenant = fixedTenant ?? owner?.tenant;
    if (tenant === undefined) return withoutTenant[owner?.reason ?? "none"];

    const received = now();
    const headers = storedHeaders(endpoint, header);
    const requestContentType = header("content-type") ?? "";
    const events = webhook.events.map(
      ({ type, externalId, summary, part, headers: eventHeaders }): NewEvent => ({
        id: newId(),
        source: source.id,
        source_id: endpoint.id,
        external_id: externalId,
        type,
        received_at: received,
        ...summary,
        content_type: part?.contentType ?? requestContentType,
        headers: eventHeaders ? { ...headers, ...eventHeaders } : headers,
        body: part ? bytes.subarray(part.start, part.end) : bytes,
      }),
    );
    return {
      outcome: "accepted",
      emptyResponse: source.emptyResponse,
      appendRequest: {
        tenant,
        events,
        ...(webhook.data && { data: webhook.data }),
        skipQuota: request.key === undefined && webhook.skipsQuota(),
      },
    };
  };
}

type GetHeader = (name: string) => string | undefined;

function checkMethod(
  { method }: IncomingRequest,
  source: SourceDefinition,
  header: GetHeader,
): IngestOutcome | undefined {
  if (method === "POST") return undefined;
  if (method === "OPTIONS" && source.handshake) return source.handshake(header);
  const allow = source.handshake ? "POST, OPTIONS" : "POST";
  return rejection("method_not_allowed", `Send webhooks with POST, not ${method}.`, { allow });
}

function checkContentType(source: SourceDefinition, header: GetHeader): Rejection | undefined {
  const badEncoding = checkContentEncoding(header);
  if (badEncoding) return badEncoding;
  const contentType = header("content-type");
  return source.accepts(mediaType(contentType ?? ""))
    ? undefined
    : rejection(
        "unsupported_media_type",
        `${source.title} sends ${source.acceptedTypes}, but the content type is ${contentType ? `"${contentType.slice(0, 100)}"` : "missing"}.`,
      );
}

/** Decides whether an endpoint without a secret accepts the request. */
function checkUnsigned(
  request: IncomingRequest,
  source: SourceDefinition,
  allowUnsigned: boolean,
): Rejection | undefined {
  if (!allowUnsigned)
    return rejection(
      "no_secret",
      `No secret is configured for ${source.title}, so its webhooks cannot be verified. Set ${secretVariable(source.id)}, or add an endpoint with \`npx signalbox source add ${source.id}\`.`,
    );
  const evidence = evidenceOfRemoteOrigin(request);
  if (evidence === undefined) return undefined;
  return rejection(
    "browser_origin",
    `Without a secret this hub accepts webhooks only from programs on this machine, but ${evidence}. Set ${secretVariable(source.id)} here and at the sender.`,
  );
}

/**
 * `readWebhook` rejects a signed time that is missing or too old. That counts as a failed signature.
 */
const isSignatureRejection = (outcome: IngestOutcome): outcome is Rejection =>
  isRejection(outcome) && /^signature_/.test(outcome.reason);

const CREDENTIALS: readonly string[] = ["authorization", "proxy-authorization", "cookie"];

/** All headers except those with credentials, because jobs must not get credentials. */
const publicHeaders = (
  request: IncomingRequest,
  { scheme }: Endpoint,
): Record<string, readonly string[]> =>
  Object.fromEntries(
    request
      .headerNames()
      .filter((name) => !CREDENTIALS.includes(name) && !scheme.credentials.includes(name))
      .map((name) => [name, request.header(name)]),
  );

function storedHeaders({ scheme, source }: Endpoint, header: GetHeader): Record<string, string> {
  const stored: Record<string, string> = {};
  for (const names of [scheme.headers, source.headers])
    for (const name of names) {
      const value = header(name);
      if (value !== undefined) stored[name] = value;
    }
  return stored;
}

export const tooManyRequests = rejection(
  "rate_limited",
  "This address sends too many requests; send the event again later, or raise SIGNALBOX_RATE_LIMIT.",
  { retryAfter: 1 },
);

const tooManyFailures = rejection(
  "rate_limited",
  "Too many webhooks from this address were rejected before or by the signature check. The responses to them name the error; correct it, then send the webhook again. Signed webhooks are still accepted.",
  { retryAfter: 1 },
);

const unknownSource = ({ source }: IncomingRequest): Rejection =>
  rejection("unknown_source", `There is no webhook endpoint /webhooks/${source.slice(0, 100)}.`);

const unknownKey = rejection(
  "unknown_source",
  "There is no webhook endpoint with this key; it may have been removed.",
);

const keyRequired = ({ id, title }: SourceDefinition): Rejection =>
  rejection(
    "unknown_source",
    `On this hub every GitHub account is a tenant, and webhooks from ${title} do not identify one: send them to an endpoint with a key. \`npx signalbox source add ${id} --tenant ACCOUNT_ID\` creates one.`,
  );

const KEY_HINT =
  "To receive webhooks of a repository without the App, send them to an endpoint with a key: `npx signalbox source add github --tenant ACCOUNT_ID` creates one.";

/** For webhooks that belong to no tenant, in the mode with one tenant per GitHub account. */
const withoutTenant: Record<NoTenant, Rejection> = {
  none: rejection(
    "unknown_tenant",
    `The payload names no installation of the GitHub App, so the hub does not know whose event it is. Set the URL as the webhook URL of the App. ${KEY_HINT}`,
  ),
  unknown: rejection(
    "unknown_tenant",
    `The payload names an installation that this hub does not know. Install the GitHub App, or redeliver the App's event \`installation\`; with GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY the hub looks up installations itself. ${KEY_HINT}`,
  ),
  removed: rejection(
    "unknown_tenant",
    "The installation was removed. Install the GitHub App again to receive its events.",
  ),
  suspended: rejection(
    "installation_suspended",
    "The account has suspended the GitHub App. After it is unsuspended, GitHub can redeliver this webhook.",
  ),
  unavailable: rejection(
    "github_unavailable",
    "The installation is unknown, and GitHub did not answer the hub's request for it. Redeliver the webhook later.",
    { retryAfter: 30 },
  ),
};
