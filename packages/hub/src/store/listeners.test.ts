import { afterEach, expect, test, vi } from "vitest";
import { createListeners } from "./listeners.ts";
import type { Notice } from "./sql.ts";

const notice: Notice = { topic: "events", tenant: "acme", seq: 1 };

afterEach(() => {
  vi.unstubAllGlobals();
});

test("a listener hears until it has heard enough", () => {
  const { subscribe, tell } = createListeners();
  const heard: Notice[] = [];
  const stop = subscribe((one) => heard.push(one));
  tell([notice, { topic: "gap" }]);
  stop();
  stop();
  tell([notice]);
  expect(heard).toEqual([notice, { topic: "gap" }]);
});

test("one that throws does not keep the others from hearing, and its error is not lost", () => {
  const later: (() => void)[] = [];
  vi.stubGlobal("queueMicrotask", (work: () => void) => later.push(work));
  const { subscribe, tell } = createListeners();
  const heard: Notice[] = [];
  subscribe(() => {
    throw new Error("deaf");
  });
  subscribe((one) => heard.push(one));
  tell([notice]);
  expect(heard).toEqual([notice]);
  expect(later).toHaveLength(1);
  expect(() => later[0]?.()).toThrow("deaf");
});
