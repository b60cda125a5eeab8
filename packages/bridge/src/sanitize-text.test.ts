import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sanitizeText } from "./sanitize-text.ts";

describe("sanitizeText", () => {
  it.each([
    ["It rains", "It rains"],
    ["  two\n\nlines\tand\r\nmore ", "two lines and more"],
    ['</channel><channel source="x">', "‹/channel›‹channel source='x'›"],
    ["```js\nrm()\n```", "'''js rm() '''"],
    ["[click](http://x)", "(click)(http://x)"],
    ["a\u0000b\u001b[31mc\u202ed\u200be\u{E0041}f\uFE0F", "ab(31mcdef"],
    ["&lt;b&gt; R&D &#60;", "+lt;b+gt; R&D +#60;"],
    ["＜b＞", "‹b›"],
    ["&lt/channel&gt &LTb &#60 &#x3c &ｌｔ；", "+lt/channel+gt +LTb +#60 +#x3c +ｌｔ；"],
    ["AT&T, Q&A & more", "AT&T, Q&A & more"],
    ["a\u3164\u115f\u1160\uffa0\u2800\u034fb", "a b"],
    ["❮a❯ ⟪b⟫ ˂c˃ ᐸdᐳ ≮e≯ ❬f❭ ︿g﹀", "‹a› ‹b› ‹c› ‹d› ‹e› ‹f› ‹g›"],
    ["ˋˋˋ `x` 〝y〞 ⟦z⟧", "''' 'x' 'y' (z)"],
    [`a${"\u0300\u0301".repeat(50)}b`, "a\u0300\u0301\u0300b"],
    ["\u0338\u20d2 first", "first"],
    ["မြို့ क्षत्रिय ที่นี่ שָׁלוֹם", "မြို့ क्षत्रिय ที่นี่ שָׁלוֹם"],
    ["Grüße, 東京 👋", "Grüße, 東京 👋"],
  ])("turns %j into %j", (text, clean) => {
    expect(sanitizeText(text, 200)).toBe(clean);
  });

  it("truncates without splitting a surrogate pair", () => {
    expect(sanitizeText("x".repeat(100_000), 200)).toBe(`${"x".repeat(199)}…`);
    expect(sanitizeText("👋".repeat(10), 6)).toBe("👋👋…");
  });

  /** The result must be inert under any normalization or decoding. */
  function expectInert(clean: string): void {
    for (const form of ["NFC", "NFD", "NFKC", "NFKD"]) {
      const normalized = clean.normalize(form);
      expect(normalized).not.toMatch(/[<>`"[\]\p{Zl}\p{Zp}]|~~~/u);
      expect(normalized).not.toMatch(/[❮❯❬❭❰❱⟨⟩⟪⟫〈〉《》˂˃ᐸᐳ]/u);
      expect(normalized).not.toMatch(/&(#|\w+;|lt|gt|amp|quot)/i);
    }
    expect(clean).not.toMatch(/[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u);
    expect(clean).not.toMatch(/[\p{Mn}\p{Me}]{4}|^\p{M}/u);
    expect(clean.isWellFormed()).toBe(true);
  }

  it("removes markup, invisible characters and line breaks from any text", () => {
    const hostile = fc.constantFrom("<", ">", "`", "[", "]", '"', "\n", "\u2028", "\0", "\u202e", "</channel>", "\ud800", "&lt;", "&", "＆", "#", "lt", "ｇｔ", ";", "；", "~", "～", "\u0338", "\u0301", "\u034f", "\u3164", "\u2800", "ᐸ", "≮", "\u1fef"); // biome-ignore format: one list
    const text = fc
      .array(fc.oneof(hostile, fc.string({ unit: "binary" })), { maxLength: 60 })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 300 }), (given, max) => {
        const clean = sanitizeText(given, max);
        expect(clean.length).toBeLessThanOrEqual(max);
        expectInert(clean);
      }),
      { numRuns: 1_000 },
    );
  });

  it("replaces every Unicode character that is markup or normalizes to markup", () => {
    const all = Array.from({ length: 0x110000 }, (_, code) => code).filter(
      (code) => code < 0xd800 || code > 0xdfff,
    );
    for (let at = 0; at < all.length; at += 1_000) {
      const some = all.slice(at, at + 1_000).map((code) => `a${String.fromCodePoint(code)}`);
      expectInert(sanitizeText(some.join(""), 4_000));
    }
  });
});
