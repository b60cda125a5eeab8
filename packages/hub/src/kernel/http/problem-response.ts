/** Errors as HTTP responses: RFC 9457 problem documents. */
import { firstIssues } from "@signalbox/rules/flows/issues.ts";
import { z } from "zod";
import type { Denied } from "../access/authorizer.ts";
import { MAX_PROBLEMS } from "../lib/limits.ts";
import { PROBLEM_TYPE, type Problem, problem } from "../lib/problem.ts";
import { RequestError, type RequestErrorCode, validationError } from "../lib/request-error.ts";
import { RETRY_AFTER_S } from "../store/availability.ts";

export const problemResponse = (
  status: number,
  code: string,
  title: string,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
  errors?: Problem["errors"],
) =>
  new Response(JSON.stringify(problem(status, code, title, detail, errors)), {
    status,
    headers: { "content-type": PROBLEM_TYPE, ...headers },
  });

export const DENIED_TITLES: Record<Denied["status"], string> = {
  401: "Unauthorized",
  403: "Forbidden",
  421: "Misdirected request",
  503: "Service unavailable",
};

export const deniedResponse = ({ status, code, detail, headers, missing }: Denied) =>
  problemResponse(
    status,
    code,
    DENIED_TITLES[status],
    detail,
    headers,
    missing && [{ path: missing, message: "is missing" }],
  );

/** The response of every route while the database is unavailable. Clients repeat the request. */
export const storageUnavailable = (detail: string) =>
  problemResponse(503, "storage_unavailable", "Storage unavailable", detail, {
    "retry-after": String(RETRY_AFTER_S),
  });

const PROBLEMS: Record<RequestErrorCode, { status: number; title: string }> = {
  invalid: { status: 400, title: "Invalid request" },
  forbidden: { status: 403, title: "Forbidden" },
  not_found: { status: 404, title: "Not found" },
  conflict: { status: 409, title: "Conflict" },
  changed: { status: 409, title: "Concurrent change" },
  busy: { status: 429, title: "Too many requests" },
};

/**
 * Maps an error that the client can correct to a response. Rethrows other errors. By default, `detail`
 * is the message of the error, after its field unless the message names the field itself.
 */
export function errorResponse(thrown: unknown, detail?: string): Response {
  const error = thrown instanceof z.ZodError ? fromZodError(thrown) : thrown;
  if (!(error instanceof RequestError)) throw thrown;
  const { status, title } = PROBLEMS[error.code];
  const messageNamesField =
    error.errors.length > 1 || error.code === "not_found" || error.code === "conflict";
  const text = detail ?? (messageNamesField ? error.message : `${error.field}: ${error.message}`);
  const headers: Record<string, string> = error.code === "busy" ? { "retry-after": "1" } : {};
  return problemResponse(status, error.code, title, text, headers, [...error.errors]);
}

/** `where` is the path of an error that concerns the whole value. */
export function fromZodError(error: z.ZodError, where = "body"): RequestError {
  const { issues, total } = firstIssues(error, MAX_PROBLEMS);
  return validationError(
    issues.map(({ keys, message }) => ({ path: keys.map(String).join(".") || where, message })),
    total,
  );
}
