import fc from "fast-check";
import { expect, it } from "vitest";
import { createTextSearch } from "./find-texts.ts";

it("finds all occurrences of every text", () => {
  const text = (minLength: number, maxLength: number) =>
    fc.string({ unit: fc.constantFrom("a", "b", "ä", "\ud83d", "\ude00"), minLength, maxLength });
  fc.assert(
    fc.property(fc.array(text(4, 8)), text(0, 60), (texts, within) => {
      const expectedIndexes = new Set<number>();
      for (const text of texts)
        for (let at = within.indexOf(text); at >= 0; at = within.indexOf(text, at + 1))
          for (let offset = 0; offset < text.length; offset += 1) expectedIndexes.add(at + offset);
      const { find, hasMatch } = createTextSearch(texts);
      const foundIndexes = find(within).flatMap(([from, to]) =>
        Array.from({ length: to - from }, (_, offset) => from + offset),
      );
      expect(foundIndexes).toEqual([...expectedIndexes].sort((a, b) => a - b));
      expect(hasMatch(within)).toBe(expectedIndexes.size > 0);
    }),
    { numRuns: 1_000 },
  );
});

it("merges only ranges that overlap", () => {
  expect(createTextSearch(["abcd", "cdefgh"]).find("abcdefgh abcdabcd")).toEqual([
    [0, 8],
    [9, 13],
    [13, 17],
  ]);
});

it("finds long texts that have the same prefix", () => {
  const start = "ab".repeat(40);
  const texts = [`${start}c`, `${start}${start}d`, `${start}c and more`, "c and"];
  const within = `${start}${start}${start}d, ${start}c and more`;
  expect(createTextSearch(texts).find(within)).toEqual([
    [80, 241],
    [243, 333],
  ]);
  expect(createTextSearch([`${start}e`]).hasMatch(within)).toBe(false);
  expect(createTextSearch([`${start}c and`]).hasMatch(within)).toBe(true);
});

// Comparing every text at every index would take between seconds and hours.
it.each<[string, string[]]>([
  ["one long text with a different end", [`${"a".repeat(60_000)}b`]],
  ["one long text with a different start", [`b${"a".repeat(60_000)}`]],
  ["one long text that matches at every index", ["a".repeat(60_000)]],
  ["many short texts", Array.from({ length: 60 }, (_, index) => `${"a".repeat(index + 4)}b`)],
  ["many texts with the same start", Array.from({ length: 5_000 }, (_, index) => `aaaa${index}`)],
])("searches repetitive text in linear time: %s", (_, texts) => {
  const within = "a".repeat(8_000_000);
  const { find, hasMatch } = createTextSearch(texts);
  const isFound = texts[0] === "a".repeat(60_000);
  const startedAt = process.cpuUsage();
  expect(hasMatch(within)).toBe(isFound);
  expect(find(within)).toEqual(isFound ? [[0, within.length]] : []);
  const { user, system } = process.cpuUsage(startedAt);
  expect((user + system) / 1_000).toBeLessThan(5_000);
});
