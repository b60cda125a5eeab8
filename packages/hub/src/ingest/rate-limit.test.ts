import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRateLimit, type RateLimit, REQUESTS_PER_FAILURE } from "./rate-limit.ts";

const clock = (start = 1_000_000) => {
  let at = start;
  return { now: () => at, advance: (ms: number) => (at += ms) };
};

const limiter = (failuresPerSecond: number, now: () => number, maxClients?: number) =>
  createRateLimit({ failuresPerSecond, now, ...(maxClients ? { maxClients } : {}) });

/** Sends a request that fails, unless a limit rejects it. Returns the limit. */
function attempt(limit: RateLimit, address: string) {
  const exceeded = limit.admit(address);
  if (!exceeded) limit.fail(address);
  return exceeded;
}

const times = <Result>(count: number, work: () => Result): Result[] =>
  Array.from({ length: count }, () => work());

describe("the failure limit", () => {
  it("rejects all requests of a client that has reached it", () => {
    const { now } = clock();
    const limit = limiter(3, now);
    expect(times(3, () => attempt(limit, "192.0.2.1"))).toEqual(Array(3).fill(undefined));
    expect(limit.isBlocked("192.0.2.1")).toBe(true);
    expect(limit.admit("192.0.2.1")).toBe("failures");
    expect(limit.admit("192.0.2.2")).toBeUndefined();
    expect(limit.isBlocked("192.0.2.2")).toBe(false);
  });

  it("does not count requests that succeed", () => {
    const { now } = clock();
    const limit = limiter(3, now);
    expect(times(300, () => limit.admit("192.0.2.1"))).toEqual(Array(300).fill(undefined));
    expect(limit.isBlocked("192.0.2.1")).toBe(false);
  });

  it("does not count what it rejects, so a client can send again after a second", () => {
    const time = clock();
    const limit = limiter(3, time.now);
    times(500, () => attempt(limit, "a"));
    time.advance(1_000);
    times(500, () => attempt(limit, "a"));
    time.advance(1_000);
    expect(limit.admit("a")).toBeUndefined();
  });

  it("does not allow twice its number across two windows", () => {
    const time = clock();
    const limit = limiter(100, time.now);
    expect(attempt(limit, "192.0.2.1")).toBeUndefined();
    time.advance(990);
    const before = times(99, () => attempt(limit, "192.0.2.1"));
    time.advance(20);
    const after = times(100, () => attempt(limit, "192.0.2.1"));
    expect(before.filter((exceeded) => exceeded === undefined)).toHaveLength(99);
    expect(after.filter((exceeded) => exceeded === undefined).length).toBeLessThanOrEqual(2);
  });

  it("never allows twice its number in any second", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(400), { minLength: 1, maxLength: 300 }), (gaps) => {
        const time = clock();
        const limit = limiter(10, time.now);
        const allowed: number[] = [];
        for (const gap of gaps) {
          time.advance(gap);
          if (attempt(limit, "a") === undefined) allowed.push(time.now());
        }
        // The algorithm assumes an even distribution in the previous window, so the worst case is
        // one less than twice the limit.
        for (const start of allowed)
          expect(allowed.filter((at) => at >= start && at < start + 1000).length).toBeLessThan(20);
      }),
    );
  });

  it("counts an IPv6 network of 64 bits as one client, and a mapped IPv4 address as IPv4", () => {
    const { now } = clock();
    const limit = limiter(1, now);
    expect(attempt(limit, "2001:db8:1:2::1")).toBeUndefined();
    expect(attempt(limit, "2001:db8:1:2:ffff::9")).toBe("failures");
    expect(attempt(limit, "2001:0db8:0001:0002:0:0:0:7")).toBe("failures");
    expect(attempt(limit, "2001:db8:1:3::1")).toBeUndefined();
    expect(attempt(limit, "::ffff:192.0.2.1")).toBeUndefined();
    expect(attempt(limit, "192.0.2.1")).toBe("failures");
  });

  it("evicts the oldest client above the maximum", () => {
    const { now } = clock();
    const limit = limiter(1, now, 2);
    for (const client of ["a", "b", "c"]) attempt(limit, client);
    expect(attempt(limit, "c")).toBe("failures");
    expect(attempt(limit, "a")).toBeUndefined();
  });
});

describe("the limit of all requests", () => {
  it("is much higher, and does not count what it rejects", () => {
    const time = clock();
    const limit = limiter(2, time.now);
    const requests = 2 * REQUESTS_PER_FAILURE;
    expect(times(requests, () => limit.admit("a"))).toEqual(Array(requests).fill(undefined));
    expect(times(requests, () => limit.admit("a"))).toEqual(Array(requests).fill("requests"));
    expect(limit.isBlocked("a")).toBe(false);
    time.advance(2_000);
    expect(limit.admit("a")).toBeUndefined();
  });
});

it("0 disables both limits", () => {
  const limit = limiter(0, () => 0);
  expect(times(100_000, () => attempt(limit, "a")).every((one) => one === undefined)).toBe(true);
  expect(limit.isBlocked("a")).toBe(false);
});
