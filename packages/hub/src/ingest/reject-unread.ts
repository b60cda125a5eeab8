import type { EvaluationError } from "@signalbox/rules/flows/evaluation.ts";
import { type Rejection, rejection } from "./ingest-outcome.ts";

/** The rejection of a body that the sandbox could not read within its limits. */
export function rejectUnread({ error, message }: EvaluationError): Rejection {
  const problem = `Reading the body ${message}`;
  return error === "code_timeout"
    ? rejection("busy", `${problem}. Send the event again later.`, { retryAfter: 10 })
    : rejection("body_too_large", `${problem}. Send less in one request.`);
}
