import type { EvaluationError } from "@signalbox/rules/flows/evaluation.ts";
import { type Rejection, rejection } from "./ingest-outcome.ts";

/** For a large body: the maximum time in the queue of the sandbox, and then to read it. */
export const READ_WAIT_MS = 10_000;
export const READ_TIMEOUT_MS = 10_000;

/** The rejection of a body that the sandbox could not read within its limits. */
export function rejectUnread({ error, message }: EvaluationError): Rejection {
  const problem = `Reading the body ${message}`;
  return error === "code_timeout"
    ? rejection("busy", `${problem}. Send the event again later.`, { retryAfter: 10 })
    : rejection("body_too_large", `${problem}. Send less in one request.`);
}
