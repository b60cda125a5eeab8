/**
 * A sliding-window counter per client: the requests of the current window plus the weighted count of the
 * previous window, so that a burst across two windows cannot reach twice the limit. The number of clients
 * is bounded.
 */
import { BoundedMap } from "../lib/bounded-map.ts";

interface Window {
  start: number;
  count: number;
  previous: number;
}

export interface RateLimitOptions {
  /** The number of requests that one client may send per second; 0 = no limit. */
  perSecond: number;
  now: () => number;
  maxClients?: number;
}

const WINDOW_MS = 1000;

/** The limiter returns the seconds to wait, or undefined if the request is allowed. */
export function createRateLimit({ perSecond, now, maxClients = 20_000 }: RateLimitOptions) {
  const windows = new BoundedMap<string, Window>(maxClients);

  return (address: string): number | undefined => {
    if (perSecond === 0) return undefined;
    const client = clientOf(address);
    const at = now();
    const window = windows.get(client);
    if (!window || at - window.start >= 2 * WINDOW_MS || at < window.start) {
      windows.set(client, { start: at, count: 1, previous: 0 });
      return undefined;
    }
    if (at - window.start >= WINDOW_MS) {
      window.start += WINDOW_MS;
      window.previous = window.count;
      window.count = 0;
      windows.set(client, window); // keeps active clients from eviction
    }
    const weight = 1 - (at - window.start) / WINDOW_MS;
    if (window.previous * weight + window.count >= perSecond) return 1;
    window.count += 1;
    return undefined;
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
