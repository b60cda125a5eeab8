import fc from "fast-check";
import jsonata from "jsonata";
import { describe, expect, it } from "vitest";
import { parseCostOf } from "./parse-cost.ts";

const costOf = (text: string) => parseCostOf(text, 1e9);
const nested = (levels: number) => `${"(".repeat(levels)}a${" ?? b)".repeat(levels)}`;

describe("levels of ?? and ?: within each other", () => {
  it.each([
    ["a ?? b", 1],
    ["a ?? b ?? c ?: d", 1],
    ['{"a": x ?? 1, "b": (y ?: 2)}', 1],
    ["((a ?: 1) ?: 1) ?: 1", 3],
    ["[[a ?? 1][0] ?? 2]", 2],
    ["(((a)))", 0],
    ["\"(a ?? 1\" & '?:' & `?? '` /* (?: */", 0],
    ['"\\" ?? " & (a ?? 1)', 1],
    ["((a ?? 1", 1],
    ["a ?? 1))", 1],
    ['"a ?? b', 0],
    ["a = 1 ? b ?? 2 : c ?? 3", 1],
    ["$f((a ?? 1) ~> $g, ?) ?? 2", 2],
    ["$x := (a ?? 1)[b ?? 2]^(>c ?: 1){d: e} ?? 2", 2],
    ["function($x)<s?-:n>{ $x ?? 1 }(a) ?? 2", 2],
    // What ends a comment, and what only looks like the beginning of a text, a name or a comment.
    [`/**/*.${nested(4)}`, 4],
    [`a"b & ${nested(4)}`, 4],
    ["a'b & `c` & d`e & (x ?? 1) /* ' */ ?? 2", 2],
    [`a */* ' */ ${nested(4)}`, 4],
    ["a[] ?? ((b / c ?? 1) / d ?? 2)", 2],
    // Neither bars nor the brackets in a signature are what they look like.
    ["|||a ?? b|c| ?? b|c| ?? b|c|", 3],
    ["(function($x)<s>{1} ?? 1) ?? 2", 2],
  ])("%s: %i", (text, levels) => {
    expect(costOf(text).levels).toBe(levels);
  });
});

it.each([
  ["/a/", true],
  ['/"/ & (a ?? b)', true],
  ["a ~> /b/", true],
  ["$f(/b/i)", true],
  ["a / b / c", false],
  ["a[0] / b / c[d / e] / f", false],
  ["(a) / b / 2 / [c] / d", false],
  ['"/a/" & `/b/` /* /c/ */', false],
])("a regular expression in %s: %s", (text, regex) => {
  expect(costOf(text).regex).toBe(regex);
});

it.each([
  ["function($x, $y)<s-a<n>?:x>{1}", undefined],
  ["function($x)<(sn)+:b>{1}", undefined],
  [`function($x)<${"x?".repeat(9)}:x>{1}`, `<${"x?".repeat(9)}:x>`],
  ["function($x)<x+x+:x>{1}", "<x+x+:x>"],
  ['function($x)<(s "](x+)+[")>{1}', '<(s"](x+)+[")>'],
  [`function($x)<${"s".repeat(200)}:x>{1}`, `<${"s".repeat(200)}:x>`],
])("the signature in %s that could hang: %s", (text, signature) => {
  expect(costOf(text).signature).toBe(signature);
});

describe("what the parser makes", () => {
  const name = fc.constantFrom("a", "$x", "`?? (`", 'b"c', "1", '"x"', "'/*'", "**", "*", "and");
  const noise = fc.constantFrom("", " ", "/**/", "/* ?? ' */", "\n");
  const valid = fc.letrec<{ one: string }>((tie) => ({
    one: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      name,
      fc
        .tuple(
          tie("one"),
          noise,
          fc.constantFrom("??", "?:", "+", "/", "*", ".", "&", "~>", "in", "="),
          noise,
          tie("one"),
        )
        .map(([a, before, op, after, b]) => `(${a} ${before}${op}${after} ${b})`),
      fc.tuple(tie("one"), tie("one")).map(([a, b]) => `[${a}, ${b} ?? 1]`),
      fc.tuple(tie("one"), tie("one")).map(([a, b]) => `{"k": ${a}, "l": ${b}}`),
      fc.tuple(tie("one"), tie("one")).map(([a, b]) => `|${a}|${b}|`),
      fc.tuple(tie("one"), tie("one")).map(([a, b]) => `${a}[${b}]`),
      fc.tuple(tie("one"), tie("one")).map(([a, b]) => `$f(${a}, ?, ${b})`),
      tie("one").map((a) => `function($y)<s?:x>{${a}}`),
      fc.tuple(tie("one"), tie("one")).map(([a, b]) => `(${a}; ${b})^(<a, >b)`),
      fc.tuple(tie("one"), tie("one"), tie("one")).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    ),
  })).one;
  const token = fc.constantFrom(
    ..."?? ?: ( ) [ ] { } | / * ** /* */ /**/ // \" ' ` \\ . .. : := ; , ? < > ^ @ # % - a $x 1 function λ and true".split(
      " ",
    ),
    " ",
  );
  const soup = fc.array(token, { maxLength: 30 }).map((tokens) => tokens.join(""));

  it("is never more than what is counted from the text", () => {
    let read = 0;
    fc.assert(
      fc.property(
        fc.oneof(
          valid,
          soup,
          valid.map((text) => `(${text}) ?? `),
        ),
        (text) => {
          const { parts, levels, regex } = costOf(text);
          fc.pre(parts < 20_000 && !regex);
          const tree = treeOf(text);
          if (tree === undefined) return;
          read += 1;
          expect(tree).not.toContain('"regex"');
          expect((tree.match(/"type"/g) ?? []).length).toBeLessThanOrEqual(5 * parts);
          expect(levels).toBeGreaterThanOrEqual(levelsOf(JSON.parse(tree)));
        },
      ),
      { numRuns: 1000 },
    );
    expect(read).toBeGreaterThan(200);
  });

  it("is not counted further than asked, however much it would be", () => {
    for (const text of [nested(5000), "a.".repeat(10_000), "(".repeat(20_000), "%.".repeat(9000)])
      expect(parseCostOf(text, 1000).parts).toBeGreaterThan(1000);
  });
});

function treeOf(text: string): string | undefined {
  try {
    return JSON.stringify(jsonata(text).ast());
  } catch {
    return undefined;
  }
}

/** How often `$exists(…)` of `??` stands within the condition of another. */
function levelsOf(part: unknown): number {
  if (typeof part !== "object" || part === null) return 0;
  const { type, condition, ...rest } = part as Record<string, unknown>;
  const { procedure, position } = (condition ?? {}) as Record<string, { value?: string }>;
  const copies = type === "condition" && procedure?.value === "exists" && position === undefined;
  const within = Math.max(0, ...Object.values(rest).map(levelsOf));
  return Math.max(within, levelsOf(condition) + (copies ? 1 : 0));
}
