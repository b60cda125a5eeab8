import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createEffort, TooMuch } from "./effort.ts";
import { compilePattern, PATTERN_LENGTH } from "./linear-pattern.ts";

const plenty = () => createEffort(Number.MAX_SAFE_INTEGER);
const compile = (source: string) => {
  const compiled = compilePattern(source, plenty());
  if ("problem" in compiled) throw new Error(`${source}: ${compiled.problem}`);
  return compiled.pattern;
};
const problemOf = (source: string) => {
  const compiled = compilePattern(source, plenty());
  return "problem" in compiled ? compiled.problem : undefined;
};
const counter = () => {
  const made = new Set<string>();
  return {
    steps: 0,
    spend(more: number) {
      this.steps += more;
    },
    spendOnce(name: string, more: number) {
      if (!made.has(name)) this.spend(more);
      made.add(name);
    },
  };
};
/** What it takes, in steps. */
function cost(source: string, text: string): number {
  const effort = counter();
  compile(source).test(text, effort);
  return effort.steps;
}

/** Letters, classes and places, in groups, alternatives and repetitions within repetitions. */
const atoms = fc.constantFrom(
  ..."a b é 😀 - . \\d \\D \\w \\W \\s \\S \\b \\B ^ $ [ab] [^a] [a-z-] [] [^] [\\]\\b[] [^\\s\\d]".split(
    " ",
  ),
  ..."\\p{L} \\P{Lu} \\p{Script=Greek} \\u0061 \\u{1F600} \\ud83d\\ude00 \\x62 \\cJ \\n \\0 \\/ \\.".split(
    " ",
  ),
  "[\\-a]",
  "[[:alpha:]",
  "[\\p{L}^a]",
  "[^\\p{Lu}\\P{L}-]",
  "[\\ud83d\\p{Lu}\\ude00]",
  "[\\\\p{L}]",
  "\\P{L}",
  " ",
  "/",
);
const { pattern: patterns } = fc.letrec<{ pattern: string; quantified: string; part: string }>(
  (tie) => ({
    part: fc.oneof(
      { maxDepth: 2, withCrossShrink: true },
      atoms,
      fc
        .tuple(fc.constantFrom("(", "(?:", "(?<n>"), tie("pattern"))
        .map(
          ([open, inner]) => `${open}${open === "(?<n>" ? inner.replaceAll("(?<n>", "(") : inner})`,
        ),
    ),
    quantified: fc
      .tuple(tie("part"), fc.constantFrom("", "", "*", "+", "?", "*?", "{2}", "{0,2}?", "{1,}"))
      .map(([part, quantifier]) => (/^(?:\^|\$|\\[bB])$/.test(part) ? part : part + quantifier)),
    pattern: fc
      .array(
        fc.array(tie("quantified"), { maxLength: 3 }).map((parts) => parts.join("")),
        { minLength: 1, maxLength: 3 },
      )
      .map((ways) => ways.join("|")),
  }),
);
const isPattern = (source: string) => {
  try {
    return new RegExp(source, "u") instanceof RegExp;
  } catch {
    return false;
  }
};
const characters = fc.constantFrom(
  ..."aabbé😀-.1Z_ \nγ/[:",
  "\ud83d",
  "\udc00",
  "\u2028",
  "\u00a0",
  "\0",
);
// The other engine takes exponential time where this one does not: only a little of a text.
const short = fc.array(characters, { maxLength: 5 }).map((all) => all.join(""));

describe("a pattern", () => {
  it("fits where the language's own engine says so", () => {
    fc.assert(
      fc.property(patterns.filter(isPattern), short, (source, text) => {
        fc.pre(problemOf(source) === undefined);
        expect(compile(source).test(text, plenty())).toBe(new RegExp(source, "u").test(text));
      }),
      { numRuns: 2000 },
    );
  });

  it("takes no more than the product of its length and the text's, whatever they are", () => {
    const long = fc
      .array(characters, { minLength: 1, maxLength: 4 })
      .map((all) => all.join("").repeat(10_000).slice(0, 10_000));
    fc.assert(
      fc.property(patterns.filter(isPattern), long, (source, text) => {
        const making = counter();
        fc.pre("pattern" in compilePattern(source, making) && making.steps < 300);
        // And at most so many classes are made.
        const most = (text.length + 1) * (2 * making.steps + 4) + 20_000 * source.length;
        expect(cost(source, text)).toBeLessThanOrEqual(most);
      }),
      { numRuns: 30 },
    );
  });

  it.each([
    "^(a+)+$",
    "^(a|a)*$",
    "^(a|aa)+$",
    "a*a*a*b",
    "(.*)(.*)(.*)[^a]$",
    "^(?:a?){20}a{20}$",
  ])("%s on twice the text takes twice the steps", (source) => {
    const text = "a".repeat(2000);
    expect(cost(source, `${text}${text}!`)).toBeLessThan(2.1 * cost(source, `${text}!`));
  });

  it("ends where its steps are used up", () => {
    expect(() => compile("a*b").test("a".repeat(1000), createEffort(100))).toThrow(TooMuch);
    expect(() => compilePattern("a{1000}", createEffort(100))).toThrow(TooMuch);
  });

  it.each([
    ["(", "is not a regular expression"],
    ["a(?=b)", "must not look ahead or behind, as (?= does"],
    ["(?<!b)a", "must not look ahead or behind, as (?<! does"],
    ["(a)\\1", "must not refer back to a group, as \\1 does"],
    ["(?<x>a)\\k<x>", "must not refer back to a group, as \\k does"],
    ["a{9999}", "repeats too much"],
    ["a{99999999999999999999}", "repeats too much"],
    ["(?:(?:(?:){1000}){1000}){1000}", "repeats too much"],
    ["(?:(?:|){1000}){0,1000}", "repeats too much"],
    ["[\\p{L}\\P{Lu}]".repeat(16), "must have at most 30 classes of Unicode, as \\p{L} is"],
    ["\\p{No_Such}", "is not a regular expression"],
    ["[\\p{L}-z]", "is not a regular expression"],
    ["a".repeat(PATTERN_LENGTH + 1), "must have at most 2000 characters"],
  ])("%#, %.40s, is refused", (source, words) => {
    expect(problemOf(source)).toContain(words);
  });

  it("takes the same steps when it is known already", () => {
    const takes = () => {
      const effort = counter();
      compilePattern("^known [\\p{L}\\p{N}]{2,30}$", effort);
      return effort.steps;
    };
    expect([takes(), takes()]).toEqual([takes(), takes()]);
  });

  it("pays for each class of Unicode, once", () => {
    const effort = counter();
    compilePattern("\\p{L}\\p{L}", effort);
    expect(Math.floor(effort.steps / 10_000)).toBe(1);
    compilePattern("^\\p{L}\\P{L}", effort);
    expect(Math.floor(effort.steps / 10_000)).toBe(2);
  });

  it("pays for each part that it goes through, though it be empty", () => {
    const effort = counter();
    compilePattern(`(?:${"()".repeat(500)}){1000}`, effort);
    expect(effort.steps).toBeGreaterThan(500_000);
  });

  it("may have groups within groups, as many as there is room for", () => {
    const deep = `${"(".repeat(990)}a${")".repeat(990)}`;
    expect(compile(deep).test("bab", plenty())).toBe(true);
  });
});
