import type { EvaluationError } from "@signalbox/rules/flows/evaluation.ts";
import { type Rejection, rejection } from "../../kernel/http/ingest-outcome.ts";

/** The maximum time that a large body waits in the queue of the workers. */
export const READ_WAIT_MS = 10_000;
/** The maximum time in which a job reads a large body. */
export const READ_TIMEOUT_MS = 10_000;

/** Returns the rejection of a body that a job could not read within its limits. */
export function rejectUnread({ error, message }: EvaluationError): Rejection {
  const problem = `Reading the body ${message}`;
  return error === "code_timeout"
    ? rejection("busy", `${problem}. Send the event again later.`, { retryAfter: 10 })
    : rejection("body_too_large", `${problem}. Send less in one request.`);
}
