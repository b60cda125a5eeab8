import fc from "fast-check";
import { expect, it } from "vitest";
import { APP_SLUG, appSlugFor } from "./app-slug.ts";

it.each([
  ["Desk", "desk"],
  ["My  App!", "my-app"],
  ["Ünïcode Straße", "unicode-strasse"],
  ["天気", "app"],
  ["🌧", "app"],
  ["2026 plans", "app-2026-plans"],
  ["x".repeat(300), "x".repeat(63)],
])("derives from the name %s the slug %s", (name, slug) => {
  expect(appSlugFor(name)).toBe(slug);
});

it("appends a number within the length limit", () => {
  expect(appSlugFor("Desk", 2)).toBe("desk-2");
  expect(appSlugFor("x".repeat(300), 12)).toBe(`${"x".repeat(60)}-12`);
});

it("derives a valid slug from every name", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme", maxLength: 400 }),
      fc.integer({ min: 1 }),
      (name, number) => APP_SLUG.test(appSlugFor(name, number)),
    ),
  );
});
