/**
 * Bytes → a verified arrival, ready to be stored, or a named refusal. The gates stand in order, the
 * cheap ones first: address, rate, signature, tenant; quota and duplicates are decided in the
 * transaction that stores. Until the signature's gate nothing of the body is read.
 */
import type { Arrived, NewEvent } from "../store/store.ts";
import type { Tenancy } from "../tenants/tenancy.ts";
import type { Arrival } from "./arrival.ts";
import { cleanSummary } from "./clean.ts";
import type { Endpoint, Endpoints } from "./endpoints.ts";
import { isRefusal, type Outcome, type Refusal, refuse } from "./outcome.ts";
import type { Verdict } from "./signatures.ts";
import type { Reading } from "./source.ts";

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

export interface Admitted {
  outcome: "admitted";
  arrived: Arrived;
  /** The sender wants an empty 200. */
  bare: boolean;
}

const MAX_ID = 500;
const MAX_TYPE = 200;

export function createIngest(options: IngestOptions) {
  const { endpoints, tenancy, isGithubAddress, rateLimit, allowUnsigned, newId, now } = options;

  return async function admit(arrival: Arrival): Promise<Admitted | Outcome> {
    // Here and below: awaiting what is there already would put every request off a turn.
    const found = endpoints.find(arrival.source, arrival.key);
    const endpoint = found instanceof Promise ? await found : found;
    if (!endpoint) return unknownSource(arrival);
    const { source } = endpoint;

    if (isGithubAddress && source.githubAddressesOnly && !isGithubAddress(arrival.address))
      return refuse(
        "address_not_allowed",
        `${arrival.address} is not one of GitHub's hook addresses. Behind a proxy, name its header in SIGNALBOX_PROXY_HEADER; to let any address send, set GITHUB_IP_ALLOWLIST=off.`,
      );

    const wait = rateLimit(arrival.address);
    if (wait !== undefined)
      return refuse("rate_limited", "Too many requests from this address; slow down.", {
        retryAfter: wait,
      });

    let twice: string | undefined;
    const header = (name: string): string | undefined => {
      const values = arrival.header(name);
      if (values.length > 1) twice ??= name;
      return values[0];
    };
    const answered = checkMethod(arrival, endpoint, header) ?? checkContentType(endpoint, header);
    if (answered) return answered;

    const bytes = await arrival.body(source.maxBytes);
    if (isRefusal(bytes)) return bytes;

    const forged = await checkSignature(endpoint, { header, body: bytes, now: now() });
    if (twice) return givenTwice(twice);
    if (forged) return forged;

    const readings = source.decode({
      contentType: mediaType(header("content-type")),
      header,
      headerNames: arrival.headerNames,
      bytes,
      config: endpoint.config,
    });
    if (twice) return givenTwice(twice);
    if (!Array.isArray(readings)) return readings;

    const tenant = endpoint.tenant ?? (await tenantOf(endpoint, readings));
    if (tenant === undefined)
      return refuse(
        "unknown_tenant",
        "The delivery names no installation that this hub knows. Install the GitHub App, or send a repository's own webhooks to an endpoint with a key.",
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
      outcome: "admitted",
      bare: source.bareAnswer,
      arrived: {
        tenant,
        events,
        skipQuota: readings.every(({ type }) => source.skipsQuota(type)),
      },
    };
  };

  async function checkSignature(
    { source, scheme, keys }: Endpoint,
    request: Parameters<typeof scheme.verify>[0],
  ): Promise<Refusal | undefined> {
    if (keys.length === 0) {
      if (allowUnsigned) return undefined;
      return refuse(
        "no_secret",
        `No secret is configured for ${source.title}, so nothing from it can be trusted. Set ${secretVariable(source.id)}, or add an endpoint with \`signalbox source add ${source.id}\`.`,
      );
    }
    let verdict: Verdict = "mismatch";
    for (const { key, expiresAt } of keys) {
      if (expiresAt !== null && expiresAt <= request.now) continue;
      verdict = await scheme.verify(request, key);
      if (verdict !== "mismatch") break;
    }
    if (verdict === "valid") return undefined;
    const names = scheme.reads.join(", ");
    const details: Record<Exclude<Verdict, "valid">, string> = {
      missing: `The delivery is not signed: it lacks ${names}. Set the same secret at the sender and here.`,
      malformed: `The signature (${names}) is not in the form that ${source.title} uses.`,
      mismatch: `The signature does not fit the body. Check that the secret at ${source.title} is the one configured here, and that nothing on the way changes the body.`,
      expired: "The signed time is too far off from ours. Check the clocks of both sides.",
    };
    return refuse(`signature_${verdict}`, details[verdict]);
  }

  async function tenantOf(endpoint: Endpoint, readings: Reading[]): Promise<string | undefined> {
    const [reading] = readings;
    return reading && tenancy?.resolve(endpoint.source.installation(reading.type, reading.body));
  }
}

/** The environment variable with the secrets of a source. */
export const secretVariable = (source: string): string =>
  `${source.toUpperCase().replaceAll("-", "_")}_WEBHOOK_SECRET`;

const mediaType = (contentType: string | undefined): string =>
  (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";

const unknownSource = ({ source, key }: Arrival): Refusal =>
  refuse(
    "unknown_source",
    key === undefined
      ? `There is no webhook endpoint /webhooks/${source.slice(0, 100)}.`
      : "There is no webhook endpoint with this key; it may have been removed.",
  );

function checkMethod(
  { method }: Arrival,
  { source }: Endpoint,
  header: (name: string) => string | undefined,
): Outcome | undefined {
  if (method === "POST") return undefined;
  if (method === "OPTIONS" && source.handshake) return source.handshake(header);
  const allow = source.handshake ? "POST, OPTIONS" : "POST";
  return refuse("method_not_allowed", `Webhooks come by POST, not ${method}.`, { allow });
}

function checkContentType(
  { source }: Endpoint,
  header: (name: string) => string | undefined,
): Refusal | undefined {
  const given = header("content-type");
  return source.accepts(mediaType(given))
    ? undefined
    : refuse(
        "unsupported_media_type",
        `${source.title} sends ${source.acceptsWords}, but the content type is ${given ? `"${given.slice(0, 100)}"` : "missing"}.`,
      );
}

function checkReading({ type, externalId }: Reading): Refusal | undefined {
  if (type.length > MAX_TYPE)
    return refuse("invalid_header", `The event's type is longer than ${MAX_TYPE} characters.`);
  if (externalId !== null && externalId.length > MAX_ID)
    return refuse("invalid_header", `The delivery's id is longer than ${MAX_ID} characters.`);
  if (!isPrintable(type) || (externalId !== null && !isPrintable(externalId)))
    return refuse("invalid_header", "The delivery's id or type holds control characters.");
  return undefined;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it looks for
const isPrintable = (text: string) => !/[\u0000-\u001f\u007f]/.test(text) && text.isWellFormed();

const givenTwice = (name: string): Refusal =>
  refuse("duplicate_header", `The header ${name} was given more than once.`);

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
