import { expect, it } from "vitest";
import { createBackoff } from "./backoff.ts";

it("doubles up to the maximum with up to 50 % jitter, and starts over after a reset", () => {
  let random = 1;
  const backoff = createBackoff({ firstMs: 100, maxMs: 1_000, random: () => random });
  expect(Array.from({ length: 6 }, backoff.next)).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  random = 0;
  expect(backoff.next()).toBe(500);
  backoff.reset();
  expect(backoff.next()).toBe(50);
});
