/** Which of the first steps are done. */
import type { Station } from "../ui/track.tsx";

const STEPS = ["send", "see", "make", "call"] as const;
export type Step = (typeof STEPS)[number];

export function pathOf(known: {
  events: number;
  hasSeen: boolean;
  flows: number;
  hasCalled: boolean;
}): {
  steps: { step: Step; state: Station["state"] }[];
  /** Undefined at the end of the path. */
  now: Step | undefined;
} {
  const isDone: Record<Step, boolean> = {
    send: known.events > 0,
    see: known.hasSeen && known.events > 0,
    make: known.flows > 0,
    call: known.hasCalled,
  };
  const now = STEPS.find((step) => !isDone[step]);
  return {
    steps: STEPS.map((step) => ({
      step,
      state: isDone[step] ? "done" : step === now ? "now" : "next",
    })),
    now,
  };
}
