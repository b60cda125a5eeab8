import fc from "fast-check";
import { expect, it } from "vitest";
import { findText } from "./find-text.ts";

const word = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 6 });
/** Up to 180 characters: often above 64, the maximum for the native search. */
const repeatedWord = fc
  .tuple(word, fc.integer({ min: 11, max: 30 }))
  .map(([text, times]) => text.repeat(times));

it("returns the same index as indexOf", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(word, repeatedWord)),
      repeatedWord,
      word,
      fc.nat(5),
      (texts, start, end, from) => {
        const wanted = start + end;
        const text = [...texts, wanted, ...texts, wanted].join("ab");
        expect(findText(text, wanted, from)).toBe(text.indexOf(wanted, from));
        expect(findText(texts.join(""), wanted)).toBe(texts.join("").indexOf(wanted));
      },
    ),
  );
});

it("takes linear time for input on which the native search is quadratic", () => {
  const wanted = `ab${"a".repeat(200_000)}`;
  expect(findText("a".repeat(1_000_000), wanted)).toBe(-1);
  expect(findText(`${"a".repeat(1_000_000)}${wanted}`, wanted)).toBe(1_000_000);
});
