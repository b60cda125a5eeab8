import fc from "fast-check";
import { expect, it } from "vitest";
import { matchesGlob } from "./glob.ts";

it.each([
  ["acme/lamp", "acme/*", true],
  ["acme/lamp", "*", true],
  ["acme/lamp", "acme/lamp", true],
  ["acme/lamp", "acme/lam?", true],
  ["acme/lamp", "acme/lamp?", false],
  ["acme/lamp", "*/l*p", true],
  ["acme/lamp", "lamp", false],
  ["acme/lamp", "acme", false],
  ["", "", true],
  ["", "*", true],
  ["", "?", false],
  ["a", "", false],
  ["a.c", "a?c", true],
  ["abc", "a.c", false],
  ["aXbXc", "a*b*c", true],
  ["mississippi", "*issip*", true],
])("%j ~ %j: %s", (text, pattern, expected) => {
  expect(matchesGlob(text, pattern)).toBe(expected);
});

it("agrees with a regular expression", () => {
  const piece = fc.constantFrom("a", "b", "*", "?", ".", "(");
  const word = fc.array(fc.constantFrom("a", "b", ".", "(", "\n")).map((all) => all.join(""));
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), word, (pieces, text) => {
      const source = pieces.map((one) =>
        one === "*" ? "[^]*" : one === "?" ? "[^]" : one.replace(/[.(]/, "\\$&"),
      );
      expect(matchesGlob(text, pieces.join(""))).toBe(
        new RegExp(`^${source.join("")}$`).test(text),
      );
    }),
  );
});

it("ends soon on a pattern that would hang a regular expression", () => {
  expect(matchesGlob("a".repeat(5000), `${"*a".repeat(50)}b`)).toBe(false);
});
