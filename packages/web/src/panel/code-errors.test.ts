import { expect, test } from "vitest";
import { findCodeErrors, type Language } from "./code-errors.ts";

test.each<[Language, string]>([
  ["jsonata", "$sum(items.price)"],
  ["json", '{"a": [1]}'],
  ["javascript", "const a = 1;\nreturn { a };"],
  ["json", ""],
])("finds no error in valid %s: %s", async (language, text) =>
  expect(await findCodeErrors(language, text)).toEqual([]),
);

test.each<[Language, string]>([
  ["jsonata", "$sum(items.(1)"],
  ["json", '{"a": '],
  ["javascript", "return {"],
])("finds an error within the text of invalid %s: %s", async (language, text) => {
  const [error] = await findCodeErrors(language, text);
  expect(error?.message).toBeTruthy();
  expect(error?.from).toBeGreaterThanOrEqual(0);
  expect(error?.to).toBeLessThanOrEqual(text.length);
});
