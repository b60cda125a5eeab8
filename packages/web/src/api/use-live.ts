import { useEffect, useRef, useSyncExternalStore } from "react";
import { createLive, type LiveMessage, type LiveSource } from "./live.ts";
import { chosenTenant } from "./tenant.ts";

const live = createLive({
  open: (url) => {
    const tenant = chosenTenant();
    const full = tenant === undefined ? url : `${url}&tenant=${encodeURIComponent(tenant)}`;
    return new EventSource(full) as unknown as LiveSource;
  },
  schedule: (task, ms) => {
    const timer = setTimeout(task, ms);
    return () => clearTimeout(timer);
  },
  isHidden: () => document.visibilityState === "hidden",
});
// Unit tests have no document.
globalThis.document?.addEventListener("visibilitychange", live.visibilityChanged);

export const useLiveState = () => useSyncExternalStore(live.watch, live.state);

/** Calls `listener` for every message of the tab's stream while the component is mounted. */
export function useLive(topic: string | undefined, listener: (message: LiveMessage) => void): void {
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(() => {
    if (topic === undefined) return;
    return live.subscribe(topic, (message) => latest.current(message));
  }, [topic]);
}
