/**
 * The `fetch` of one connection. It adds identity and credentials to each request, renews an OAuth
 * token once after 401, and limits the size of responses.
 */
import type { WebFetch } from "../kernel/lib/web-fetch.ts";
import { createValueCounter } from "./count-streamed-values.ts";
import type { Credentials } from "./credentials.ts";
import type { EchoMask } from "./echo-mask.ts";
import { answerTooLarge, type Exchange, type Exchanges, tooManyValues } from "./exchange.ts";
import { IDENTITY_HEADER } from "./identity.ts";
import { limitBody } from "./limit-body.ts";
import { MAX_ANSWER_BYTES, MAX_ANSWER_VALUES, MAX_OTHER_BYTES } from "./limits.ts";
import type { OAuthTokens } from "./oauth-token.ts";

export interface ConnectionFetchOptions {
  fetch: WebFetch;
  exchanges: Pick<Exchanges, "take">;
  credentials: Credentials;
  /** Masks tokens that the server echoes. Every token that is sent is added to it. */
  echoes: Pick<EchoMask, "add">;
  /** Undefined if the connection does not use OAuth. */
  tokens: OAuthTokens | undefined;
  identity: () => Promise<string>;
  /** Whether to open a stream for notifications, which occupies an HTTP connection. */
  usesNotifications: () => boolean;
}

export function createConnectionFetch(options: ConnectionFetchOptions): WebFetch {
  const { fetch, exchanges, credentials, echoes, tokens, identity, usesNotifications } = options;

  return async (url, init = {}) => {
    const headers = new Headers(init.headers);
    const exchange = exchanges.take(headers);
    const isGet = init.method === "GET";
    const isNotificationStream = isGet && !headers.has("last-event-id");
    // For the SDK, 405 means that the server has no such stream.
    if (isNotificationStream && !usesNotifications()) return new Response(null, { status: 405 });

    for (const [name, value] of Object.entries(credentials.headers ?? {})) headers.set(name, value);
    const jwt = await identity();
    echoes.add(jwt);
    headers.set(IDENTITY_HEADER, jwt);
    const { auth } = credentials;
    if (auth?.type === "bearer") headers.set("authorization", `Bearer ${auth.token}`);

    const send = async (token: string | undefined) => {
      if (token !== undefined) {
        echoes.add(token);
        headers.set("authorization", `Bearer ${token}`);
      }
      return fetch(url, { ...init, headers, beforeSend: exchange?.beforeSend });
    };
    const token = await tokens?.getToken();
    let response = await send(token);
    if (response.status === 401 && tokens && token !== undefined) {
      await response.body?.cancel();
      tokens.reject(token);
      response = await send(await tokens.getToken());
    }
    if (exchange) exchange.isStream = isEventStream(response);
    // A stream of GET contains notifications or, if it resumes a broken stream, the answer of a call.
    const defaultLimit = isGet ? MAX_ANSWER_BYTES : MAX_OTHER_BYTES;
    return limitResponse(keepMethod(response), exchange, defaultLimit);
  };
}

/**
 * The SDK follows redirects within the origin, but not 301 and 302, because `fetch` would repeat POST
 * as GET. A server that moved its endpoint, such as from `/mcp` to `/mcp/`, expects POST there. So 301
 * and 302 become 308, which keeps the method.
 */
function keepMethod(response: Response): Response {
  const { status, headers, body } = response;
  if (status !== 301 && status !== 302) return response;
  body?.cancel().catch(() => {});
  return new Response(null, { status: 308, headers });
}

/** A body of this size cannot contain more than `MAX_ANSWER_VALUES` values, so they are not counted. */
const SMALL_BYTES = MAX_ANSWER_VALUES;

const isEventStream = ({ headers }: Response): boolean =>
  /^text\/event-stream\b/i.test(headers.get("content-type") ?? "");

function limitResponse(
  response: Response,
  exchange: Exchange | undefined,
  defaultLimit: number,
): Response {
  const limit = exchange?.remainingBytes ?? defaultLimit;
  const length = Number(response.headers.get("content-length") ?? Number.NaN);
  if (length <= Math.min(limit, SMALL_BYTES)) {
    if (exchange) exchange.receivedBytes += length;
    return response;
  }
  const countValues = createValueCounter();
  const stop = (error: Error) => {
    exchange?.stop.abort(error);
    return error;
  };
  return limitBody(response, limit, {
    onChunk(chunk) {
      if (exchange) exchange.receivedBytes += chunk.byteLength;
      return countValues(chunk) > MAX_ANSWER_VALUES ? stop(tooManyValues()) : undefined;
    },
    tooLarge: () => stop(answerTooLarge(exchange?.limitBytes ?? limit)),
  });
}
