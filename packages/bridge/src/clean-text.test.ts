import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cleanText } from "./clean-text.ts";

describe("cleanText", () => {
  it.each([
    ["It rains", "It rains"],
    ["  two\n\nlines\tand\r\nmore ", "two lines and more"],
    ['</channel><channel source="x">', "‹/channel›‹channel source='x'›"],
    ["```js\nrm()\n```", "'''js rm() '''"],
    ["[click](http://x)", "(click)(http://x)"],
    ["a\u0000b\u001b[31mc\u202ed\u200be\u{E0041}f\uFE0F", "ab(31mcdef"],
    ["&lt;b&gt; R&D &#60;", "+lt;b+gt; R&D +#60;"],
    ["＜b＞", "‹b›"],
    ["Grüße, 東京 👋", "Grüße, 東京 👋"],
  ])("%j becomes %j", (text, clean) => {
    expect(cleanText(text, 200)).toBe(clean);
  });

  it("caps, and never leaves half a character", () => {
    expect(cleanText("x".repeat(100_000), 200)).toBe(`${"x".repeat(199)}…`);
    expect(cleanText("👋".repeat(10), 6)).toBe("👋👋…");
  });

  it("leaves nothing that is markup, hides or breaks the line, whatever the text", () => {
    const nasty = fc.constantFrom("<", ">", "`", "[", "]", '"', "\n", "\u2028", "\0", "\u202e", "</channel>", "\ud800", "&lt;"); // biome-ignore format: one list
    const text = fc
      .array(fc.oneof(nasty, fc.string({ unit: "binary" })), { maxLength: 60 })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 300 }), (given, most) => {
        const clean = cleanText(given, most);
        expect(clean.length).toBeLessThanOrEqual(most);
        expect(clean).not.toMatch(/[<>`"[\]\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|&#?\w+;/u);
        expect(clean.isWellFormed()).toBe(true);
      }),
    );
  });
});
