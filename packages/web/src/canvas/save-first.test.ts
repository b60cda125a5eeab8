import { expect, test } from "vitest";
import { toasts } from "../ui/toast.tsx";
import type { SaveState } from "./autosave.ts";
import { saveFirst } from "./save-first.ts";

const saveFirstIn = (state: SaveState, isDirty: boolean) =>
  saveFirst({ flush: async () => {}, isDirty: () => isDirty, state: () => state });
const shownToasts = () => toasts.list().map(({ title, detail }) => `${title}: ${detail}`);

test("returns true if the draft is saved", async () => {
  expect(await saveFirstIn({ is: "saved" }, false)).toBe(true);
  expect(shownToasts()).toEqual([]);
});

test("returns false and shows why the draft is not saved, with the message of the hub if there is one", async () => {
  expect(await saveFirstIn({ is: "rejected", error: new Error("name: is odd") }, true)).toBe(false);
  expect(await saveFirstIn({ is: "emptied" }, true)).toBe(false);
  expect(shownToasts()).toEqual([
    "The draft is not saved: name: is odd",
    "The draft is not saved: The message above the canvas asks how to continue.",
  ]);
});
