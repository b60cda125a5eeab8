import { expect, it } from "vitest";
import {
  describeBasis,
  type PreviewedEvent,
  previewSentence,
  sortPreview,
} from "./preview-list.ts";

const reason = (on: string, holds: boolean) => ({ on, holds, message: on });
const event = (id: string, ...reasons: ReturnType<typeof reason>[]) =>
  ({
    event: { id },
    matched: reasons.every(({ holds }) => holds),
    reason: "",
    reasons,
  }) as unknown as PreviewedEvent;

it("sorts near misses by the number of failed conditions", () => {
  const { matches, nearMisses } = sortPreview([
    event("two", reason("type", true), reason("param", false), reason("param", false)),
    event("other type", reason("type", false)),
    event("hit", reason("type", true), reason("param", true)),
    event("one", reason("param", false)),
    event("one, older", reason("filter", false)),
  ]);
  expect(matches.map(({ event }) => event.id)).toEqual(["hit"]);
  expect(nearMisses.map(({ event }) => event.id)).toEqual(["one", "one, older", "two"]);
});

it.each([
  [0, 0, "There are no events to compare with yet"],
  [1, 1, "1 of your last 1 event would have matched"],
  [0, 13, "0 of your last 13 events would have matched"],
  [42, 100, "42 of your last 100 events would have matched"],
])("describes %i matches among %i events", (matched, of, text) =>
  expect(previewSentence({ matched, of })).toBe(text),
);

it.each([
  ["type", "push", "The newest events from My $& repository of type push"],
  [
    "source",
    "push",
    "The newest events from My $& repository; none of the recent ones has the type push",
  ],
  ["source", null, "The newest events from My $& repository"],
  ["none", "push", "No recent event is from My $& repository"],
] as const)("describes the compared events: %s, %s", (found, type, text) =>
  expect(describeBasis({ source: "s-1", type, found }, "My $& repository")).toBe(text),
);
