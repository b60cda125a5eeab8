import { expect, test } from "vitest";
import { findTripped } from "./find-tripped.ts";

test("warns of each trigger of the draft that was stopped, with the time and the cause", () => {
  const node = {
    id: "n1",
    type: "Event",
    name: "On rain",
    slug: "on_rain",
    position: { x: 0, y: 0 },
    parameters: {},
  };
  const trip = { at: Date.UTC(2026, 0, 1, 12, 3, 59), limit: "loops", max: 30 } as const;
  const tripped = [
    { ...trip, node_id: "n1" },
    { ...trip, node_id: "deleted" },
  ];
  expect(findTripped({ nodes: [node] }, tripped)).toEqual([
    {
      code: "breaker_tripped",
      nodeId: "n1",
      message: expect.stringMatching(
        /^Trigger 'On rain' was stopped at 12:03 UTC: the trigger fired on its own flow's events more than 30 times a minute\./,
      ),
    },
  ]);
});
