/**
 * Two limits per client and second. The failure limit counts only requests that are rejected before or
 * by the signature check: those of strangers. An honest sender may send a burst, so the limit of all
 * requests is much higher. Both are sliding windows: the count of the current window plus the weighted
 * count of the previous one, so that a burst across two windows cannot reach twice the limit. The
 * number of clients is bounded.
 */
import { BoundedMap } from "../lib/bounded-map.ts";

export type ExceededLimit = "requests" | "failures";

export interface RateLimit {
  /** Counts a request, unless its client exceeds a limit; then returns the limit. */
  admit(address: string): ExceededLimit | undefined;
  /** Counts a failure of an admitted request. */
  fail(address: string): void;
  /** Returns whether the client has reached the failure limit. */
  isBlocked(address: string): boolean;
}

export interface RateLimitOptions {
  /** The number of failures that one client may cause per second; 0 = no limits. */
  failuresPerSecond: number;
  now: () => number;
  maxClients?: number;
}

/** The ratio of the two limits. */
export const REQUESTS_PER_FAILURE = 100;

const WINDOW_MS = 1000;

interface Client {
  /** The start of the current window. */
  start: number;
  requests: number;
  failures: number;
  /** The counts of the previous window. */
  former: { requests: number; failures: number };
}

export const UNLIMITED: RateLimit = {
  admit: () => undefined,
  fail: () => {},
  isBlocked: () => false,
};

export function createRateLimit(options: RateLimitOptions): RateLimit {
  const { failuresPerSecond, now, maxClients = 20_000 } = options;
  if (failuresPerSecond === 0) return UNLIMITED;
  const clients = new BoundedMap<string, Client>(maxClients);
  const limits = {
    requests: failuresPerSecond * REQUESTS_PER_FAILURE,
    failures: failuresPerSecond,
  };

  function clientAt(address: string, at: number): Client {
    const name = clientOf(address);
    const client = clients.get(name);
    if (!client || at - client.start >= 2 * WINDOW_MS || at < client.start) {
      const former = { requests: 0, failures: 0 };
      const created = { start: at, requests: 0, failures: 0, former };
      clients.set(name, created);
      return created;
    }
    if (at - client.start >= WINDOW_MS) {
      client.start += WINDOW_MS;
      client.former.requests = client.requests;
      client.former.failures = client.failures;
      client.requests = 0;
      client.failures = 0;
      clients.set(name, client); // keeps active clients from eviction
    }
    return client;
  }

  function exceeds(client: Client, limit: ExceededLimit, at: number): boolean {
    const weight = 1 - (at - client.start) / WINDOW_MS;
    return client.former[limit] * weight + client[limit] >= limits[limit];
  }

  return {
    admit(address) {
      const at = now();
      const client = clientAt(address, at);
      if (exceeds(client, "failures", at)) return "failures";
      if (exceeds(client, "requests", at)) return "requests";
      client.requests += 1;
      return undefined;
    },
    fail(address) {
      clientAt(address, now()).failures += 1;
    },
    isBlocked(address) {
      const at = now();
      return exceeds(clientAt(address, at), "failures", at);
    },
  };
}

/** An IPv6 client controls a whole /64, so a limit per address would not limit it. */
function clientOf(address: string): string {
  if (!address.includes(":")) return address;
  if (address.includes(".")) return address.slice(address.lastIndexOf(":") + 1); // IPv4-mapped
  const [head = "", tail] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  if (tail !== undefined) {
    const rest = tail === "" ? [] : tail.split(":");
    while (groups.length + rest.length < 8) groups.push("0");
    groups.push(...rest);
  }
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
