/**
 * Turns a callback of an MCP server into an event that is ready to be stored, or into a rejection with
 * a reason. The checks run in this order: method, rate of the address, size of the body, token, body,
 * whether a trigger wants the event, rate of the token. Rejections up to the token count towards the
 * failure limit of the address, so that tokens cannot be guessed. The quota and duplicates are checked
 * later, by the transaction that stores the event.
 */
import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { bearerToken } from "../../lib/bearer-token.ts";
import { checkContentEncoding } from "../check-request.ts";
import { MAX_ID, textProblem } from "../check-text.ts";
import { repeatedHeader } from "../header-reader.ts";
import type { IncomingRequest } from "../incoming-request.ts";
import { type AcceptedRequest, tooManyRequests } from "../ingest.ts";
import { isRejection, type Rejection, rejection } from "../ingest-outcome.ts";
import type { RateLimit } from "../rate-limit.ts";
import { toEvent } from "./callback-event.ts";
import type { CallbackToken, CallbackTokens } from "./callback-tokens.ts";
import { parseCallback } from "./parse-callback.ts";
import { readLargeCallback } from "./read-large-callback.ts";

export type CallbackRequest = Pick<IncomingRequest, "method" | "address" | "header" | "body">;

export interface AdmitCallbackOptions {
  callbackTokens: Pick<CallbackTokens, "find">;
  /** By address. */
  rateLimit: RateLimit;
  /** By the hash of the token. */
  tokenRateLimit: RateLimit;
  /** Reads large bodies. */
  evaluate: Evaluate;
  newId: () => string;
  now: () => number;
}

const MAX_BYTES = 1024 * 1024;

export function createAdmitCallback(options: AdmitCallbackOptions) {
  const { callbackTokens, rateLimit, tokenRateLimit, evaluate, newId, now } = options;

  return async function admitCallback(
    request: CallbackRequest,
  ): Promise<AcceptedRequest | Rejection> {
    if (request.method !== "POST")
      return rejection("method_not_allowed", `Send callbacks with POST, not ${request.method}.`, {
        allow: "POST",
      });
    const admission = rateLimit.admit(request.address);
    if (admission === "rejected") return tooManyRequests;
    const fail = (rejected: Rejection): Rejection => {
      rateLimit.fail(request.address);
      return rejected;
    };
    const failToken = (rejected: Rejection): Rejection =>
      admission === "suspect" ? tooManyFailures : fail(rejected);

    const bytes = await request.body(MAX_BYTES);
    if (isRejection(bytes)) return bytes.reason === "busy" ? bytes : fail(bytes);

    const authorization = request.header("authorization");
    const secret = authorization.length === 1 ? bearerToken(authorization[0]) : undefined;
    if (secret === undefined) return failToken(tokenMissing);
    // A cached token is not awaited: that would defer every request by a microtask.
    const found = callbackTokens.find(secret);
    const token = found instanceof Promise ? await found : found;
    if (!token) return failToken(tokenUnknown);

    const encoded = checkContentEncoding((name) => request.header(name)[0]);
    if (encoded) return encoded;
    const callback =
      bytes.byteLength > LARGE_BYTES
        ? await readLargeCallback(evaluate, token.tenant, bytes)
        : parseCallback(bytes);
    if (isRejection(callback)) return callback;
    const key = callback.id === undefined ? keyFromHeaders(request) : callback.id;
    if (isRejection(key)) return key;

    const refused = token.isGone ? tokenGone : checkRate(token);
    if (refused) return refused;

    const given = { id: newId(), external_id: key, received_at: now() };
    return {
      outcome: "accepted",
      emptyResponse: false,
      callback: { type: callback.type },
      appendRequest: {
        tenant: token.tenant,
        events: [toEvent(callback, token, given)],
        ...("data" in callback && { data: [callback.data] }),
      },
    };
  };

  function checkRate({ hash }: CallbackToken): Rejection | undefined {
    return tokenRateLimit.admit(hash) === "rejected" ? tooManyCallbacks : undefined;
  }
}

const KEY_HEADERS = ["idempotency-key", "webhook-id"];

/** The id of a callback whose body has none. Callbacks without any id cannot be deduplicated. */
function keyFromHeaders({ header }: CallbackRequest): string | null | Rejection {
  for (const name of KEY_HEADERS) {
    const [value, ...others] = header(name);
    if (others.length > 0) return repeatedHeader(name);
    if (!value) continue;
    const problem = textProblem(value, MAX_ID);
    return problem === undefined
      ? value
      : rejection("invalid_header", `The header ${name} ${problem}.`);
  }
  return null;
}

const tokenMissing = rejection(
  "token_missing",
  "Send the callbackToken of TRIGGER_CONFIGURE in one header: `Authorization: Bearer sbcb_…`.",
  { authenticate: "Bearer" },
);

const tokenUnknown = rejection(
  "token_unknown",
  "The token is no callback token of this hub, or it has expired. Send the callbackToken of the latest TRIGGER_CONFIGURE.",
  { authenticate: 'Bearer error="invalid_token"' },
);

const tokenGone = rejection(
  "token_gone",
  "The trigger was paused or removed, so no event with this token is wanted. Stop sending until TRIGGER_CONFIGURE enables the trigger again.",
);

const tooManyCallbacks = rejection(
  "rate_limited",
  "Too many callbacks with this token; send the event again later, or raise SIGNALBOX_RATE_LIMIT.",
  { retryAfter: 1 },
);

const tooManyFailures = rejection(
  "rate_limited",
  "Too many callbacks of this address had no valid token. Callbacks with a valid token are still accepted.",
  { retryAfter: 1 },
);
