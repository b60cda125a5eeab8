import { describe, expect, it } from "vitest";
import { type ClientLists, type ListMethod, settlesAt } from "./settles-at.ts";

const settled = (change: Partial<ClientLists>) =>
  settlesAt({
    initializedAt: 100_000,
    inFlight: 0,
    complete: new Set(),
    lastResponseAt: Number.NEGATIVE_INFINITY,
    ...change,
  }) - 100_000;

const all = new Set<ListMethod>(["tools/list", "prompts/list", "resources/list"]);

describe("settlesAt", () => {
  it("is one second after the last response if all lists are complete", () => {
    expect(settled({ complete: all, lastResponseAt: 100_200 })).toBe(1_200);
    expect(settled({ complete: all, lastResponseAt: 107_000 })).toBe(8_000);
  });

  it("is five seconds after `initialized` if the client requests no list", () => {
    expect(settled({})).toBe(5_000);
  });

  it("is five seconds after the last response if the client requests not all lists", () => {
    const complete = new Set<ListMethod>(["tools/list"]);
    expect(settled({ complete, lastResponseAt: 100_200 })).toBe(5_200);
    expect(settled({ complete, lastResponseAt: 104_900 })).toBe(9_900);
    expect(settled({ complete, lastResponseAt: 159_000 })).toBe(60_000);
  });

  it("waits for a list in flight, but no longer than a client does", () => {
    expect(settled({ inFlight: 1 })).toBe(60_000);
    expect(settled({ inFlight: 1, complete: all, lastResponseAt: 100_200 })).toBe(60_000);
  });

  it("is never before `initialized`", () => {
    expect(settled({ complete: all, lastResponseAt: 90_000 })).toBe(0);
  });
});
