import { useCallback, useEffect, useRef } from "react";
import { soon, spread } from "./spread.ts";

/** Calls `task` shortly after it is asked for, and again about once in `ms` while it is. */
export function useThrottled(task: () => Promise<void>, ms: number): () => void {
  const latest = useRef(task);
  useEffect(() => {
    latest.current = task;
  });
  const state = useRef<{ timer?: ReturnType<typeof setTimeout>; isWanted: boolean }>({
    isWanted: false,
  });
  useEffect(() => () => clearTimeout(state.current.timer), []);
  return useCallback(() => {
    const runAfter = (delay: number) => {
      state.current.timer = setTimeout(() => {
        delete state.current.timer;
        if (!state.current.isWanted) return;
        state.current.isWanted = false;
        runAfter(spread(ms));
        // A failure shows in the live state of the hub; the next message tries again.
        latest.current().catch(() => {});
      }, delay);
    };
    state.current.isWanted = true;
    if (state.current.timer === undefined) runAfter(soon());
  }, [ms]);
}
