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
  // Enter presses the button, or follows the link, that has the focus.
  (event.key === "Enter" && event.target.closest("a, button, summary") !== null) ||
  document.querySelector("[role=dialog]") !== null;

/** Moving and zooming go on while the key is held; an action is done once. */
const REPEATED = new Set(["j", "k", "+", "-"]);

/** Calls the handler of a single key, by its name in lower case, unless the key is typed somewhere. */
export function useKeys(keys: Record<string, (event: KeyboardEvent) => void>): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isTaken(event)) return;
      const key = event.key.toLowerCase();
      const handler = latest.current[key];
      if (!handler) return;
      event.preventDefault();
      if (!event.repeat || REPEATED.has(key)) handler(event);
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
