/** Keyboard shortcuts that work on every page. A page adds its own with `useKeys`. */
import { useEffect, useRef } from "react";
import { CONNECT_PAGE, NAV_PAGES } from "./pages.tsx";

/** Whether the key is not a shortcut: text input, or a key for the browser, a menu or a dialog. */
const isNotShortcut = (event: KeyboardEvent): boolean =>
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

/** Keys that move or zoom repeat while they are held. Other handlers run once per key press. */
const REPEATABLE = new Set(["j", "k", "+", "-"]);

/** `keys` maps the name of a key, in lower case, to its handler. Keys in text fields, menus and dialogs are ignored. */
export function useKeys(keys: Record<string, (event: KeyboardEvent) => void>): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isNotShortcut(event)) return;
      const key = event.key.toLowerCase();
      const handler = latest.current[key];
      if (!handler) return;
      event.preventDefault();
      if (!event.repeat || REPEATABLE.has(key)) handler(event);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}

/** The time after `g` within which the second key must follow. */
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
  const gPressedAt = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey)) {
        event.preventDefault();
        onPalette();
        return;
      }
      if (isNotShortcut(event)) return;
      if (event.key === "?") onHelp();
      else if (event.key === "g") gPressedAt.current = event.timeStamp;
      else if (event.timeStamp - gPressedAt.current < SEQUENCE_MS) {
        gPressedAt.current = Number.NEGATIVE_INFINITY;
        const page = [...NAV_PAGES, CONNECT_PAGE].find(({ key }) => key === event.key);
        if (!page) return;
        event.preventDefault();
        event.stopImmediatePropagation();
        onGo(page.path);
      }
    };
    // Runs before the shortcuts of the page, so that `g r` does not replay an event.
    window.addEventListener("keydown", onKey, { capture: true });
    return () => window.removeEventListener("keydown", onKey, { capture: true });
  }, [onPalette, onHelp, onGo]);
}
