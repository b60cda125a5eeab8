import fc from "fast-check";
import { expect, it } from "vitest";
import { findText, splitText } from "./find-text.ts";

const word = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 6 });
/** Longer than what is left to the engine. */
const long = fc.tuple(word, fc.integer({ min: 11, max: 30 })).map(([one, n]) => one.repeat(n));

it("finds and splits as the engine does", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(word, long)), long, word, fc.nat(5), (parts, one, end, from) => {
      const wanted = one + end;
      const text = [...parts, wanted, ...parts, wanted].join("ab");
      expect(findText(text, wanted, from)).toBe(text.indexOf(wanted, from));
      expect(findText(parts.join(""), wanted)).toBe(parts.join("").indexOf(wanted));
      expect(splitText(text, wanted)).toEqual(text.split(wanted));
      expect(splitText(text, wanted, from)).toEqual(text.split(wanted, from));
    }),
  );
});

it("ends soon where the engine would look at each letter of the one for each of the other", () => {
  const wanted = `ab${"a".repeat(200_000)}`;
  expect(findText("a".repeat(1_000_000), wanted)).toBe(-1);
  expect(splitText(`${"a".repeat(1_000_000)}${wanted}`, wanted)).toHaveLength(2);
});
