/**
 * The requests that `signalbox exec` sends to the hub. A request that fails temporarily, such as during a
 * restart of the hub, is retried. Each request can be repeated safely: a second claim by the same worker
 * is a renewal.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { pathWith } from "@signalbox/contract/client.ts";
import { backoffMs } from "@signalbox/rules/backoff.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { followHub } from "../follow-hub.ts";
import { causeOf, type HubClient, HubRequestFailed } from "../hub-client.ts";
import type { ClaimedEvent } from "./event-environment.ts";

/** The fields of a listed event that are used here. */
type ListedEvent = Pick<ClaimedEvent, "id" | "type" | "action" | "repo" | "number" | "title">;

export interface RetryPolicy {
  /** Ends the retries. Also aborts the current request, unless `finishesRequest` is true. */
  signal: AbortSignal;
  /** True if a request must not be aborted after it was sent, because its effect would be unknown. */
  finishesRequest?: boolean;
  /** How long a failed request is retried. Called after each failure. */
  retryForMs: () => number;
}

export interface ExecHub {
  /** The claimable events, oldest first. */
  list(policy: RetryPolicy): AsyncGenerator<ListedEvent>;
  /** Undefined if the hub does not have the event. */
  read(id: string, policy: RetryPolicy): Promise<{ payload: Json; processed: boolean } | undefined>;
  /** Undefined if the event cannot be claimed. `json` is the event as the hub sent it. */
  claim(
    id: string,
    policy: RetryPolicy,
  ): Promise<{ event: ClaimedEvent; json: string } | undefined>;
  renew(id: string, policy: RetryPolicy): Promise<void>;
  release(
    id: string,
    options: { delayS: number; countAttempt: boolean },
    policy: RetryPolicy,
  ): Promise<void>;
  markProcessed(
    id: string,
    note: string,
    options: { onlyIfClaimed: boolean },
    policy: RetryPolicy,
  ): Promise<void>;
  /** Throws if the token is not allowed to claim events. */
  checkAccess(policy: RetryPolicy): Promise<void>;
  /** Follows the live stream until `signal` is aborted. `onEvent` gets the ids of new events. */
  follow(stream: { onOpen(): void; onEvent(id: string): void; signal: AbortSignal }): Promise<void>;
}

export interface ConnectedHub {
  client: HubClient;
  /** Whether the token is from the file of a running hub. Each start of the hub replaces the file. */
  isTokenFromFile: boolean;
}

export interface ExecHubOptions {
  /** Locates the hub for each request: after a restart it may have another address and token. */
  connect: () => ConnectedHub;
  /** Identifies this process as the owner of its claims. */
  worker: string;
  leaseS: number;
  selection: { type?: string | undefined; repo?: string | undefined; source?: string | undefined };
  warn(message: string): void;
  random?: () => number;
}

/** A valid id that no event has. `checkAccess` uses it to test the token without changing an event. */
const NO_EVENT = "00000000-0000-7000-8000-000000000000";
const PAGE_SIZE = 100;
const REQUEST_TIMEOUT_MS = 120_000;
const BACKOFF = { firstMs: 250, maxMs: 15_000 };

export function createExecHub(options: ExecHubOptions): ExecHub {
  const { connect, worker, leaseS, selection, warn, random = Math.random } = options;
  let isDown = false;
  const reportDown = (message: string) => {
    if (!isDown) warn(`${message} Retrying.`);
    isDown = true;
  };
  const reportUp = () => {
    if (isDown) warn("The hub responds again.");
    isDown = false;
  };
  const wait = (failures: number, signal: AbortSignal) =>
    sleep(backoffMs(failures, { ...BACKOFF, random }), undefined, { signal }).catch(() => {});

  async function requestWithRetries<Result>(
    request: (client: HubClient, signal: AbortSignal) => Promise<Result>,
    { signal, finishesRequest = false, retryForMs }: RetryPolicy,
  ): Promise<Result> {
    const started = performance.now();
    for (let failures = 1; ; failures += 1) {
      const { client, isTokenFromFile } = connect();
      try {
        const timeout = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
        const result = await request(
          client,
          finishesRequest ? timeout : AbortSignal.any([signal, timeout]),
        );
        reportUp();
        return result;
      } catch (error) {
        const mayRetry = isTemporary(error, isTokenFromFile);
        if (mayRetry || !finishesRequest) signal.throwIfAborted();
        if (!mayRetry || performance.now() - started >= retryForMs()) throw error;
        const isHubError = error instanceof HubRequestFailed;
        reportDown(isHubError ? error.message : `The connection was lost (${causeOf(error)}).`);
      }
      await wait(failures, signal);
      signal.throwIfAborted();
    }
  }

  const post = (
    event: string,
    action: "claim" | "release" | "processed",
    body: object,
    policy: RetryPolicy,
    query = {},
  ) => {
    const path = pathWith(`/api/events/:event/${action}`, { event });
    return requestWithRetries(
      async (client, signal) => (await client.open("POST", path, { body, query, signal })).text(),
      policy,
    );
  };

  return {
    async *list(policy) {
      let cursor: string | undefined;
      do {
        const query = {
          ...selection,
          claimable: "1" as const,
          order: "oldest" as const,
          limit: PAGE_SIZE,
          cursor,
        };
        const page = await requestWithRetries(
          (client, signal) => client.get("/api/events", { query, signal }),
          policy,
        );
        yield* page.items;
        cursor = page.next_cursor ?? undefined;
      } while (cursor !== undefined);
    },

    async read(id, policy) {
      try {
        return await requestWithRetries(
          (client, signal) => client.get("/api/events/:event", { params: { event: id }, signal }),
          policy,
        );
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },

    async claim(id, policy) {
      try {
        const json = await post(id, "claim", { worker, lease_s: leaseS }, policy);
        return { json, event: JSON.parse(json) as ClaimedEvent };
      } catch (error) {
        if (isTaken(error)) return undefined;
        throw error;
      }
    },

    async renew(id, policy) {
      await post(id, "claim", { worker, lease_s: leaseS }, policy, { payload: 0 });
    },

    async release(id, { delayS, countAttempt }, policy) {
      const body = { worker, delay_s: delayS, count_attempt: countAttempt };
      await post(id, "release", body, policy);
    },

    async markProcessed(id, note, { onlyIfClaimed }, policy) {
      const body = { ...(note !== "" && { note }), ...(onlyIfClaimed && { worker }) };
      await post(id, "processed", body, policy);
    },

    async checkAccess(policy) {
      try {
        await post(NO_EVENT, "release", { worker }, policy);
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    },

    async follow({ onOpen, onEvent, signal }) {
      const messages = followHub({
        connect: () => connect().client,
        query: selection,
        retriesFirst: true,
        signal,
        onLost: (reason) => reportDown(`The live stream ended (${reason}).`),
        onBack: reportUp,
      });
      for await (const message of messages) {
        if (message.kind === "connected") onOpen();
        else if (message.kind === "event") onEvent(message.event.event_id);
      }
    },
  };
}

/** True if the hub cannot be reached, cannot respond now, or if the response was cut off. */
function isTemporary(error: unknown, isTokenFromFile: boolean): boolean {
  if (error instanceof HubRequestFailed) {
    const { status = 503 } = error;
    return status >= 500 || [408, 429].includes(status) || (status === 401 && isTokenFromFile);
  }
  // `fetch` reports a response that was cut off with the message "terminated".
  return (
    error instanceof Error && (error.name === "TimeoutError" || error.message === "terminated")
  );
}

const isNotFound = (error: unknown): boolean =>
  error instanceof HubRequestFailed && error.code === "not_found";

/** True if another worker has claimed the event, or if the event is processed or no longer exists. */
export const isTaken = (error: unknown): error is HubRequestFailed =>
  isNotFound(error) || (error instanceof HubRequestFailed && error.status === 409);
