import fc from "fast-check";
import { expect, it } from "vitest";
import { findText } from "./find-text.ts";

const word = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 6 });
/** Up to 180 characters: often above the limit for the native search, which is 64. */
const long = fc.tuple(word, fc.integer({ min: 11, max: 30 })).map(([one, n]) => one.repeat(n));

it("returns the same index as indexOf", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(word, long)), long, word, fc.nat(5), (parts, one, end, from) => {
      const wanted = one + end;
      const text = [...parts, wanted, ...parts, wanted].join("ab");
      expect(findText(text, wanted, from)).toBe(text.indexOf(wanted, from));
      expect(findText(parts.join(""), wanted)).toBe(parts.join("").indexOf(wanted));
    }),
  );
});

it("takes linear time for input on which the native search is quadratic", () => {
  const wanted = `ab${"a".repeat(200_000)}`;
  expect(findText("a".repeat(1_000_000), wanted)).toBe(-1);
  expect(findText(`${"a".repeat(1_000_000)}${wanted}`, wanted)).toBe(1_000_000);
});
