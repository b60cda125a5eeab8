import { useEffect, useRef, useSyncExternalStore } from "react";
import { createLive, type LiveMessage, type LiveSource } from "./live.ts";
import { chosenTenant } from "./tenant.ts";

const live = createLive({
  open: (url) => {
    const tenant = chosenTenant();
    const fullUrl = tenant === undefined ? url : `${url}&tenant=${encodeURIComponent(tenant)}`;
    return new EventSource(fullUrl) as unknown as LiveSource;
  },
  schedule: (task, ms) => {
    const timer = setTimeout(task, ms);
    return () => clearTimeout(timer);
  },
  isHidden: () => document.visibilityState === "hidden",
});
// Unit tests have no document.
globalThis.document?.addEventListener("visibilitychange", live.visibilityChanged);

export const useLiveState = () => useSyncExternalStore(live.watchState, live.state);

/**
 * Subscribes to `topic` while the component is mounted. `listener` gets every message of the tab's
 * stream, also those of other topics.
 */
export function useLive(topic: string | undefined, listener: (message: LiveMessage) => void): void {
  const latestListener = useRef(listener);
  useEffect(() => {
    latestListener.current = listener;
  });
  useEffect(() => {
    if (topic === undefined) return;
    return live.subscribe(topic, (message) => latestListener.current(message));
  }, [topic]);
}
