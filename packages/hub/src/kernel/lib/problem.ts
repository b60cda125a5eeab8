/** Errors as RFC 9457 problem documents, with a stable code. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  errors?: { path: string; message: string }[];
}

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
