import fc from "fast-check";
import { expect, it } from "vitest";
import { createTexts } from "./find-texts.ts";

it("finds every character of every text", () => {
  const text = (minLength: number, maxLength: number) =>
    fc.string({ unit: fc.constantFrom("a", "b", "ä", "\ud83d", "\ude00"), minLength, maxLength });
  fc.assert(
    fc.property(fc.array(text(4, 8)), text(0, 60), (texts, within) => {
      const expected = new Set<number>();
      for (const one of texts)
        for (let at = within.indexOf(one); at >= 0; at = within.indexOf(one, at + 1))
          for (let nth = 0; nth < one.length; nth += 1) expected.add(at + nth);
      const { find, isIn } = createTexts(texts);
      const found = find(within).flatMap(([from, to]) =>
        Array.from({ length: to - from }, (_, nth) => from + nth),
      );
      expect(found).toEqual([...expected].sort((a, b) => a - b));
      expect(isIn(within)).toBe(expected.size > 0);
    }),
    { numRuns: 1_000 },
  );
});

it("merges only ranges that overlap", () => {
  expect(createTexts(["abcd", "cdefgh"]).find("abcdefgh abcdabcd")).toEqual([
    [0, 8],
    [9, 13],
    [13, 17],
  ]);
});
