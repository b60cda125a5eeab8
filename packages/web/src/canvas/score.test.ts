import { expect, test } from "vitest";
import { scoreOf } from "./score.ts";

test("a name that begins with it comes first, then one that contains it, then other texts", () => {
  const texts = ["Fetch the issue", "HTTP request", '{"url":"https://api.example.com"}'];
  expect(scoreOf("fetch", texts)).toBe(1);
  expect(scoreOf("Issue", texts)).toBe(0.8);
  expect(scoreOf("api.example", texts)).toBe(0.4);
  expect(scoreOf("fhtc", texts)).toBe(0);
});
