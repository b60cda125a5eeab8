/**
 * Turns a callback of an MCP server into an event that is ready to be stored, or into a rejection with
 * a reason. The checks run in this order: method, rate of the address, size of the body, token, body,
 * whether a trigger listens to the event, rate of the token. Rejections because of the size or the token
 * count towards the failure limit of the address, so that tokens cannot be guessed. The quota and
 * duplicates are checked later, by the transaction that stores the event.
 */

import { MAX_ID } from "@signalbox/contract/event-limits.ts";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { checkContentEncoding } from "../../kernel/http/check-request.ts";
import { repeatedHeader } from "../../kernel/http/header-reader.ts";
import { isRejection, type Rejection, rejection } from "../../kernel/http/ingest-outcome.ts";
import type { RateLimit } from "../../kernel/http/rate-limit.ts";
import { bearerToken, TOKEN_TOO_LONG } from "../../kernel/http/request-token.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import { textProblem } from "../../kernel/lib/text-problem.ts";
import { type AcceptedRequest, tooManyRequests } from "../admit/ingest.ts";
import type { CallbackRequest } from "../admit/receive-request.ts";
import { parseCallback, readLargeCallback, toEvent } from "./callback-event.ts";
import type { CallbackToken, CallbackTokenCache } from "./callback-token-cache.ts";

export interface AdmitCallbackOptions {
  callbackTokens: Pick<CallbackTokenCache, "find">;
  /** Limits the requests of each address. */
  rateLimit: RateLimit;
  /** Limits the callbacks with each token, by its hash. */
  tokenRateLimit: RateLimit;
  /** Reads large bodies. */
  runJob: RunJob;
  newId: () => string;
  now: () => number;
}

const MAX_BYTES = 1024 * 1024;

export function createAdmitCallback(options: AdmitCallbackOptions) {
  const { callbackTokens, rateLimit, tokenRateLimit, runJob, newId, now } = options;

  return async function admitCallback(
    request: CallbackRequest,
  ): Promise<AcceptedRequest | Rejection> {
    if (request.method !== "POST")
      return rejection("method_not_allowed", `Send callbacks with POST, not ${request.method}.`, {
        allow: "POST",
      });
    const admission = rateLimit.admit(request.address);
    if (admission === "rejected") return tooManyRequests;
    const countFailure = (rejected: Rejection): Rejection => {
      rateLimit.fail(request.address);
      return rejected;
    };
    const rejectToken = (rejected: Rejection): Rejection =>
      admission === "suspect" ? tooManyFailures : countFailure(rejected);

    const bytes = await request.body(MAX_BYTES);
    if (isRejection(bytes)) return bytes.reason === "busy" ? bytes : countFailure(bytes);

    const authorization = request.header("authorization");
    const secret = authorization.length === 1 ? bearerToken(authorization[0]) : undefined;
    if (secret === undefined) return rejectToken(tokenMissing);
    if (secret === "") return rejectToken(tokenTooLong);
    // A cached token is not awaited: that would defer every request by a microtask.
    const tokenOrPromise = callbackTokens.find(secret);
    const token = tokenOrPromise instanceof Promise ? await tokenOrPromise : tokenOrPromise;
    if (!token) return rejectToken(tokenUnknown);

    const badEncoding = checkContentEncoding((name) => request.header(name)[0]);
    if (badEncoding) return badEncoding;
    const callback =
      bytes.byteLength > LARGE_BYTES
        ? await readLargeCallback(runJob, token.tenant, bytes)
        : parseCallback(bytes);
    if (isRejection(callback)) return callback;
    const deliveryId = callback.id === undefined ? idFromHeaders(request) : callback.id;
    if (isRejection(deliveryId)) return deliveryId;

    const rejected = token.isGone ? tokenGone : checkRate(token);
    if (rejected) return rejected;

    const assigned = { id: newId(), external_id: deliveryId, received_at: now() };
    return {
      outcome: "accepted",
      emptyResponse: false,
      callback: { type: callback.type },
      appendRequest: {
        tenant: token.tenant,
        events: [toEvent(callback, token, assigned)],
        ...("data" in callback && { data: [callback.data] }),
      },
    };
  };

  function checkRate({ hash }: CallbackToken): Rejection | undefined {
    return tokenRateLimit.admit(hash) === "rejected" ? tooManyCallbacks : undefined;
  }
}

const ID_HEADERS = ["idempotency-key", "webhook-id"];

/** Returns the id of a callback whose body has none; null if the headers have none either. */
function idFromHeaders({ header }: CallbackRequest): string | null | Rejection {
  for (const name of ID_HEADERS) {
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

const INVALID_TOKEN = { authenticate: 'Bearer error="invalid_token"' };
const tokenUnknown = rejection(
  "token_unknown",
  "The token is not a callback token of this hub, or it has expired. Send the callbackToken of the latest TRIGGER_CONFIGURE.",
  INVALID_TOKEN,
);
const tokenTooLong = rejection("token_unknown", TOKEN_TOO_LONG, INVALID_TOKEN);

const tokenGone = rejection(
  "token_gone",
  "The trigger was paused or removed, so the hub accepts no events with this token. Stop sending until TRIGGER_CONFIGURE enables the trigger again.",
);

const tooManyCallbacks = rejection(
  "rate_limited",
  "This token is used for too many callbacks; send the event again later, or raise SIGNALBOX_RATE_LIMIT.",
  { retryAfter: 1 },
);

const tooManyFailures = rejection(
  "rate_limited",
  "Too many callbacks from this address had no valid token. Callbacks with a valid token are still accepted.",
  { retryAfter: 1 },
);
