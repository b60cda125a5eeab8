/** Errors as RFC 9457 problem documents, with a stable code. */
import type { Problem } from "@signalbox/contract/problem.ts";

export type { Problem } from "@signalbox/contract/problem.ts";

export const PROBLEM_TYPE = "application/problem+json";

export const problem = (
  status: number,
  code: string,
  title: string,
  detail: string,
  errors?: Problem["errors"],
): Problem => ({
  type: `urn:signalbox:problem:${code}`,
  title,
  status,
  detail,
  code,
  ...(errors ? { errors } : {}),
});
