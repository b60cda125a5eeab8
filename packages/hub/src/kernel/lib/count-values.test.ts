import { isDeeperThan } from "@signalbox/rules/flows/model.ts";
import fc from "fast-check";
import { expect, it } from "vitest";
import { hasMoreValues, isTextDeeperThan } from "./json-text.ts";
import { DEFAULT_BODY_LIMITS } from "./limits.ts";

function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((sum, inner) => sum + countValues(inner), 1);
}

it("counts every value of JSON, whatever strings and whitespace it has", () => {
  const json = fc.tuple(fc.jsonValue(), fc.constantFrom(undefined, 2, "\t"));
  fc.assert(
    fc.property(json, ([value, indent]) => {
      const text = JSON.stringify(value, null, indent);
      const parsed: unknown = JSON.parse(text);
      const count = countValues(parsed);
      expect(hasMoreValues(text, count)).toBe(false);
      // A shorter text is not scanned.
      if (count > 1 && text.length > 2 * (count - 1))
        expect(hasMoreValues(text, count - 1)).toBe(true);
    }),
  );
  expect(hasMoreValues(String.raw`["\\",",,,\",[[["]`, 3)).toBe(false);
  expect(hasMoreValues(String.raw`["\\",",,,\",[[["]`, 2)).toBe(true);
});

it("allows a webhook of 25 MiB of small commits by default", () => {
  const commit = `{"id":"${"a".repeat(40)}","message":"Fix","author":{"name":"A","email":"a@b.c"},"added":["a.ts"],"removed":[],"modified":["b.ts","c.ts"]},`;
  const text = `{"commits":[${commit.repeat((25 * 1024 * 1024) / commit.length)}{}]}`;
  expect(hasMoreValues(text, DEFAULT_BODY_LIMITS.webhookValues)).toBe(false);
});

it("stops reading the text when the limit is exceeded", () => {
  const text = `[${"{},".repeat(2_000_000)}{}]`;
  let charactersRead = 0;
  const observedText = {
    length: text.length,
    charCodeAt(at: number) {
      charactersRead += 1;
      return text.charCodeAt(at);
    },
  };
  expect(hasMoreValues(observedText as string, 50_000)).toBe(true);
  expect(charactersRead).toBeLessThan(5 * 50_000);
});

it("detects JSON that is nested deeper than the limit", () => {
  const json = fc.tuple(fc.jsonValue(), fc.constantFrom(undefined, 2), fc.nat(6));
  fc.assert(
    fc.property(json, ([value, indent, depth]) => {
      const text = JSON.stringify(value, null, indent);
      expect(isTextDeeperThan(depth, text)).toBe(isDeeperThan(depth, JSON.parse(text)));
    }),
  );
  expect(isTextDeeperThan(1, '[[ ], "[[["]')).toBe(false);
  expect(isTextDeeperThan(1, "[[ 1 ]]")).toBe(true);
});
