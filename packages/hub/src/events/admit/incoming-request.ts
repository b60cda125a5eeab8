/** A request to a webhook endpoint, independent of the host. The body is read on demand. */

import type { BodyBudget } from "../../kernel/http/body-budget.ts";
import { type Rejection, rejection } from "../../kernel/http/ingest-outcome.ts";
import { concat } from "../../kernel/lib/bytes.ts";
import type { MaybePromise } from "../../kernel/lib/maybe-promise.ts";

export interface IncomingRequest {
  method: string;
  source: string;
  /** The key in the URL; undefined for the endpoint without a key. */
  key: string | undefined;
  /** Set for a sample that the hub itself sends, on behalf of a caller with access to this tenant. */
  sample?: { tenant: string };
  /** The client's address; behind a trusted proxy, the address from the proxy's header. */
  address: string;
  /** All values of a header; `name` is in lower case. */
  header(name: string): readonly string[];
  headerNames(): string[];
  /** Returns the whole body, or a rejection once it exceeds `limit` bytes. */
  body(limit: number): MaybePromise<Uint8Array | Rejection>;
}

export const tooLarge = (limit: number): Rejection =>
  rejection("body_too_large", `The body exceeds the limit of ${limit} bytes.`);

export const incompleteBody = (): Rejection =>
  rejection("body_incomplete", "The connection closed before the end of the body.");

/**
 * Converts the `Request` of a host. The bytes of the body count towards the budget until `release` is
 * called.
 */
export function toIncomingRequest(
  request: Request,
  route: { source: string; key: string | undefined; address: string },
  budget?: BodyBudget,
): IncomingRequest & { release(): void } {
  let reserved = 0;
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
          const rejected =
            size > limit ? tooLarge(limit) : budget?.reserve(value.byteLength, reserved);
          if (rejected) {
            await reader.cancel();
            return rejected;
          }
          reserved = size;
          chunks.push(value);
        }
      } catch {
        return incompleteBody();
      }
      return chunks.length === 1 ? (chunks[0] as Uint8Array) : concat(chunks);
    },
    release: () => budget?.release(reserved),
  };
}
