/**
 * Detects a server that has stopped responding: frozen, or unreachable without an error. If an
 * operation takes longer than usual, a ping on a separate connection shows whether the server still
 * responds. If not, all operations in progress fail, and new ones fail immediately until a ping succeeds.
 * A slow operation on a server that responds is not interrupted.
 */
import { StorageUnavailable } from "../store/storage-unavailable.ts";

export interface PulseOptions {
  /** Resolves if the server has responded, also with an error. */
  ping(): Promise<void>;
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

export interface Pulse {
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
  const { ping, onLost, slowMs = 500, pingTimeoutMs = 1_250 } = options;
  const watched = new Set<WatchedEntry>();
  let timer: NodeJS.Timeout | undefined;
  let isLost = false;

  const checkResponse = async (): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    ping().then(
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
    },
  };
}
