import { ConnectionError } from "./connection-error.ts";
import { MAX_ANSWER_VALUES } from "./limits.ts";

/** The limits and the state of one operation: one request, or the requests for all pages of a list. */
export interface Exchange {
  /** The limit for all responses of the operation together. */
  limitBytes: number;
  /** The limit for the next response: `limitBytes` without the pages that were read before. */
  remainingBytes: number;
  /** Called right before the request is sent. If it throws, the request is not sent. */
  beforeSend?: (() => void) | undefined;
  /** Aborting it ends the request. The abort reason is the error of the call. */
  stop: AbortController;
  /** The bytes of the current response that have been received. */
  receivedBytes: number;
  /** Whether the response is an event stream: then the answer may arrive after the headers. */
  isStream: boolean;
}

export const newExchange = (limitBytes: number, stop: AbortController): Exchange => ({
  limitBytes,
  remainingBytes: limitBytes,
  stop,
  receivedBytes: 0,
  isStream: false,
});

export const answerTooLarge = (limitBytes: number): ConnectionError =>
  new ConnectionError(
    "too_large",
    `The server's answer exceeds the limit of ${limitBytes / 1024 / 1024} MiB.`,
  );

export const tooManyValues = (): ConnectionError =>
  new ConnectionError(
    "too_large",
    `The server's answer exceeds the limit of ${MAX_ANSWER_VALUES} values.`,
  );

/**
 * The SDK does not tell `fetch` for which request it is called, but passes the headers of the request
 * options. So each request has the key of its exchange in this header, which is never sent.
 */
const HEADER = "x-signalbox-exchange";

export function createExchanges() {
  const open = new Map<string, Exchange>();
  let lastKey = 0;
  return {
    /** Calls `work` with the header that assigns its requests to the exchange. */
    async run<Result>(
      exchange: Exchange,
      work: (headers: Record<string, string>) => Promise<Result>,
    ): Promise<Result> {
      lastKey += 1;
      const key = String(lastKey);
      open.set(key, exchange);
      try {
        return await work({ [HEADER]: key });
      } finally {
        open.delete(key);
      }
    },
    find: (headers: Readonly<Record<string, string>> | undefined): Exchange | undefined =>
      open.get(headers?.[HEADER] ?? ""),
    /** Finds the exchange, and removes its key from the headers. */
    take(headers: Headers): Exchange | undefined {
      const exchange = open.get(headers.get(HEADER) ?? "");
      headers.delete(HEADER);
      return exchange;
    },
  };
}

export type Exchanges = ReturnType<typeof createExchanges>;
