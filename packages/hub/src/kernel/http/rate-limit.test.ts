import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRateLimit, type RateLimit, REQUESTS_PER_FAILURE } from "./rate-limit.ts";

const clock = (start = 1_000_000) => {
  let at = start;
  return { now: () => at, advance: (ms: number) => (at += ms) };
};

const limiter = (failuresPerWindow: number, now: () => number, maxClients?: number) =>
  createRateLimit({ failuresPerWindow, now, ...(maxClients ? { maxClients } : {}) });

/** Sends a request that fails, unless a limit was reached before. */
function attempt(limit: RateLimit, address: string) {
  const admission = limit.admit(address);
  if (admission === "admitted") limit.fail(address);
  return admission;
}

const times = <Result>(count: number, work: () => Result): Result[] =>
  Array.from({ length: count }, () => work());

describe("the failure limit", () => {
  it("marks a client that has reached it as suspect, and no other client", () => {
    const { now } = clock();
    const limit = limiter(3, now);
    expect(times(3, () => attempt(limit, "192.0.2.1"))).toEqual(Array(3).fill("admitted"));
    expect(limit.admit("192.0.2.1")).toBe("suspect");
    expect(limit.admit("192.0.2.2")).toBe("admitted");
  });

  it("does not count requests that succeed", () => {
    const { now } = clock();
    const limit = limiter(3, now);
    expect(times(300, () => limit.admit("192.0.2.1"))).toEqual(Array(300).fill("admitted"));
  });

  it("admits a client again after a second without failures", () => {
    const time = clock();
    const limit = limiter(3, time.now);
    times(100, () => attempt(limit, "a"));
    time.advance(1_000);
    times(100, () => attempt(limit, "a"));
    time.advance(1_000);
    expect(limit.admit("a")).toBe("admitted");
  });

  it("does not allow twice as many failures in a burst across two windows", () => {
    const time = clock();
    const limit = limiter(100, time.now);
    expect(attempt(limit, "192.0.2.1")).toBe("admitted");
    time.advance(990);
    const before = times(99, () => attempt(limit, "192.0.2.1"));
    time.advance(20);
    const after = times(100, () => attempt(limit, "192.0.2.1"));
    expect(before.filter((admission) => admission === "admitted")).toHaveLength(99);
    expect(after.filter((admission) => admission === "admitted").length).toBeLessThanOrEqual(2);
  });

  it("never allows twice as many failures within a second", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(400), { minLength: 1, maxLength: 300 }), (gaps) => {
        const time = clock();
        const limit = limiter(10, time.now);
        const allowed: number[] = [];
        for (const gap of gaps) {
          time.advance(gap);
          if (attempt(limit, "a") === "admitted") allowed.push(time.now());
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
    expect(attempt(limit, "2001:db8:1:2::1")).toBe("admitted");
    expect(attempt(limit, "2001:db8:1:2:ffff::9")).toBe("suspect");
    expect(attempt(limit, "2001:0db8:0001:0002:0:0:0:7")).toBe("suspect");
    expect(attempt(limit, "2001:db8:1:3::1")).toBe("admitted");
    expect(attempt(limit, "::ffff:192.0.2.1")).toBe("admitted");
    expect(attempt(limit, "192.0.2.1")).toBe("suspect");
  });

  it("evicts the oldest client above the maximum", () => {
    const { now } = clock();
    const limit = limiter(1, now, 2);
    for (const client of ["a", "b", "c"]) attempt(limit, client);
    expect(attempt(limit, "c")).toBe("suspect");
    expect(attempt(limit, "a")).toBe("admitted");
  });
});

describe("the request limit", () => {
  it("is much higher than the failure limit, and does not count rejected requests", () => {
    const time = clock();
    const limit = limiter(2, time.now);
    const requests = 2 * REQUESTS_PER_FAILURE;
    expect(times(requests, () => limit.admit("a"))).toEqual(Array(requests).fill("admitted"));
    expect(times(requests, () => limit.admit("a"))).toEqual(Array(requests).fill("rejected"));
    time.advance(2_000);
    expect(limit.admit("a")).toBe("admitted");
  });

  it("also bounds the requests of a suspect client", () => {
    const { now } = clock();
    const limit = limiter(1, now);
    const admissions = times(2 * REQUESTS_PER_FAILURE, () => attempt(limit, "a"));
    expect(admissions).toEqual([
      "admitted",
      ...Array(REQUESTS_PER_FAILURE - 1).fill("suspect"),
      ...Array(REQUESTS_PER_FAILURE).fill("rejected"),
    ]);
  });
});

it("limits nothing if failuresPerWindow is 0", () => {
  const limit = limiter(0, () => 0);
  expect(
    times(100_000, () => attempt(limit, "a")).every((admission) => admission === "admitted"),
  ).toBe(true);
});
