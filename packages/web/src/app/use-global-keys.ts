/** Keys that work on every page. A page adds its own with `useKeys`. */
import { useEffect, useRef } from "react";
import { CONNECT_PAGE, NAV_PAGES } from "./pages.tsx";

/** Whether the key belongs to what is typed, or to a menu or dialog that is open. */
const isTaken = (event: KeyboardEvent): boolean =>
  event.defaultPrevented ||
  event.ctrlKey ||
  event.metaKey ||
  event.altKey ||
  !(event.target instanceof Element) ||
  event.target.closest(
    "input, textarea, select, [contenteditable], [role=menu], [role=dialog], .cm-editor",
  ) !== null ||
  document.querySelector("[role=dialog]") !== null;

/** Calls the handler of a single key, by its name in lower case, unless the key is typed somewhere. */
export function useKeys(keys: Record<string, (event: KeyboardEvent) => void>): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isTaken(event)) return;
      const handler = latest.current[event.key.toLowerCase()];
      if (!handler) return;
      event.preventDefault();
      handler(event);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}

/** How long after `g` the second key counts. */
const SEQUENCE_MS = 1_500;

export function useGlobalKeys({
  onPalette,
  onHelp,
  onGo,
}: {
  onPalette: () => void;
  onHelp: () => void;
  onGo: (path: string) => void;
}): void {
  const wentAt = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey)) {
        event.preventDefault();
        onPalette();
        return;
      }
      if (isTaken(event)) return;
      if (event.key === "?") onHelp();
      else if (event.key === "g") wentAt.current = event.timeStamp;
      else if (event.timeStamp - wentAt.current < SEQUENCE_MS) {
        wentAt.current = Number.NEGATIVE_INFINITY;
        const page = [...NAV_PAGES, CONNECT_PAGE].find(({ key }) => key === event.key);
        if (!page) return;
        event.preventDefault();
        event.stopImmediatePropagation();
        onGo(page.path);
      }
    };
    // Before the keys of the page, so that `g r` does not replay an event.
    window.addEventListener("keydown", onKey, { capture: true });
    return () => window.removeEventListener("keydown", onKey, { capture: true });
  }, [onPalette, onHelp, onGo]);
}
