import fc from "fast-check";
import { expect, it } from "vitest";
import { type MatchEvent, type MatchTrigger, matchWithoutFilter } from "./match-trigger.ts";
import { indexTriggers } from "./trigger-index.ts";

const word = fc.constantFrom("a", "b", "c", "");
const triggers = fc.array(
  fc.record({
    tenant: word,
    source: word,
    type: fc.option(word, { nil: undefined }),
    isActive: fc.boolean(),
  }) satisfies fc.Arbitrary<MatchTrigger>,
);
const events = fc
  .record({ tenant: word, source: word, sourceId: fc.option(word, { nil: undefined }), type: word })
  .map(
    ({ sourceId, ...rest }): MatchEvent => ({
      ...rest,
      ...(sourceId === undefined ? {} : { sourceId }),
      data: {},
    }),
  );

it("finds exactly those whose tenant, source and type fit, in their order", () => {
  fc.assert(
    fc.property(triggers, events, (all, event) => {
      const expected = all.filter((trigger) => matchWithoutFilter(event, trigger).matched);
      expect(indexTriggers(all).candidates(event)).toEqual(expected);
    }),
  );
});

it("does not look at the others", () => {
  let looked = 0;
  const watched = Array.from({ length: 1000 }, (_, at) => ({
    tenant: "acme",
    get source() {
      looked++;
      return `source-${at}`;
    },
    type: "push",
    isActive: true,
  }));
  const index = indexTriggers(watched);
  looked = 0;
  const event = { tenant: "acme", source: "source-7", type: "push" };
  expect(index.candidates(event)).toEqual([watched[7]]);
  expect(index.size).toBe(1000);
  expect(looked).toBeLessThan(10);
});
