import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRateLimit } from "./rate-limit.ts";

const clock = (start = 1_000_000) => {
  let at = start;
  return { now: () => at, advance: (ms: number) => (at += ms) };
};

describe("createRateLimit", () => {
  it("allows each client requests up to the limit", () => {
    const { now } = clock();
    const limit = createRateLimit({ perSecond: 3, now });
    expect([1, 2, 3, 4].map(() => limit("192.0.2.1"))).toEqual([
      undefined,
      undefined,
      undefined,
      1,
    ]);
    expect(limit("192.0.2.2")).toBeUndefined();
  });

  it("does not allow twice the limit across two windows", () => {
    const time = clock();
    const limit = createRateLimit({ perSecond: 100, now: time.now });
    expect(limit("192.0.2.1")).toBeUndefined();
    time.advance(990);
    const before = Array.from({ length: 99 }, () => limit("192.0.2.1"));
    time.advance(20);
    const after = Array.from({ length: 100 }, () => limit("192.0.2.1"));
    expect(before.filter((wait) => wait === undefined)).toHaveLength(99);
    expect(after.filter((wait) => wait === undefined).length).toBeLessThanOrEqual(2);
  });

  it("never allows twice the limit in any second", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(400), { minLength: 1, maxLength: 300 }), (gaps) => {
        const time = clock();
        const limit = createRateLimit({ perSecond: 10, now: time.now });
        const allowed: number[] = [];
        for (const gap of gaps) {
          time.advance(gap);
          if (limit("a") === undefined) allowed.push(time.now());
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
    const limit = createRateLimit({ perSecond: 1, now });
    expect(limit("2001:db8:1:2::1")).toBeUndefined();
    expect(limit("2001:db8:1:2:ffff::9")).toBe(1);
    expect(limit("2001:0db8:0001:0002:0:0:0:7")).toBe(1);
    expect(limit("2001:db8:1:3::1")).toBeUndefined();
    expect(limit("::ffff:192.0.2.1")).toBeUndefined();
    expect(limit("192.0.2.1")).toBe(1);
  });

  it("evicts the oldest client above the maximum", () => {
    const { now } = clock();
    const limit = createRateLimit({ perSecond: 1, now, maxClients: 2 });
    for (const client of ["a", "b", "c"]) limit(client);
    expect(limit("c")).toBe(1);
    expect(limit("a")).toBeUndefined();
  });

  it("is disabled by 0", () => {
    const limit = createRateLimit({ perSecond: 0, now: () => 0 });
    expect(Array.from({ length: 1000 }, () => limit("a")).every((wait) => wait === undefined)).toBe(
      true,
    );
  });
});
