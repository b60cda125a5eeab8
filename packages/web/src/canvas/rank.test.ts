import { expect, test } from "vitest";
import { rank, scoreOf } from "./rank.ts";

test("scores the start of the name highest, then other text in the name, then other texts", () => {
  const texts = ["Fetch the issue", "HTTP request", '{"url":"https://api.example.com"}'];
  expect(scoreOf("fetch", texts)).toBe(1);
  expect(scoreOf("Issue", texts)).toBe(0.8);
  expect(scoreOf("api.example", texts)).toBe(0.4);
  expect(scoreOf("fhtc", texts)).toBe(0);
});

test("returns the best match first, and all entries for an empty search", () => {
  const texts: string[][] = [["HTTP request", "Returns its response."], ["Merge"], ["Return", ""]];
  expect(rank(texts, "return", (each) => each).map(([name]) => name)).toEqual([
    "Return",
    "HTTP request",
  ]);
  expect(rank(texts, " ", (each) => each)).toEqual(texts);
});
