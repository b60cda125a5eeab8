/**
 * Bytes → a verified arrival, ready to be stored, or a named rejection. The gates stand in order, the
 * cheap ones first: address, rate, endpoint, signature, tenant; quota and duplicates are decided in
 * the transaction that stores. Until the rate's gate no database is asked, and until the signature's
 * nothing of the body is read.
 */
import type { AppendRequest, NewEvent } from "../store/store.ts";
import { isLoopback } from "./addresses.ts";
import { cleanSummary } from "./clean.ts";
import { mediaType } from "./decode.ts";
import type { Endpoint, Endpoints } from "./endpoints.ts";
import type { IncomingRequest } from "./incoming-request.ts";
import { type IngestOutcome, isRejection, type Rejection, rejection } from "./ingest-outcome.ts";
import type { Verdict } from "./signatures.ts";
import type { Reading, SourceDefinition, Tenancy } from "./source.ts";

export interface IngestOptions {
  endpoints: Endpoints;
  tenancy: Tenancy | undefined;
  /** Undefined where any address may send. */
  isGithubAddress: ((address: string) => boolean) | undefined;
  /** The seconds that a client has to wait, if any. */
  rateLimit: (address: string) => number | undefined;
  /** Only ever true on a hub that nobody else can reach. */
  allowUnsigned: boolean;
  newId: () => string;
  now: () => number;
}

export interface AcceptedRequest {
  outcome: "accepted";
  appendRequest: AppendRequest;
  /** The sender wants an empty 200. */
  bare: boolean;
}

const MAX_ID = 500;
const MAX_TYPE = 200;

export function createIngest(options: IngestOptions) {
  const { endpoints, tenancy, isGithubAddress, rateLimit, allowUnsigned, newId, now } = options;

  return async function ingest(arrival: IncomingRequest): Promise<AcceptedRequest | IngestOutcome> {
    const source = endpoints.source(arrival.source);
    if (!source) return unknownSource(arrival);

    if (isGithubAddress && source.githubAddressesOnly && !isGithubAddress(arrival.address))
      return rejection(
        "address_not_allowed",
        `${arrival.address} is not one of GitHub's hook addresses. Behind a proxy, name its header in SIGNALBOX_PROXY_HEADER; to let any address send, set GITHUB_IP_ALLOWLIST=off.`,
      );

    const wait = rateLimit(arrival.address);
    if (wait !== undefined)
      return rejection("rate_limited", "Too many requests from this address; slow down.", {
        retryAfter: wait,
      });

    // Awaiting what is there already would put every request off a turn.
    const found = endpoints.find(source.id, arrival.key);
    const endpoint = found instanceof Promise ? await found : found;
    if (!endpoint) return arrival.key === undefined ? needsKey(source) : unknownKey;

    let twice: string | undefined;
    const header = (name: string): string | undefined => {
      const values = arrival.header(name);
      if (values.length > 1) twice ??= name;
      return values[0];
    };
    const answered =
      checkMethod(arrival, source, header) ??
      checkContentType(source, header) ??
      (endpoint.keys.length === 0 ? checkUnsigned(arrival, source) : undefined);
    if (answered) return answered;

    const bytes = await arrival.body(source.maxBytes);
    if (isRejection(bytes)) return bytes;

    const forged =
      endpoint.keys.length === 0
        ? undefined
        : await checkSignature(endpoint, { header, body: bytes, now: now() });
    if (twice) return givenTwice(twice);
    if (forged) return forged;

    const readings = source.decode({
      contentType: mediaType(header("content-type") ?? ""),
      header,
      headerNames: arrival.headerNames,
      bytes,
      config: endpoint.config,
    });
    if (twice) return givenTwice(twice);
    if (!Array.isArray(readings)) return readings;

    const tenant = endpoint.tenant ?? (await tenantOf(endpoint, readings));
    if (tenant === undefined)
      return rejection(
        "unknown_tenant",
        "The delivery names no installation that this hub knows, or one that was removed. Install the GitHub App, or send a repository's own webhooks to an endpoint with a key.",
      );

    const received = now();
    const kept = keptHeaders(endpoint, header);
    const contentType = header("content-type") ?? "";
    const events: NewEvent[] = [];
    for (const reading of readings) {
      const invalid = checkReading(reading);
      if (invalid) return invalid;
      events.push({
        id: newId(),
        source: source.id,
        source_id: endpoint.id,
        external_id: reading.externalId,
        type: reading.type,
        received_at: received,
        ...cleanSummary(source.summarize(reading.type, reading.body)),
        content_type: reading.part?.contentType ?? contentType,
        headers: reading.headers ? { ...kept, ...reading.headers } : kept,
        body: reading.part?.bytes ?? bytes,
      });
    }
    return {
      outcome: "accepted",
      bare: source.bareAnswer,
      appendRequest: {
        tenant,
        events,
        skipQuota:
          arrival.key === undefined &&
          readings.every(({ type, body }) => source.skipsQuota(type, body)),
      },
    };
  };

  /** Whether an endpoint without a secret takes the request. */
  function checkUnsigned(
    arrival: IncomingRequest,
    source: SourceDefinition,
  ): Rejection | undefined {
    if (!allowUnsigned)
      return rejection(
        "no_secret",
        `No secret is configured for ${source.title}, so nothing from it can be trusted. Set ${secretVariable(source.id)}, or add an endpoint with \`signalbox source add ${source.id}\`.`,
      );
    const sign = cameFromElsewhere(arrival);
    if (sign === undefined) return undefined;
    return rejection(
      "browser_origin",
      `Without a secret this hub takes webhooks only from programs on this machine, but ${sign}. Set ${secretVariable(source.id)} here and at the sender.`,
    );
  }

  async function checkSignature(
    { source, scheme, keys }: Endpoint,
    request: Parameters<typeof scheme.verify>[0],
  ): Promise<Rejection | undefined> {
    let verdict: Exclude<Verdict, "valid"> | undefined;
    for (const { key, expiresAt } of keys) {
      if (expiresAt !== null && expiresAt <= request.now) continue;
      const verifying = scheme.verify(request, key);
      const given = verifying instanceof Promise ? await verifying : verifying;
      if (given === "valid") return undefined;
      if (verdict === undefined || usefulness[given] > usefulness[verdict]) verdict = given;
    }
    verdict ??= "mismatch"; // every secret has expired
    const names = scheme.reads.join(", ");
    const details: Record<Exclude<Verdict, "valid">, string> = {
      missing: `The delivery is not signed: it lacks ${names}. Set the same secret at the sender and here.`,
      malformed: `The signature (${names}) is not in the form that ${source.title} uses.`,
      mismatch: `The signature does not fit the body. Check that the secret at ${source.title} is the one configured here, and that nothing on the way changes the body.`,
      expired: "The signed time is too far off from ours. Check the clocks of both sides.",
    };
    return rejection(`signature_${verdict}`, details[verdict]);
  }

  async function tenantOf(endpoint: Endpoint, readings: Reading[]): Promise<string | undefined> {
    const [reading] = readings;
    return reading && tenancy?.resolve(endpoint.source.installation(reading.type, reading.body));
  }
}

/** The environment variable with the secrets of a source. */
export const secretVariable = (source: string): string =>
  `${source.toUpperCase().replaceAll("-", "_")}_WEBHOOK_SECRET`;

/** Of what several secrets say, the most telling: one that got further in its checks knows more. */
const usefulness = { missing: 0, mismatch: 1, malformed: 2, expired: 3 } as const;

const unknownSource = ({ source }: IncomingRequest): Rejection =>
  rejection("unknown_source", `There is no webhook endpoint /webhooks/${source.slice(0, 100)}.`);

const unknownKey = rejection(
  "unknown_source",
  "There is no webhook endpoint with this key; it may have been removed.",
);

const needsKey = ({ id, title }: SourceDefinition): Rejection =>
  rejection(
    "unknown_source",
    `On this hub every GitHub account is a tenant, and ${title} does not say whose its webhooks are: send them to an endpoint with a key. \`signalbox source add ${id} --tenant ACCOUNT_ID\` makes one.`,
  );

/** A tunnel or proxy brings requests from elsewhere to a hub that only listens on this machine. */
const PROXIED = ["x-forwarded-for", "x-forwarded-host", "forwarded"];

/**
 * Any page that a browser on this machine shows can post to this machine, under the hub's address or
 * under a name of its own that it lets point here (DNS rebinding). What gives such a request away?
 */
function cameFromElsewhere({ header }: IncomingRequest): string | undefined {
  if (header("origin").length > 0) return "this one comes from a page in a browser (Origin)";
  if (header("sec-fetch-site").some((site) => site !== "none" && site !== "same-origin"))
    return "this one comes from a page in a browser (Sec-Fetch-Site)";
  const proxied = PROXIED.find((name) => header(name).length > 0);
  if (proxied) return `this one came through a tunnel or proxy (${proxied})`;
  const hosts = header("host");
  if (hosts.length === 0 || !hosts.every(isLoopbackHost))
    return "this one is not addressed to localhost, 127.0.0.1 or [::1] (Host)";
  return undefined;
}

const isLoopbackHost = (host: string): boolean =>
  isLoopback(/^(\[[^\]]*\]|[^:@]*)(?::\d+)?$/.exec(host.toLowerCase())?.[1] ?? "");

function checkMethod(
  { method }: IncomingRequest,
  source: SourceDefinition,
  header: (name: string) => string | undefined,
): IngestOutcome | undefined {
  if (method === "POST") return undefined;
  if (method === "OPTIONS" && source.handshake) return source.handshake(header);
  const allow = source.handshake ? "POST, OPTIONS" : "POST";
  return rejection("method_not_allowed", `Webhooks come by POST, not ${method}.`, { allow });
}

function checkContentType(
  source: SourceDefinition,
  header: (name: string) => string | undefined,
): Rejection | undefined {
  const encoding = header("content-encoding");
  if (encoding && encoding.toLowerCase() !== "identity")
    return rejection(
      "unsupported_media_type",
      `The body is encoded as "${encoding.slice(0, 100)}"; send it as it is, without Content-Encoding.`,
    );
  const given = header("content-type");
  return source.accepts(mediaType(given ?? ""))
    ? undefined
    : rejection(
        "unsupported_media_type",
        `${source.title} sends ${source.acceptsWords}, but the content type is ${given ? `"${given.slice(0, 100)}"` : "missing"}.`,
      );
}

function checkReading({ type, externalId, inHeaders = [] }: Reading): Rejection | undefined {
  const check = (part: "type" | "externalId", name: string, text: string, most: number) => {
    if (text.length <= most && isPrintable(text)) return undefined;
    return rejection(
      inHeaders.includes(part) ? "invalid_header" : "invalid_field",
      text.length > most
        ? `The ${name} is longer than ${most} characters.`
        : `The ${name} holds control characters.`,
    );
  };
  return (
    check("type", "event's type", type, MAX_TYPE) ??
    check("externalId", "delivery's id", externalId ?? "", MAX_ID)
  );
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it looks for
const isPrintable = (text: string) => !/[\u0000-\u001f\u007f]/.test(text) && text.isWellFormed();

const givenTwice = (name: string): Rejection =>
  rejection("duplicate_header", `The header ${name} was given more than once.`);

function keptHeaders(
  { scheme, source }: Endpoint,
  header: (name: string) => string | undefined,
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const names of [scheme.headers, source.headers])
    for (const name of names) {
      const value = header(name);
      if (value !== undefined) kept[name] = value;
    }
  return kept;
}
