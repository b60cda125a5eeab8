import { useCallback, useEffect, useRef } from "react";
import { spread } from "./spread.ts";

/** Calls `task` now, and again about once in `ms` while it is asked for. */
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
    const run = () => {
      state.current.isWanted = false;
      state.current.timer = setTimeout(() => {
        delete state.current.timer;
        if (state.current.isWanted) run();
      }, spread(ms));
      // A failure shows in the live state of the hub; the next message tries again.
      latest.current().catch(() => {});
    };
    if (state.current.timer === undefined) run();
    else state.current.isWanted = true;
  }, [ms]);
}
