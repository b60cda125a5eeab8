/**
 * Detects a server that has stopped responding: frozen, or unreachable without an error. If an
 * operation takes longer than usual, a ping on a separate connection shows whether the server still
 * responds. If not, all operations in progress fail, and new ones fail immediately until a ping succeeds.
 * A slow operation on a server that responds is not interrupted.
 */
import pg from "pg";
import { StorageUnavailable } from "../store/availability.ts";
import { sqlState } from "./postgres-errors.ts";
import { destroySocket } from "./postgres-listen.ts";

interface PulseOptions {
  connection: pg.ClientConfig;
  /** Called when the server stops responding, before the operations fail. */
  onLost(): void;
  /** An operation that takes longer causes a ping. */
  slowMs?: number;
  /** How long the server may take to respond to a ping. */
  pingTimeoutMs?: number;
}

export interface WatchedCall {
  /** Whether the caller has already got an error, so that the operation must not take effect. */
  isAbandoned(): boolean;
}

interface Pulse {
  /** Opens the connection of the pings. Otherwise, the first ping does. */
  open(): void;
  /** Rejects with `StorageUnavailable` if the server stops responding. */
  watch<Result>(work: (call: WatchedCall) => Promise<Result>): Promise<Result>;
  stop(): void;
}

interface WatchedEntry {
  since: number;
  reject(error: Error): void;
}

const NOT_RESPONDING = "the database does not respond";

export function createPulse(options: PulseOptions): Pulse {
  const { connection, onLost, slowMs = 500, pingTimeoutMs = 1_250 } = options;
  const pings = createPing(connection);
  const watched = new Set<WatchedEntry>();
  let timer: NodeJS.Timeout | undefined;
  let isLost = false;

  const checkResponse = async (): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    pings.ping().then(
      () => resolve(true),
      () => resolve(false),
    );
    // If this process was suspended, the response may already be in the socket's buffer. `setImmediate`
    // lets the socket be read first.
    const timeout = setTimeout(() => setImmediate(() => resolve(false)), pingTimeoutMs);
    const isAlive = await promise;
    clearTimeout(timeout);
    return isAlive;
  };
  const check = async (): Promise<void> => {
    const [oldest] = watched;
    if (isLost || (oldest && performance.now() - oldest.since >= slowMs)) {
      const isAlive = await checkResponse();
      if (!isAlive && !isLost) failAll();
      isLost = !isAlive;
    }
    timer = undefined;
    schedule();
  };
  const failAll = () => {
    onLost();
    for (const { reject } of watched) reject(new StorageUnavailable(NOT_RESPONDING));
    watched.clear();
  };
  let stopped = false;
  const schedule = () => {
    if (stopped || timer || (watched.size === 0 && !isLost)) return;
    timer = setTimeout(() => void check(), slowMs / 2).unref();
  };

  return {
    open: pings.open,
    watch(work) {
      if (isLost) return Promise.reject(new StorageUnavailable(NOT_RESPONDING));
      return new Promise((resolve, reject) => {
        const entry: WatchedEntry = { since: performance.now(), reject };
        watched.add(entry);
        schedule();
        work({ isAbandoned: () => !watched.has(entry) })
          .then(resolve, reject)
          .finally(() => watched.delete(entry));
      });
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
      pings.stop();
    },
  };
}

/** A connection that does not respond for this time is replaced. */
const TIMEOUT_MS = 5_000;

/** Pings the server on a separate connection, which stays open: a busy server opens connections slowly. */
function createPing(connection: pg.ClientConfig) {
  let current: { client: pg.Client; connected: Promise<unknown> } | undefined;
  const drop = (client: pg.Client) => {
    if (current?.client === client) current = undefined;
    destroySocket(client);
  };
  const open = () => {
    const client = new pg.Client({
      ...connection,
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
      application_name: "signalbox ping",
    });
    client.on("error", () => drop(client));
    current = { client, connected: client.connect() };
    current.connected.catch(() => drop(client)); // the next ping opens another connection
    return current;
  };
  return {
    open(): void {
      // A ping may have opened the connection already. A second connection would never be closed.
      if (!current) open();
    },
    /** Rejects if the server does not respond. An error that the server sends is a response. */
    async ping(): Promise<void> {
      const { client, connected } = current ?? open();
      try {
        await connected;
        await client.query("SELECT 1");
      } catch (error) {
        drop(client);
        if (sqlState(error) === "") throw error;
      }
    },
    stop() {
      if (current) drop(current.client);
    },
  };
}
