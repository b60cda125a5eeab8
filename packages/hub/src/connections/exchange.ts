import { ConnectionError } from "./connection-error.ts";
import { MAX_ANSWER_VALUES } from "./limits.ts";

/** One request to a server: its limits, and why it was stopped. */
export interface Exchange {
  /** The limit of all answers of the operation, and what is left of it. */
  limit: number;
  maxBytes: number;
  /** Called right before the request is sent. If it throws, the request is not sent. */
  beforeSend?: (() => void) | undefined;
  /** Ends the request. The reason is the error of the call. */
  stop: AbortController;
  /** The bytes received so far. */
  bytes: number;
  /** Whether the response is an event stream, which may answer later. */
  isStream: boolean;
}

export const newExchange = (maxBytes: number, stop: AbortController): Exchange => ({
  limit: maxBytes,
  maxBytes,
  stop,
  bytes: 0,
  isStream: false,
});

export const answerTooLarge = (limit: number): ConnectionError =>
  new ConnectionError(
    "too_large",
    `The server's answer exceeds the limit of ${limit / 1024 / 1024} MiB.`,
  );

export const tooManyValues = (): ConnectionError =>
  new ConnectionError(
    "too_large",
    `The server's answer exceeds the limit of ${MAX_ANSWER_VALUES} values.`,
  );

/**
 * The SDK's `fetch` does not know for which request it is called, but request options may contain
 * headers. So each request has the key of its exchange in this header, which is never sent.
 */
const HEADER = "x-signalbox-exchange";

export function createExchanges() {
  const open = new Map<string, Exchange>();
  let next = 0;
  return {
    /** Calls `work` with the headers that mark its request. */
    async run<Result>(
      exchange: Exchange,
      work: (headers: Record<string, string>) => Promise<Result>,
    ): Promise<Result> {
      next += 1;
      const key = String(next);
      open.set(key, exchange);
      try {
        return await work({ [HEADER]: key });
      } finally {
        open.delete(key);
      }
    },
    find: (headers: Readonly<Record<string, string>> | undefined): Exchange | undefined =>
      open.get(headers?.[HEADER] ?? ""),
    /** Removes the mark from the headers. */
    take(headers: Headers): Exchange | undefined {
      const exchange = open.get(headers.get(HEADER) ?? "");
      headers.delete(HEADER);
      return exchange;
    },
  };
}

export type Exchanges = ReturnType<typeof createExchanges>;
