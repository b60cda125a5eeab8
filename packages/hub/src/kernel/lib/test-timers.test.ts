import { expect, it } from "vitest";
import { createTestTimers } from "./test-timers.ts";

it("runs timers in order of time, and timers of the same time in order of creation", () => {
  const timers = createTestTimers(1_000);
  const ran: string[] = [];
  const run = (name: string) => () => void ran.push(`${name}@${timers.now()}`);
  timers.after(20, run("c"));
  timers.after(10, run("a"));
  timers.after(10, run("b"));
  timers.defer(run("deferred"));
  timers.advance(9);
  expect(ran).toEqual(["deferred@1000"]);
  timers.advance(100);
  expect(ran.slice(1)).toEqual(["a@1010", "b@1010", "c@1020"]);
  expect(timers.now()).toBe(1_109);
});

it("runs a timer that another timer creates within the same advance", () => {
  const timers = createTestTimers();
  const ran: number[] = [];
  timers.after(5, () => void timers.after(5, () => void ran.push(timers.now())));
  timers.advance(10);
  expect(ran).toEqual([10]);
});

it("does not run a cancelled timer", () => {
  const timers = createTestTimers();
  const ran: string[] = [];
  const cancel = timers.after(5, () => void ran.push("cancelled"));
  expect(timers.pending()).toBe(1);
  cancel();
  timers.advance(10);
  expect([ran, timers.pending()]).toEqual([[], 0]);
});
