/** Saves the draft before it is run or published: the hub uses the draft that it has stored. */
import { toProblem } from "../api/problem.ts";
import { toasts } from "../ui/toast.tsx";
import type { Autosave, SaveState } from "./autosave.ts";

/** If the draft cannot be saved, shows the reason and returns false. */
export async function saveFirst(
  autosave: Pick<Autosave, "flush" | "isDirty" | "state">,
): Promise<boolean> {
  await autosave.flush();
  if (!autosave.isDirty()) return true;
  toasts.add({
    aspect: "red",
    title: "The draft is not saved",
    detail: reasonOf(autosave.state()),
  });
  return false;
}

const reasonOf = (state: SaveState): string =>
  "error" in state
    ? toProblem(state.error).detail
    : "The message above the canvas asks how to continue.";
