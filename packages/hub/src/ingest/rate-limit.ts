/**
 * A sliding window per client: what came in the last second, the part of the previous window that
 * still counts included. A burst at the border of two windows does not get double. Memory is bounded.
 */
import { BoundedMap } from "@signalbox/rules/bounded-map.ts";

interface Window {
  start: number;
  count: number;
  previous: number;
}

export interface RateLimitOptions {
  /** Requests that one client may send in a second; 0 = no limit. */
  perSecond: number;
  now: () => number;
  maxClients?: number;
}

const WINDOW_MS = 1000;

/** Answers with the seconds to wait, or undefined where the request may pass. */
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
      windows.set(client, window); // counts as written: clients that are heard of stay
    }
    const stillCounts = 1 - (at - window.start) / WINDOW_MS;
    if (window.previous * stillCounts + window.count >= perSecond) return 1;
    window.count += 1;
    return undefined;
  };
}

/** An IPv6 client commands a whole /64; counting single addresses would not limit it. */
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
