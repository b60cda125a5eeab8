/** An error response of the API (RFC 9457). `toProblem` converts other errors to the same shape. */
export interface Problem {
  status: number;
  title: string;
  detail: string;
  code: string;
  errors: { path: string; message: string }[];
}

export class ApiError extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.detail || problem.title);
    this.name = "ApiError";
    this.problem = problem;
  }
}

/** No response has arrived: the hub is down, or the network is. */
export class UnreachableError extends Error {
  constructor(cause: unknown) {
    super("The hub does not respond", { cause });
    this.name = "UnreachableError";
  }
}

export const isStatus = (error: unknown, status: number): boolean =>
  error instanceof ApiError && error.problem.status === status;

/** Whether the same request may succeed later, without a change by the caller. */
export const isOutage = (error: unknown): boolean =>
  error instanceof UnreachableError || (error instanceof ApiError && error.problem.status >= 500);

export function toProblem(error: unknown): Problem {
  if (error instanceof ApiError) return error.problem;
  if (error instanceof UnreachableError)
    return {
      status: 0,
      title: error.message,
      detail:
        "Check that the hub is running and that this computer can reach it. The page reconnects automatically.",
      code: "unreachable",
      errors: [],
    };
  return {
    status: 0,
    title: "The page failed",
    detail: error instanceof Error ? error.message : String(error),
    code: "page",
    errors: [],
  };
}

/** The messages about single fields of the request, by the path of the field, such as `auth.client_id`. */
export const fieldErrors = (error: unknown): ReadonlyMap<string, string> =>
  new Map(
    error === null || error === undefined
      ? []
      : toProblem(error).errors.map(({ path, message }) => [path, message]),
  );

/** Reads an error response. If it is not JSON, such as a page of a proxy, the detail is the start of its text. */
export async function readProblem(response: Response): Promise<Problem> {
  const text = await response.text();
  const body = parseObject(text);
  const errors = Array.isArray(body.errors) ? body.errors : [];
  return {
    status: response.status,
    title: textOr(body.title, `The hub responded with status ${response.status}`),
    detail: textOr(body.detail, Object.keys(body).length > 0 ? "" : text.slice(0, 300)),
    code: textOr(body.code, "http"),
    errors: errors.map((error: { path?: unknown; message?: unknown } | null) => ({
      path: textOr(error?.path, ""),
      message: textOr(error?.message, ""),
    })),
  };
}

const textOr = (value: unknown, fallback: string) =>
  typeof value === "string" && value !== "" ? value : fallback;

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
