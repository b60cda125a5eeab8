import { expect, it } from "vitest";
import { parseViews } from "./saved-views.ts";

it("parses stored views, and ignores all other values", () => {
  const view = { name: "Failed builds", search: "?view=failed" };
  expect(parseViews(JSON.stringify([view, { name: 1 }, null, "x"]))).toEqual([view]);
  expect(["{", "{}", "null", '"x"'].map(parseViews)).toEqual([[], [], [], []]);
});
