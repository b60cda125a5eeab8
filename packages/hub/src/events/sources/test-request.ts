/** Decodes and verifies requests in tests of sources, without a hub. */

import { decodeObject, mediaType } from "../../kernel/http/decode.ts";
import { type IngestOutcome, isRejection } from "../../kernel/http/ingest-outcome.ts";
import { checkSentAt } from "../admit/check-signature.ts";
import type { SignatureStatus, SigningKey } from "../admit/signatures.ts";
import type { DecodedEvent, SourceDefinition } from "../admit/source.ts";

export interface WireRequest {
  headers: Record<string, string>;
  body: Uint8Array;
}

export const header =
  (headers: Record<string, string>) =>
  (name: string): string | undefined =>
    Object.hasOwn(headers, name) ? headers[name] : undefined;

export const configOf = (source: SourceDefinition, config: Record<string, unknown> = {}) =>
  source.config?.parse(config) ?? {};

export function decode(
  source: SourceDefinition,
  { headers, body }: WireRequest,
  config: Record<string, unknown> = {},
): DecodedEvent[] | IngestOutcome {
  return source.decode({
    contentType: mediaType(headers["content-type"] ?? ""),
    header: header(headers),
    headerNames: () => Object.keys(headers),
    bytes: body,
    config: configOf(source, config),
  });
}

/** Decodes a request that must contain exactly one event. */
export function decodeOne(...request: Parameters<typeof decode>): DecodedEvent {
  const events = decode(...request);
  if (isRejection(events)) throw new Error(`${events.reason}: ${events.detail}`);
  const [event, ...more] = Array.isArray(events) ? events : [];
  if (!event || more.length > 0) throw new Error(`not one event: ${JSON.stringify(events)}`);
  return event;
}

/** Verifies the signature and, if the source has one, the signed time of sending. */
export async function verify(
  source: SourceDefinition,
  { headers, body }: WireRequest,
  key: SigningKey,
  now: number,
  config: Record<string, unknown> = {},
): Promise<SignatureStatus> {
  const scheme = source.signature(configOf(source, config));
  const status = await scheme.verify({ header: header(headers), body, now }, key);
  const decoded = decodeObject("application/json", body);
  if (status !== "valid" || isRejection(decoded)) return status;
  const rejected = checkSentAt(source, decoded.object, now);
  return rejected?.reason === "signature_expired" ? "expired" : rejected ? "malformed" : "valid";
}
