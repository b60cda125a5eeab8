import { expect, test } from "vitest";
import { toasts } from "../ui/toast.tsx";
import type { SaveState } from "./autosave.ts";
import { saveFirst } from "./save-first.ts";

const after = (state: SaveState, isDirty: boolean) =>
  saveFirst({ flush: async () => {}, isDirty: () => isDirty, state: () => state });
const shown = () => toasts.list().map(({ title, detail }) => `${title}: ${detail}`);

test("goes on once the draft is saved", async () => {
  expect(await after({ is: "saved" }, false)).toBe(true);
  expect(shown()).toEqual([]);
});

test("shows why the draft is not saved, in the hub's words if it has some", async () => {
  expect(await after({ is: "rejected", error: new Error("name: is odd") }, true)).toBe(false);
  expect(await after({ is: "emptied" }, true)).toBe(false);
  expect(shown()).toEqual([
    "The draft is not saved: name: is odd",
    "The draft is not saved: The message above the canvas asks how to continue.",
  ]);
});
