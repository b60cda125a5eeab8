import { expect, it } from "vitest";
import { createAllowance } from "./limit-socket.ts";

it("allows a burst, then only what the rate refills", () => {
  let now = 0;
  const { take } = createAllowance({ perSecond: 10, burst: 30 }, () => now);
  for (let taken = 0; taken < 30; taken += 1) expect(take(1)).toBe(true);
  expect(take(1)).toBe(false);
  now = 100;
  expect(take(1)).toBe(true);
  expect(take(1)).toBe(false);
  now = 60_000;
  expect(take(31)).toBe(false);
  expect(take(30)).toBe(true);
});
