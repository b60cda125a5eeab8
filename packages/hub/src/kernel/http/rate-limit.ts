/**
 * Two limits per client and window:
 * - The failure limit counts only requests that are rejected before or by the signature check. Many
 *   senders can share one address, such as that of a proxy. So a client at its failure limit is only
 *   suspect: its signed requests are still verified.
 * - The request limit counts all requests. It is much higher, and bounds the work of verification.
 *
 * Both are sliding windows: the count of the current window plus the weighted count of the previous one,
 * so that a burst across two windows cannot reach twice the limit. The number of clients is bounded.
 */
import { BoundedMap } from "../lib/bounded-map.ts";

/**
 * `suspect`: the client has reached the failure limit; only a request that may have a valid signature
 * should be processed. `rejected`: the client has reached the request limit.
 */
type Admission = "admitted" | "suspect" | "rejected";

export interface RateLimit {
  /** Counts a request, unless it is rejected. The client is an IP address, or the hash of a token. */
  admit(client: string): Admission;
  /** Counts a failure of a request that was not rejected. */
  fail(client: string): void;
}

export interface RateLimitOptions {
  /** The number of failures that one client may cause per window; 0 = no limits. */
  failuresPerWindow: number;
  /** By default, one second. */
  windowMs?: number;
  now: () => number;
  maxClients?: number;
}

/** The request limit divided by the failure limit. */
export const REQUESTS_PER_FAILURE = 100;

interface Client {
  /** The start of the current window. */
  start: number;
  requests: number;
  failures: number;
  /** The counts of the previous window. */
  previous: { requests: number; failures: number };
}

export const UNLIMITED: RateLimit = {
  admit: () => "admitted",
  fail: () => {},
};

export function createRateLimit(options: RateLimitOptions): RateLimit {
  const { failuresPerWindow, windowMs = 1_000, now, maxClients = 20_000 } = options;
  if (failuresPerWindow === 0) return UNLIMITED;
  const clients = new BoundedMap<string, Client>(maxClients);
  const limits = {
    requests: failuresPerWindow * REQUESTS_PER_FAILURE,
    failures: failuresPerWindow,
  };

  function clientAt(address: string, at: number): Client {
    const name = clientName(address);
    const client = clients.get(name);
    if (!client || at - client.start >= 2 * windowMs || at < client.start) {
      const previous = { requests: 0, failures: 0 };
      const created = { start: at, requests: 0, failures: 0, previous };
      clients.set(name, created);
      return created;
    }
    if (at - client.start >= windowMs) {
      client.start += windowMs;
      client.previous.requests = client.requests;
      client.previous.failures = client.failures;
      client.requests = 0;
      client.failures = 0;
      clients.set(name, client); // keeps active clients from eviction
    }
    return client;
  }

  function exceeds(client: Client, limit: keyof typeof limits, at: number): boolean {
    const weight = 1 - (at - client.start) / windowMs;
    return client.previous[limit] * weight + client[limit] >= limits[limit];
  }

  return {
    admit(address) {
      const at = now();
      const client = clientAt(address, at);
      if (exceeds(client, "requests", at)) return "rejected";
      client.requests += 1;
      return exceeds(client, "failures", at) ? "suspect" : "admitted";
    },
    fail(address) {
      clientAt(address, now()).failures += 1;
    },
  };
}

/**
 * Returns the name under which the requests of an address are counted. An IPv6 client controls a whole
 * /64, so a limit per address would not limit it.
 */
function clientName(address: string): string {
  if (!address.includes(":")) return address;
  if (address.includes(".")) return address.slice(address.lastIndexOf(":") + 1); // IPv4-mapped
  const [head = "", tail] = address.split("::");
  const groups = head === "" ? [] : head.split(":");
  if (tail !== undefined) {
    const tailGroups = tail === "" ? [] : tail.split(":");
    while (groups.length + tailGroups.length < 8) groups.push("0");
    groups.push(...tailGroups);
  }
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
