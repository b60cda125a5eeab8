/**
 * The outcomes of a webhook or a callback. They are returned, not thrown, and each is mapped to
 * an HTTP response here; an outcome without one does not compile.
 */
import { PROBLEM_TYPE, problem } from "../lib/problem.ts";

const rejections = {
  invalid_http: [400, "Invalid HTTP"],
  request_timeout: [408, "Request timeout"],
  expectation_failed: [417, "Expectation failed"],
  headers_too_large: [431, "Headers too large"],
  unknown_source: [404, "No such webhook endpoint"],
  method_not_allowed: [405, "Method not allowed"],
  address_not_allowed: [403, "Address not allowed"],
  rate_limited: [429, "Too many requests"],
  unsupported_media_type: [415, "Unsupported content type"],
  body_too_large: [413, "Body too large"],
  too_many_values: [413, "Too many values"],
  body_incomplete: [400, "Body incomplete"],
  busy: [503, "Busy"],
  token_missing: [401, "Token missing"],
  token_unknown: [401, "Token unknown"],
  token_gone: [410, "No trigger listens to these events"],
  no_secret: [403, "No secret configured"],
  browser_origin: [403, "Unsigned request from a browser or another machine"],
  signature_missing: [403, "Signature missing"],
  signature_malformed: [403, "Signature malformed"],
  signature_mismatch: [403, "Signature mismatch"],
  signature_expired: [403, "Signature expired"],
  duplicate_header: [400, "Repeated header"],
  missing_header: [400, "Header missing"],
  invalid_header: [400, "Header invalid"],
  empty_body: [400, "Body empty"],
  invalid_utf8: [400, "Body is not UTF-8"],
  invalid_json: [400, "Body is not JSON"],
  not_an_object: [400, "Body is not a JSON object"],
  too_deep: [400, "Body nested too deeply"],
  missing_field: [400, "Field missing"],
  invalid_field: [400, "Field invalid"],
  unknown_tenant: [404, "Tenant unknown"],
  installation_suspended: [403, "Installation suspended"],
  github_unavailable: [503, "GitHub unavailable"],
  quota_exceeded: [429, "Quota exceeded"],
  storage_unavailable: [503, "Storage unavailable"],
  internal: [500, "Internal error"],
  stopping: [503, "Shutting down"],
} as const satisfies Record<string, readonly [status: number, title: string]>;

export type RejectionReason = keyof typeof rejections;

export interface Rejection {
  outcome: "rejected";
  reason: RejectionReason;
  /** The error and its fix, for the person who reads the sender's log. */
  detail: string;
  retryAfter?: number;
  allow?: string;
  /** The header `WWW-Authenticate`. */
  authenticate?: string;
}

export const rejection = (
  reason: RejectionReason,
  detail: string,
  extra: Pick<Rejection, "retryAfter" | "allow" | "authenticate"> = {},
): Rejection => ({ outcome: "rejected", reason, detail, ...extra });

export const isRejection = (value: unknown): value is Rejection =>
  typeof value === "object" && value !== null && "outcome" in value && value.outcome === "rejected";

export const overQuota = ({ pending, quota }: { pending: number; quota: number }): Rejection =>
  rejection(
    "quota_exceeded",
    `${pending} events are pending, and the quota is ${quota}. Process some of them, or raise the quota.`,
    { retryAfter: 60 },
  );

export const tenantDeleted = rejection(
  "unknown_tenant",
  "The tenant was deleted. Install the GitHub App again, or create an endpoint, to receive its events.",
);

interface StoredEvent {
  id: string;
  outcome: "stored" | "duplicate";
}

export type IngestOutcome =
  | {
      outcome: "stored" | "duplicate";
      id: string;
      events: StoredEvent[];
      emptyResponse: boolean;
      /** Set for a callback of an MCP server. Its response names the type, and is always 202. */
      callback?: { type: string } | undefined;
    }
  /** The response to a ping, or to a request without events. */
  | { outcome: "pong" }
  /** The response to Slack's check of the URL, which expects its challenge back. */
  | { outcome: "challenge"; challenge: string }
  /** The response to an OPTIONS request of CloudEvents. */
  | { outcome: "handshake"; headers: Record<string, string> }
  | Rejection;

/** The label `outcome` of metrics, which names a rejection by its former word. */
export const outcomeLabel = ({ outcome }: IngestOutcome): string =>
  outcome === "rejected" ? "refused" : outcome;

/** A plain HTTP response, which a host can send without the cost of a `Response`. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

export function toAnswer(result: IngestOutcome): Answer {
  switch (result.outcome) {
    case "stored":
    case "duplicate": {
      const { outcome, id, events, emptyResponse, callback } = result;
      if (emptyResponse) return { status: 200, headers: {}, body: "" };
      if (callback) return json(202, { ok: true, type: callback.type, id, outcome });
      return json(
        outcome === "stored" ? 202 : 200,
        events.length === 1 ? { outcome, id } : { outcome, id, events },
      );
    }
    case "pong":
      return json(200, { outcome: "pong" });
    case "challenge":
      return json(200, { challenge: result.challenge });
    case "handshake":
      return { status: 200, headers: result.headers, body: "" };
    case "rejected": {
      const [status, title] = rejections[result.reason];
      const headers: Record<string, string> = { "content-type": PROBLEM_TYPE };
      if (result.retryAfter !== undefined) headers["retry-after"] = String(result.retryAfter);
      if (result.allow !== undefined) headers.allow = result.allow;
      if (result.authenticate !== undefined) headers["www-authenticate"] = result.authenticate;
      return {
        status,
        headers,
        body: JSON.stringify(problem(status, result.reason, title, result.detail)),
      };
    }
  }
}
