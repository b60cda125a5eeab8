/** One request to a webhook endpoint, as any host sees it: the body is not read until someone asks. */
import { concat, type MaybePromise } from "../lib/hmac.ts";
import { type Rejection, rejection } from "./ingest-outcome.ts";

export interface IncomingRequest {
  method: string;
  source: string;
  key: string | undefined;
  /** The client's address; behind a trusted proxy, the one that the proxy names. */
  address: string;
  /** All values of a header, by its name in lower case. */
  header(name: string): readonly string[];
  headerNames(): string[];
  /** The whole body, or a rejection as soon as it is longer than `limit`. */
  body(limit: number): MaybePromise<Uint8Array | Rejection>;
}

export const tooLarge = (limit: number): Rejection =>
  rejection(
    "body_too_large",
    `The body is larger than ${limit} bytes, the most that this source may send.`,
  );

/** For hosts that speak `Request`. */
export function toIncomingRequest(
  request: Request,
  route: { source: string; key: string | undefined; address: string },
): IncomingRequest {
  return {
    ...route,
    method: request.method,
    header(name) {
      const value = request.headers.get(name);
      return value === null ? [] : [value];
    },
    headerNames: () => [...request.headers.keys()],
    async body(limit) {
      if (!request.body) return new Uint8Array();
      const chunks: Uint8Array[] = [];
      let size = 0;
      const reader = request.body.getReader();
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          size += value.byteLength;
          if (size > limit) {
            await reader.cancel();
            return tooLarge(limit);
          }
          chunks.push(value);
        }
      } catch {
        return rejection(
          "body_incomplete",
          "The connection ended before the whole body had arrived.",
        );
      }
      return concat(chunks);
    },
  };
}
