import { useCallback, useEffect, useRef } from "react";
import { firstDelay, jitter } from "./jitter.ts";

/**
 * Returns a function that requests a call of `task`. The first call follows within 300 ms. After a call,
 * all requests of about the next `ms` lead to one more call.
 */
export function useThrottled(task: () => Promise<void>, ms: number): () => void {
  const latest = useRef(task);
  useEffect(() => {
    latest.current = task;
  });
  const state = useRef<{ timer?: ReturnType<typeof setTimeout>; isRequested: boolean }>({
    isRequested: false,
  });
  useEffect(() => () => clearTimeout(state.current.timer), []);
  return useCallback(() => {
    const runAfter = (delay: number) => {
      state.current.timer = setTimeout(() => {
        delete state.current.timer;
        if (!state.current.isRequested) return;
        state.current.isRequested = false;
        runAfter(jitter(ms));
        // Errors are ignored: the state of the live stream shows an outage, and the next request of a call
        // tries again.
        latest.current().catch(() => {});
      }, delay);
    };
    state.current.isRequested = true;
    if (state.current.timer === undefined) runAfter(firstDelay());
  }, [ms]);
}
