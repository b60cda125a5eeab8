/**
 * The hub as `signalbox exec` uses it. A request that fails temporarily, as during a restart of the hub,
 * is repeated. Each operation is safe to repeat: a second claim by the same worker is a renewal.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Json } from "@signalbox/rules/json.ts";
import { backoffMs } from "../../../lib/backoff.ts";
import { followHub } from "../follow-hub.ts";
import { causeOf, type HubClient, HubRequestFailed } from "../hub-client.ts";
import type { ClaimedEvent } from "./event-environment.ts";

/** The fields of a listed event that are used here. */
type ListedEvent = Pick<ClaimedEvent, "id" | "type" | "action" | "repo" | "number" | "title">;

export interface Persistence {
  /** Ends the repetitions, and the request unless `isAtomic`. */
  signal: AbortSignal;
  /** A request that was sent is not aborted: its effect would be unknown. */
  isAtomic?: boolean;
  /** How long a request is repeated; evaluated after each failure. */
  patienceMs: () => number;
}

export interface ExecHub {
  /** The claimable events, oldest first. */
  list(persistence: Persistence): AsyncGenerator<ListedEvent>;
  /** Undefined if the hub does not have the event. */
  read(
    id: string,
    persistence: Persistence,
  ): Promise<{ payload: Json; processed: boolean } | undefined>;
  /** Undefined if the event cannot be claimed. `json` is the event as the hub sent it. */
  claim(
    id: string,
    persistence: Persistence,
  ): Promise<{ event: ClaimedEvent; json: string } | undefined>;
  renew(id: string, persistence: Persistence): Promise<void>;
  release(
    id: string,
    options: { delayS: number; countAttempt: boolean },
    persistence: Persistence,
  ): Promise<void>;
  markProcessed(
    id: string,
    note: string,
    options: { onlyIfClaimed: boolean },
    persistence: Persistence,
  ): Promise<void>;
  /** Throws if the token is not allowed to claim events. */
  checkAccess(persistence: Persistence): Promise<void>;
  /** Follows the live stream until it is aborted; `onEvent` gets the ids of new events. */
  follow(stream: { onOpen(): void; onEvent(id: string): void; signal: AbortSignal }): Promise<void>;
}

export interface ConnectedHub {
  client: HubClient;
  /** Whether the token is from the file of a running hub, which each start of the hub replaces. */
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

/** The id of no event. */
const NO_EVENT = "00000000-0000-7000-8000-000000000000";
const PAGE = 100;
const REQUEST_MS = 120_000;
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

  async function persist<Result>(
    request: (client: HubClient, signal: AbortSignal) => Promise<Result>,
    { signal, isAtomic = false, patienceMs }: Persistence,
  ): Promise<Result> {
    const started = performance.now();
    for (let failures = 1; ; failures += 1) {
      const { client, isTokenFromFile } = connect();
      try {
        const timeout = AbortSignal.timeout(REQUEST_MS);
        const result = await request(
          client,
          isAtomic ? timeout : AbortSignal.any([signal, timeout]),
        );
        reportUp();
        return result;
      } catch (error) {
        const mayRepeat = isTemporary(error, isTokenFromFile);
        if (mayRepeat || !isAtomic) signal.throwIfAborted();
        if (!mayRepeat || performance.now() - started >= patienceMs()) throw error;
        const isAnswer = error instanceof HubRequestFailed;
        reportDown(isAnswer ? error.message : `The connection broke (${causeOf(error)}).`);
      }
      await wait(failures, signal);
      signal.throwIfAborted();
    }
  }

  const post = (id: string, action: string, body: object, persistence: Persistence, query = {}) =>
    persist(
      async (client, signal) =>
        (await client.open("POST", `/api/events/${id}/${action}`, { body, query, signal })).text(),
      persistence,
    );

  return {
    async *list(persistence) {
      let cursor: string | undefined;
      do {
        const query = { ...selection, claimable: 1, order: "oldest", limit: PAGE, cursor };
        const page = await persist(
          (client, signal) =>
            client.request<{ items: ListedEvent[]; next_cursor: string | null }>(
              "GET",
              "/api/events",
              { query, signal },
            ),
          persistence,
        );
        yield* page.items;
        cursor = page.next_cursor ?? undefined;
      } while (cursor !== undefined);
    },

    async read(id, persistence) {
      try {
        return await persist(
          (client, signal) => client.request("GET", `/api/events/${id}`, { signal }),
          persistence,
        );
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },

    async claim(id, persistence) {
      try {
        const json = await post(id, "claim", { worker, lease_s: leaseS }, persistence);
        return { json, event: JSON.parse(json) as ClaimedEvent };
      } catch (error) {
        if (isTaken(error)) return undefined;
        throw error;
      }
    },

    async renew(id, persistence) {
      await post(id, "claim", { worker, lease_s: leaseS }, persistence, { payload: 0 });
    },

    async release(id, { delayS, countAttempt }, persistence) {
      const body = { worker, delay_s: delayS, count_attempt: countAttempt };
      await post(id, "release", body, persistence);
    },

    async markProcessed(id, note, { onlyIfClaimed }, persistence) {
      const body = { ...(note !== "" && { note }), ...(onlyIfClaimed && { worker }) };
      await post(id, "processed", body, persistence);
    },

    async checkAccess(persistence) {
      try {
        await post(NO_EVENT, "release", { worker }, persistence);
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

/** The hub cannot be reached, or cannot respond now, or the response was cut off. */
function isTemporary(error: unknown, isTokenFromFile: boolean): boolean {
  if (error instanceof HubRequestFailed) {
    const { status = 503 } = error;
    return status >= 500 || [408, 429].includes(status) || (status === 401 && isTokenFromFile);
  }
  return (
    error instanceof Error && (error.name === "TimeoutError" || error.message === "terminated")
  );
}

const isNotFound = (error: unknown): boolean =>
  error instanceof HubRequestFailed && error.code === "not_found";

/** Another worker has the event, it is processed, or it no longer exists. */
export const isTaken = (error: unknown): error is HubRequestFailed =>
  isNotFound(error) || (error instanceof HubRequestFailed && error.status === 409);
