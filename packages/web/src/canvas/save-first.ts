/** Runs and publications use the draft of the hub, so it is saved before. */
import { toProblem } from "../api/problem.ts";
import { toasts } from "../ui/toast.tsx";
import type { Autosave, SaveState } from "./autosave.ts";

/** Returns false, and shows why, if the draft cannot be saved. */
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
