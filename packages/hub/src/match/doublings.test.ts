import fc from "fast-check";
import jsonata from "jsonata";
import { describe, expect, it } from "vitest";
import { doublingsIn } from "./doublings.ts";

describe("levels of ?? and ?: within each other", () => {
  it.each([
    ["a ?? b", 1],
    ["a ?? b ?? c ?: d", 1],
    ['{"a": x ?? 1, "b": (y ?: 2)}', 2],
    ["((a ?: 1) ?: 1) ?: 1", 3],
    ["[[a ?? 1][0] ?? 2]", 2],
    ["(((a)))", 0],
    ["\"(a ?? 1\" & '?:' & `?? '` /* (?: */", 0],
    ['"\\" ?? " & (a ?? 1)', 1],
    ["((a ?? 1", 1],
    ["a ?? 1))", 1],
    ['"a ?? b', 0],
  ])("%s: %i", (text, levels) => {
    expect(doublingsIn(text)).toBe(levels);
  });

  it("bound how much larger than its text an expression becomes", () => {
    const operand = fc.letrec<{ one: string }>((tie) => ({
      one: fc.oneof(
        { maxDepth: 6 },
        fc.constantFrom("a", "1", '"x"'),
        fc
          .tuple(tie("one"), fc.constantFrom("??", "?:", "+"), tie("one"))
          .map(([a, op, b]) => `(${a} ${op} ${b})`),
        fc.tuple(tie("one"), tie("one")).map(([a, b]) => `[${a}, ${b} ?? 1]`),
      ),
    })).one;
    fc.assert(
      fc.property(operand, (text) => {
        fc.pre(doublingsIn(text) <= 8);
        const nodes = (JSON.stringify(jsonata(text).ast()).match(/"type"/g) ?? []).length;
        expect(nodes).toBeLessThanOrEqual(10 * (text.length + 1) * 2 ** doublingsIn(text));
      }),
    );
  });
});
