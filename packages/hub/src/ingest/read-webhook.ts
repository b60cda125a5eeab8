/**
 * Reads the events of a webhook whose signature is valid: small bodies here, and large ones in the
 * sandbox, so that no body blocks the event loop. Both return the same.
 */
import type { Evaluate, WebhookToRead } from "@signalbox/rules/flows/evaluation.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { parseIfLarge } from "@signalbox/rules/large-json.ts";
import type { Summary } from "../store/store.ts";
import { checkSentAt } from "./check-signature.ts";
import { MAX_ID, MAX_TYPE, textProblem } from "./check-text.ts";
import type { VerifiedRequest } from "./extractor.ts";
import { createHeaderReader } from "./header-reader.ts";
import { type IngestOutcome, type Rejection, rejection } from "./ingest-outcome.ts";
import { READ_TIMEOUT_MS, READ_WAIT_MS, rejectUnread } from "./reject-unread.ts";
import { sanitizeSummary } from "./sanitize-summary.ts";
import type { DecodedEvent, Installation, SourceDefinition } from "./source.ts";

type ReadEvent = Pick<DecodedEvent, "type" | "externalId" | "part" | "headers"> & {
  summary: Summary;
};

export interface ReadWebhook {
  events: readonly ReadEvent[];
  /** The bodies of the events; undefined if the sandbox has read them. */
  data?: readonly JsonObject[];
  installation(): Installation | undefined;
  /** Whether the source stores all of the events even above the quota. */
  skipsQuota(): boolean;
}

/** When the webhook is read, and whether it was signed. */
interface Reading {
  isSigned: boolean;
  now: number;
}

export function readWebhook(
  source: SourceDefinition,
  request: VerifiedRequest,
  { isSigned, now }: Reading,
): ReadWebhook | IngestOutcome {
  const decoded = source.decode(request);
  if (!Array.isArray(decoded)) return decoded;
  for (const event of decoded) {
    const invalid = (isSigned && checkSentAt(source, event.body, now)) || checkEvent(event);
    if (invalid) return invalid;
  }
  return {
    events: decoded.map(({ type, externalId, part, headers, body }) => ({
      type,
      externalId,
      ...(part && { part }),
      ...(headers && { headers }),
      summary: sanitizeSummary(source.summarize(type, body)),
    })),
    data: decoded.map(({ body }) => body),
    installation: () => decoded[0] && source.installation(decoded[0].type, decoded[0].body),
    skipsQuota: () => decoded.every(({ type, body }) => source.skipsQuota(type, body)),
  };
}

/** What the sandbox returns. */
interface SandboxResult {
  outcome?: IngestOutcome;
  read?: { events: ReadEvent[]; installation: Installation | null; skipsQuota: boolean };
}

/** Runs in the sandbox. */
export function readWebhookInSandbox(
  source: SourceDefinition,
  { contentType, headers, config, maxValues, ...reading }: WebhookToRead,
  bytes: Uint8Array,
): SandboxResult {
  const { header, repeated } = createHeaderReader((name) => headers[name] ?? []);
  const headerNames = () => Object.keys(headers);
  const request = { contentType, header, headerNames, bytes, config, maxValues };
  const read = readWebhook(source, request, reading);
  const ambiguous = repeated();
  if (ambiguous) return { outcome: ambiguous };
  if ("outcome" in read) return { outcome: read };
  const { events, installation, skipsQuota } = read;
  return {
    read: {
      events: [...events],
      installation: installation() ?? null,
      skipsQuota: skipsQuota(),
    },
  };
}

/** Reads a large webhook. The sandbox evaluates one webhook of a `queue` after the other. */
export async function readLargeWebhook(
  evaluate: Evaluate,
  webhook: WebhookToRead,
  { bytes, queue }: { bytes: Uint8Array; queue: string },
): Promise<ReadWebhook | IngestOutcome> {
  const result = await evaluate(
    { language: "webhook", webhook, data: bytes, timeoutMs: READ_TIMEOUT_MS },
    { tenant: queue, signal: new AbortController().signal, maxWaitMs: READ_WAIT_MS },
  );
  if ("error" in result) return rejectUnread(result);
  const { outcome, read } = parseIfLarge(result.output) as unknown as SandboxResult;
  if (!read) return outcome as IngestOutcome;
  const { events, installation, skipsQuota } = read;
  return { events, installation: () => installation ?? undefined, skipsQuota: () => skipsQuota };
}

/** Checks the type and the delivery id. */
function checkEvent({ type, externalId, inHeaders = [] }: DecodedEvent): Rejection | undefined {
  const checkText = (part: "type" | "externalId", name: string, text: string, max: number) => {
    const problem = textProblem(text, max);
    return problem === undefined
      ? undefined
      : rejection(
          inHeaders.includes(part) ? "invalid_header" : "invalid_field",
          `The ${name} ${problem}.`,
        );
  };
  return (
    checkText("type", "event type", type, MAX_TYPE) ??
    checkText("externalId", "delivery id", externalId ?? "", MAX_ID)
  );
}
