import { expect, test } from "vitest";
import { tripMessage } from "./breaker.ts";

test.each([
  ["chain", 5, /more than 5 runs .* raise SIGNALBOX_MAX_CHAIN/],
  ["loops", 30, /more than 30 times a minute.* raise SIGNALBOX_MAX_LOOPS/],
  ["loops", 0, /may not fire on its own flow's events.* raise SIGNALBOX_MAX_LOOPS/],
] as const)(
  "tripMessage states the cause and the fix for the limit %s of %i",
  (limit, max, message) => {
    expect(tripMessage({ limit, max })).toMatch(message);
  },
);
