/** Determines which of the first steps are done, and which is the current one. */
import type { Station } from "../ui/track.tsx";

const STEPS = ["send", "see", "make", "call"] as const;
export type Step = (typeof STEPS)[number];

export function guidedPathOf(progress: {
  events: number;
  hasSeenEvent: boolean;
  flows: number;
  hasToolCall: boolean;
}): {
  steps: { step: Step; state: Station["state"] }[];
  /** The first step that is not done; undefined if all are done. */
  current: Step | undefined;
} {
  const isDone: Record<Step, boolean> = {
    send: progress.events > 0,
    see: progress.hasSeenEvent && progress.events > 0,
    make: progress.flows > 0,
    call: progress.hasToolCall,
  };
  const current = STEPS.find((step) => !isDone[step]);
  return {
    steps: STEPS.map((step) => ({
      step,
      state: isDone[step] ? "done" : step === current ? "now" : "next",
    })),
    current,
  };
}
