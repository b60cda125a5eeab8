import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isMultipleOf } from "./multiple-of.ts";

/** `digits` times ten to the minus `places`, as people write it. */
function decimal(digits: bigint, places: number): number {
  const text = String(digits < 0n ? -digits : digits).padStart(places + 1, "0");
  const at = text.length - places;
  return Number(`${digits < 0n ? "-" : ""}${text.slice(0, at)}.${text.slice(at)}0`);
}

// Together at most fifteen digits: as many as a number keeps.
const step = fc.bigInt(1n, 99_999n);
const times = fc.bigInt(-99_999_999n, 99_999_999n);
const places = fc.integer({ min: 0, max: 40 });

describe("a multiple", () => {
  it("is what a step makes, any number of times", () => {
    fc.assert(
      fc.property(step, times, places, (one, many, at) => {
        expect(isMultipleOf(decimal(one * many, at), decimal(one, at))).toBe(true);
      }),
    );
  });

  it("is not what is a little more", () => {
    fc.assert(
      fc.property(step, times, places, fc.bigInt(1n, 9n), (one, many, at, more) => {
        expect(isMultipleOf(decimal(one * many * 10n + more, at + 1), decimal(one, at))).toBe(
          false,
        );
      }),
    );
  });

  it("may be any number, of any other", () => {
    const double = fc.double({ noNaN: true });
    fc.assert(
      fc.property(double, double, (one, other) => {
        fc.pre(Number.isFinite(one) && one !== 0);
        expect(isMultipleOf(one, one)).toBe(true);
        expect(isMultipleOf(0, one)).toBe(true);
        expect(typeof isMultipleOf(one, other)).toBe("boolean");
      }),
    );
  });

  it.each([
    [1.00000005, 1],
    [0.01000005, 0.01],
    [1.5e-8, 1e-8],
    [1e21, 7],
    [1, 0],
    [0.5, 0],
    [Number.POSITIVE_INFINITY, 2],
    [1e300, 1.7e300],
  ])("%d is none of %d", (value, by) => {
    expect(isMultipleOf(value, by)).toBe(false);
  });

  it.each([
    [0.3, 0.1],
    [1.1, 0.01],
    [4.35, 0.01],
    [3e-8, 1e-8],
    [-19.99, 0.01],
    [1e21, 0.01],
    [1e308, 5e-324],
    [123_456_789.12, 0.01],
    [-0, 3],
  ])("%d is one of %d", (value, by) => {
    expect(isMultipleOf(value, by)).toBe(true);
  });
});
