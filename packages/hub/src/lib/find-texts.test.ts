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

it("finds long texts, whatever they have in common", () => {
  const start = "ab".repeat(40);
  const texts = [`${start}c`, `${start}${start}d`, `${start}c and more`, "c and"];
  const within = `${start}${start}${start}d, ${start}c and more`;
  expect(createTexts(texts).find(within)).toEqual([
    [80, 241],
    [243, 333],
  ]);
  expect(createTexts([`${start}e`]).isIn(within)).toBe(false);
  expect(createTexts([`${start}c and`]).isIn(within)).toBe(true);
});

// Comparing each text at each place would take from seconds to hours.
it.each<[string, string[]]>([
  ["one long text with another end", [`${"a".repeat(60_000)}b`]],
  ["one long text with another start", [`b${"a".repeat(60_000)}`]],
  ["one long text that is everywhere", ["a".repeat(60_000)]],
  ["many short texts", Array.from({ length: 60 }, (_, nth) => `${"a".repeat(nth + 4)}b`)],
  ["many texts with the same start", Array.from({ length: 5_000 }, (_, nth) => `aaaa${nth}`)],
])("searches repetitive text in linear time: %s", (_, texts) => {
  const within = "a".repeat(8_000_000);
  const { find, isIn } = createTexts(texts);
  const isFound = texts[0] === "a".repeat(60_000);
  const startedAt = process.cpuUsage();
  expect(isIn(within)).toBe(isFound);
  expect(find(within)).toEqual(isFound ? [[0, within.length]] : []);
  const { user, system } = process.cpuUsage(startedAt);
  expect((user + system) / 1_000).toBeLessThan(5_000);
});
