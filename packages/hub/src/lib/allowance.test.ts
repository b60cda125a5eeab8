import { expect, it } from "vitest";
import { createAllowance } from "./allowance.ts";

it("allows a burst, then the rate", () => {
  let now = 0;
  const { take } = createAllowance({ perSecond: 10, burst: 30 }, () => now);
  for (let at = 0; at < 30; at += 1) expect(take(1)).toBe(true);
  expect(take(1)).toBe(false);
  now = 100;
  expect(take(1)).toBe(true);
  expect(take(1)).toBe(false);
  now = 60_000;
  expect(take(31)).toBe(false);
  expect(take(30)).toBe(true);
});
