/**
 * Sends one request to GitHub's REST API. Errors are returned, not thrown: a rate limit has the time of
 * the next attempt, and a failure has GitHub's message. Only `apiUrl` is called, even for further pages.
 */
import type { z } from "zod";

export interface GithubRequestOptions {
  apiUrl: string;
  fetch: typeof fetch;
  now: () => number;
  /** Aborts the requests when the hub stops. */
  signal?: AbortSignal | undefined;
}

export interface GithubRequest<Value> {
  /** Starts with a slash. */
  path: string;
  method?: "GET" | "POST";
  /** The value of the header `authorization`. */
  authorization: string;
  /** Parses the response body. If undefined, the body is ignored. */
  schema?: z.ZodType<Value>;
}

export type GithubAnswer<Value> =
  | { outcome: "ok"; value: Value; next: string | null }
  | { outcome: "not_found" }
  | GithubRateLimit
  | GithubFailure;

/** GitHub accepts requests again after `retryAt`, a Unix time in milliseconds. */
interface GithubRateLimit {
  outcome: "rate_limited";
  retryAt: number;
  message: string;
}

interface GithubFailure {
  outcome: "failed";
  /** Null if GitHub did not answer. */
  status: number | null;
  message: string;
}

export type CallGithub = <Value = undefined>(
  request: GithubRequest<Value>,
) => Promise<GithubAnswer<Value>>;

const TIMEOUT_MS = 10_000;

export const createCallGithub =
  ({ apiUrl, fetch, now, signal }: GithubRequestOptions): CallGithub =>
  async <Value>({ path, method = "GET", authorization, schema }: GithubRequest<Value>) => {
    try {
      const response = await fetch(`${apiUrl}${path}`, {
        method,
        headers: {
          accept: "application/vnd.github+json",
          authorization,
          "user-agent": "signalbox",
          "x-github-api-version": "2022-11-28",
        },
        redirect: "manual", // the target of a redirect would get the credentials
        signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal ? [signal] : [])]),
      });
      const text = await response.text();
      if (!response.ok) return toErrorAnswer(response, text, now());
      const value = schema ? schema.parse(parseIds(text)) : undefined;
      return { outcome: "ok", value: value as Value, next: nextCursor(response.headers) };
    } catch (error) {
      return { outcome: "failed", status: null, message: describeError(error, `${apiUrl}${path}`) };
    }
  };

function toErrorAnswer(
  { status, headers }: Response,
  text: string,
  now: number,
): Exclude<GithubAnswer<never>, { outcome: "ok" }> {
  const message = `GitHub returned ${status}: ${messageIn(text) ?? "no message"}`;
  const wait = Number(headers.get("retry-after") ?? Number.NaN);
  const isExhausted = headers.get("x-ratelimit-remaining") === "0";
  if (status === 429 || (status === 403 && (wait >= 0 || isExhausted))) {
    const reset = Number(headers.get("x-ratelimit-reset") ?? Number.NaN) * 1000;
    const retryAt =
      wait >= 0 ? now + wait * 1000 : isExhausted && reset > now ? reset : now + 60_000;
    return { outcome: "rate_limited", retryAt, message };
  }
  if (status === 404) return { outcome: "not_found" };
  return { outcome: "failed", status, message };
}

const MESSAGE_LENGTH = 300;

function messageIn(text: string): string | undefined {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return typeof message === "string" ? message.slice(0, MESSAGE_LENGTH) : undefined;
  } catch {
    return undefined;
  }
}

/** Converts ids to strings, because ids of deliveries exceed the safe integers of JavaScript. */
const parseIds = (text: string): unknown =>
  JSON.parse(text.replace(/("(?:\w+_)?id":\s*)(\d+)/g, '$1"$2"'));

/**
 * Returns the cursor of the next page. The rest of its URL is ignored, because it could name another
 * host.
 */
function nextCursor(headers: Headers): string | null {
  const url = /<([^>]*)>;\s*rel="next"/.exec(headers.get("link") ?? "")?.[1];
  return (url && URL.parse(url)?.searchParams.get("cursor")) || null;
}

function describeError(error: unknown, url: string): string {
  const { name, message, cause } = error as Error;
  if (name === "TimeoutError") return `${url} did not respond within ${TIMEOUT_MS / 1000} s`;
  if (name === "ZodError" || name === "SyntaxError")
    return `${url} returned an unexpected body: ${message.slice(0, MESSAGE_LENGTH)}`;
  const reason = cause instanceof Error && cause.message ? cause.message : message;
  return `${url} does not respond: ${reason}`;
}
