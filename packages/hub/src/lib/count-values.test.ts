import fc from "fast-check";
import { expect, it } from "vitest";
import { hasMoreValues } from "./count-values.ts";

function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((sum, inner) => sum + countValues(inner), 1);
}

it("counts every value of JSON, whatever its texts and spaces contain", () => {
  const json = fc.tuple(fc.jsonValue(), fc.constantFrom(undefined, 2, "\t"));
  fc.assert(
    fc.property(json, ([value, indent]) => {
      const text = JSON.stringify(value, null, indent);
      const parsed: unknown = JSON.parse(text);
      const count = countValues(parsed);
      expect(hasMoreValues(text, count)).toBe(false);
      if (count > 1 && text.length > 2 * (count - 1))
        expect(hasMoreValues(text, count - 1)).toBe(true);
    }),
  );
  expect(hasMoreValues(String.raw`["\\",",,,\",[[["]`, 3)).toBe(false);
  expect(hasMoreValues(String.raw`["\\",",,,\",[[["]`, 2)).toBe(true);
});

it("stops at the limit", () => {
  const text = `[${"{},".repeat(2_000_000)}{}]`;
  const begun = performance.now();
  expect(hasMoreValues(text, 50_000)).toBe(true);
  expect(performance.now() - begun).toBeLessThan(200);
});
