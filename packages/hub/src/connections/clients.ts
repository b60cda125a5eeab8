/**
 * Opens, shares and closes clients. A client is opened by the first call, shared by concurrent calls,
 * and closed after it has been idle for a while. If a client cannot be opened, the next attempt is
 * delayed (backoff): until then, calls fail immediately with the last error.
 */
import { backoffMs } from "@signalbox/rules/backoff.ts";
import { BoundedMap } from "../kernel/lib/bounded-map.ts";
import { elapsedSince, type Instant, instant, type Timers } from "../kernel/lib/timers.ts";
import { ConnectionError } from "./connection-error.ts";
import { CHECKED_IDLE_MS, IDLE_MS, OPEN_MS, RETRY_FIRST_MS, RETRY_MAX_MS } from "./limits.ts";
import type { McpClient } from "./mcp-client.ts";
import type { Connection } from "./model.ts";

export interface ClientsOptions {
  open(connection: Connection, signal: AbortSignal): Promise<McpClient>;
  timers: Timers;
  random: () => number;
  /** Called when the server has lost the session of a client, or its process has ended. */
  onSessionLost(connection: Connection): void;
}

/** The last failure to open a client. */
interface Failure {
  revision: number;
  error: unknown;
  count: number;
  at: Instant;
  delayMs: number;
}

export interface UseOptions {
  signal: AbortSignal;
  /** A check ignores the backoff: it opens the client even if the last attempt has just failed. */
  isCheck: boolean;
}

/** The number of connections whose last failure is cached. */
const MAX_FAILURES = 10_000;

interface Entry {
  revision: number;
  client: Promise<McpClient>;
  opened: McpClient | undefined;
  users: number;
  /** Whether the client was used for other calls than checks. */
  hasCalls: boolean;
  /** A retired entry gets no new users, and is closed after its last use. */
  isRetired: boolean;
  stop: AbortController;
  cancelIdle(): void;
}

export function createClients({ open, timers, random, onSessionLost }: ClientsOptions) {
  const entries = new Map<string, Entry>();
  const retired = new Set<Entry>();
  const failures = new BoundedMap<string, Failure>(MAX_FAILURES);
  let isClosed = false;

  function openEntry(connection: Connection): Entry {
    const { id, revision } = connection;
    const stop = new AbortController();
    const cancelTimeout = timers.after(OPEN_MS, () =>
      stop.abort(
        new ConnectionError(
          "timeout",
          `The server did not complete the handshake within ${OPEN_MS / 1000} s.`,
        ),
      ),
    );
    const client = open(connection, stop.signal).finally(cancelTimeout);
    const entry: Entry = {
      revision,
      client,
      opened: undefined,
      users: 0,
      hasCalls: false,
      isRetired: false,
      stop,
      cancelIdle: () => {},
    };
    entries.set(id, entry);
    client.then(
      (opened) => {
        entry.opened = opened;
        failures.delete(id);
        opened.onClosed(() => {
          retire(id, entry);
          onSessionLost(connection);
        });
        if (entry.users === 0) onIdle(id, entry);
      },
      (error) => {
        const last = failures.get(id);
        const count = (last?.revision === revision ? last.count : 0) + 1;
        const delayMs = backoffMs(count, { firstMs: RETRY_FIRST_MS, maxMs: RETRY_MAX_MS, random });
        if (!entry.isRetired)
          failures.set(id, { error, count, at: instant(timers), delayMs, revision });
        retire(id, entry);
      },
    );
    return entry;
  }

  function findOrOpen(connection: Connection, isCheck: boolean): Entry {
    const { id, revision } = connection;
    const entry = entries.get(id);
    if (entry?.revision === revision) return entry;
    if (entry) retire(id, entry);
    const failure = failures.get(id);
    const isDelayed =
      failure?.revision === revision && elapsedSince(timers, failure.at) < failure.delayMs;
    if (isDelayed && !isCheck) throw failure.error;
    return openEntry(connection);
  }

  function retire(id: string, entry: Entry): void {
    if (entries.get(id) === entry) entries.delete(id);
    entry.cancelIdle();
    entry.isRetired = true;
    if (entry.users === 0) closeEntry(entry);
    else retired.add(entry);
  }

  async function closeEntry(entry: Entry): Promise<void> {
    retired.delete(entry);
    const client = await entry.client.catch(() => undefined);
    await client?.close();
  }

  function onIdle(id: string, entry: Entry): void {
    if (entry.isRetired) closeEntry(entry);
    else {
      // An open client receives the announcements of a server that declares `listChanged`.
      const isUseful = entry.hasCalls || entry.opened?.capabilities.listChanged === true;
      const idleMs = isUseful ? IDLE_MS : CHECKED_IDLE_MS;
      entry.cancelIdle = timers.after(idleMs, () => retire(id, entry));
    }
  }

  async function useOnce<Result>(
    connection: Connection,
    { signal, isCheck }: UseOptions,
    work: (client: McpClient) => Promise<Result>,
  ) {
    const entry = findOrOpen(connection, isCheck);
    entry.cancelIdle();
    entry.users += 1;
    entry.hasCalls ||= !isCheck;
    const wasOpen = entry.opened !== undefined;
    try {
      const client = entry.opened ?? (await rejectOnAbort(signal, entry.client));
      try {
        return { result: await work(client) };
      } catch (error) {
        if (!client.isSessionLost(error)) throw error;
        if (!isCheck) onSessionLost(connection);
        retire(connection.id, entry);
        return { error, isRetryable: wasOpen };
      }
    } finally {
      entry.users -= 1;
      if (entry.users === 0) onIdle(connection.id, entry);
    }
  }

  return {
    /** Calls `work` with an open client. */
    async use<Result>(
      connection: Connection,
      options: UseOptions,
      work: (client: McpClient) => Promise<Result>,
    ): Promise<Result> {
      if (isClosed) throw new ConnectionError("cancelled", "The hub is stopping.");
      const first = await useOnce(connection, options, work);
      if (!("error" in first)) return first.result;
      // The server has rejected the session, so it has not executed the call, which can be repeated.
      const second = first.isRetryable ? await useOnce(connection, options, work) : first;
      if ("error" in second) throw second.error;
      return second.result;
    },
    disconnect(id: string): void {
      failures.delete(id);
      const entry = entries.get(id);
      if (entry) retire(id, entry);
    },
    async close(): Promise<void> {
      isClosed = true;
      const all = [...entries.values(), ...retired];
      entries.clear();
      retired.clear();
      const stopping = new ConnectionError("cancelled", "The hub is stopping.");
      await Promise.all(
        all.map((entry) => {
          entry.cancelIdle();
          entry.isRetired = true;
          entry.stop.abort(stopping);
          return closeEntry(entry);
        }),
      );
    },
  };
}

function rejectOnAbort<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
