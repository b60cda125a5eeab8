/** Checks whether a request is signed with one of the endpoint's secrets, and when it was sent. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import { type Rejection, rejection } from "../../kernel/http/ingest-outcome.ts";
import type { Endpoint } from "./endpoints.ts";
import type { SignatureStatus, SignedRequest } from "./signatures.ts";
import type { SourceDefinition } from "./source.ts";

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
