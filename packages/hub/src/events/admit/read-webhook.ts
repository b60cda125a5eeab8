/**
 * Reads the events of a webhook whose signature is valid. Large bodies are read by a job, so that they do
 * not block the event loop; the result is the same.
 */

import { MAX_ID, MAX_TYPE } from "@signalbox/contract/event-limits.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { createHeaderReader } from "../../kernel/http/header-reader.ts";
import { type IngestOutcome, type Rejection, rejection } from "../../kernel/http/ingest-outcome.ts";
import { defineJob, type RunJob, type ValueJob } from "../../kernel/jobs/job.ts";
import { textProblem } from "../../kernel/lib/text-problem.ts";
import type { Summary } from "../model.ts";
import { sources } from "../sources/index.ts";
import { sanitizeSummary } from "../sources/summary.ts";
import { checkSentAt } from "./check-signature.ts";
import type { DecodedEvent, Installation, SourceDefinition, VerifiedRequest } from "./source.ts";

type ReadEvent = Pick<DecodedEvent, "type" | "externalId" | "part" | "headers"> & {
  summary: Summary;
};

export interface ReadWebhook {
  events: readonly ReadEvent[];
  /** The parsed bodies of the events; undefined if a job has parsed them. */
  data?: readonly JsonObject[];
  installation(): Installation | undefined;
  /** Returns whether all events are exempt from the quota. */
  skipsQuota(): boolean;
}

interface ReadOptions {
  /** If true, the time of sending in the body is checked. */
  isSigned: boolean;
  now: number;
}

export function readWebhook(
  source: SourceDefinition,
  request: VerifiedRequest,
  { isSigned, now }: ReadOptions,
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

/** A webhook without its body. If `isSigned` is true, the hub has verified its signature. */
export interface WebhookToRead extends ReadOptions {
  source: string;
  contentType: string;
  headers: Record<string, readonly string[]>;
  config: Record<string, unknown>;
  maxValues: number;
}

type ReadLargeWebhook =
  | IngestOutcome
  | { events: readonly ReadEvent[]; installation: Installation | null; skipsQuota: boolean };

export const webhookJob = defineJob({
  name: "webhook",
  reads: "bytes",
  run({ data: bytes, ...webhook }: WebhookToRead & { data: Uint8Array }): ReadLargeWebhook {
    const { contentType, headers, config, maxValues, isSigned, now } = webhook;
    const source = sources.find(({ id }) => id === webhook.source);
    if (!source) throw new Error(`There is no source ${webhook.source}.`);
    const { header, rejectRepeated } = createHeaderReader((name) => headers[name] ?? []);
    const headerNames = () => Object.keys(headers);
    const request = { contentType, header, headerNames, bytes, config, maxValues };
    const read = readWebhook(source, request, { isSigned, now });
    const repeated = rejectRepeated();
    if (repeated) return repeated;
    if ("outcome" in read) return read;
    const { events, installation, skipsQuota } = read;
    return { events, installation: installation() ?? null, skipsQuota: skipsQuota() };
  },
});

/** Reads a large webhook. The workers serve its queues round robin. */
export async function readLargeWebhook(
  runJob: RunJob,
  webhook: WebhookToRead,
  { bytes, queue }: { bytes: Uint8Array; queue: string },
): Promise<ReadWebhook | IngestOutcome> {
  const read = await readInJob(webhookJob, runJob, { ...webhook, data: bytes }, queue);
  if ("outcome" in read) return read;
  const { events, installation, skipsQuota } = read;
  return { events, installation: () => installation ?? undefined, skipsQuota: () => skipsQuota };
}

/** The maximum time that a large body waits in the queue of the workers. */
const READ_WAIT_MS = 10_000;
/** The maximum time in which a job reads a large body. */
const READ_TIMEOUT_MS = 10_000;

/** Reads a large body by a job. Returns a rejection if the job cannot read it within its limits. */
export async function readInJob<Input extends object, Output>(
  job: ValueJob<Input, Output>,
  runJob: RunJob,
  request: Input & { data: Uint8Array },
  queue: string,
): Promise<Output | Rejection> {
  const result = await job.request(
    runJob,
    { ...request, timeoutMs: READ_TIMEOUT_MS },
    { tenant: queue, signal: new AbortController().signal, maxWaitMs: READ_WAIT_MS },
  );
  if (!("error" in result)) return result.output;
  const problem = `Reading the body ${result.message}`;
  return result.error === "code_timeout"
    ? rejection("busy", `${problem}. Send the event again later.`, { retryAfter: 10 })
    : rejection("body_too_large", `${problem}. Send less in one request.`);
}

/** Checks the type and the delivery id. */
function checkEvent({ type, externalId, inHeaders = [] }: DecodedEvent): Rejection | undefined {
  const checkText = (property: "type" | "externalId", name: string, text: string, max: number) => {
    const problem = textProblem(text, max);
    return problem === undefined
      ? undefined
      : rejection(
          inHeaders.includes(property) ? "invalid_header" : "invalid_field",
          `The ${name} ${problem}.`,
        );
  };
  return (
    checkText("type", "event type", type, MAX_TYPE) ??
    checkText("externalId", "delivery id", externalId ?? "", MAX_ID)
  );
}
