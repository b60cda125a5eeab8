import { afterEach, expect, test, vi } from "vitest";
import { createListeners } from "./engine.ts";
import type { Notice } from "./sql.ts";

const notice: Notice = { topic: "events", tenant: "acme", seq: 1 };

afterEach(() => {
  vi.unstubAllGlobals();
});

test("notifies a listener until it unsubscribes", () => {
  const { subscribe, notify } = createListeners();
  const received: Notice[] = [];
  const stop = subscribe((one) => received.push(one));
  notify([notice, { topic: "gap" }]);
  stop();
  stop();
  notify([notice]);
  expect(received).toEqual([notice, { topic: "gap" }]);
});

test("notifies a listener only of its topics", () => {
  const { subscribe, notify } = createListeners();
  const received: Notice[] = [];
  subscribe((one) => received.push(one), ["gap", "tenant_deleted"]);
  notify([notice, { topic: "gap" }]);
  expect(received).toEqual([{ topic: "gap" }]);
});

test("notifies the other listeners if one throws, and rethrows its error later", () => {
  const microtasks: (() => void)[] = [];
  vi.stubGlobal("queueMicrotask", (work: () => void) => microtasks.push(work));
  const { subscribe, notify } = createListeners();
  const received: Notice[] = [];
  subscribe(() => {
    throw new Error("broken listener");
  });
  subscribe((one) => received.push(one));
  notify([notice]);
  expect(received).toEqual([notice]);
  expect(microtasks).toHaveLength(1);
  expect(() => microtasks[0]?.()).toThrow("broken listener");
});
