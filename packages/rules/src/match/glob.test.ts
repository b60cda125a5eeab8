import fc from "fast-check";
import { expect, it } from "vitest";
import { compileGlob, MAX_GLOB_LENGTH } from "./glob.ts";

const matchesGlob = (text: string, pattern: string) => compileGlob(pattern)(text);

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
])("matching the text %j against the pattern %j returns %s", (text, pattern, expected) => {
  expect(matchesGlob(text, pattern)).toBe(expected);
});

it("matches the same texts as a regular expression", () => {
  const character = fc.constantFrom("a", "b", "*", "?", ".", "(");
  const word = fc.array(fc.constantFrom("a", "b", ".", "(", "\n")).map((all) => all.join(""));
  fc.assert(
    fc.property(fc.array(character, { maxLength: 8 }), word, (characters, text) => {
      const source = characters.map((character) =>
        character === "*" ? "[^]*" : character === "?" ? "[^]" : character.replace(/[.(]/, "\\$&"),
      );
      expect(matchesGlob(text, characters.join(""))).toBe(
        new RegExp(`^${source.join("")}$`).test(text),
      );
    }),
  );
});

it("matches the same texts as a regular expression if the pieces between stars are long", () => {
  const piece = fc.string({
    unit: fc.constantFrom("a", "a", "b", "?"),
    minLength: 25,
    maxLength: 80,
  });
  const filler = fc.string({ unit: fc.constantFrom("a", "b") });
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 3 }), fc.array(filler), (pieces, fillers) => {
      const pattern = ["", ...pieces, ""].join("*");
      const matching = ["", ...pieces, ""]
        .map((piece, index) => piece.replaceAll("?", "b") + (fillers[index] ?? ""))
        .join("");
      const source = pattern.replaceAll("*", "[^]*").replaceAll("?", "[^]");
      for (const text of [matching, matching.slice(1), matching.replace("ab", "ba"), ""])
        expect(matchesGlob(text, pattern)).toBe(new RegExp(`^${source}$`).test(text));
    }),
  );
});

it.each([
  ["a pattern with many stars", `${"*a".repeat(400)}b`],
  ["a pattern with adjacent stars", `${"*".repeat(999)}b`],
  ["a long piece", `*${"a".repeat(900)}b*`],
  ["a long piece whose prefix is also its suffix", `*ab${"a".repeat(900)}*`],
  ["a long piece with wildcards", `*${"a?".repeat(450)}b*`],
])("takes linear time for %s", (_, pattern) => {
  expect(matchesGlob("a".repeat(1_000_000), pattern)).toBe(false);
});

it("matches no text if the pattern exceeds the maximum length", () => {
  expect(matchesGlob("a", "*".repeat(MAX_GLOB_LENGTH))).toBe(true);
  expect(matchesGlob("a", "*".repeat(MAX_GLOB_LENGTH + 1))).toBe(false);
});
