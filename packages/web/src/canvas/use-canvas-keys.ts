/** Shortcuts of the canvas with Ctrl or ⌘, and its clipboard events. editor.tsx defines the single keys. */
import { useEffect, useRef } from "react";

export interface CanvasKeys {
  onUndo: () => void;
  onRedo: () => void;
  onSelectAll: () => void;
  onFind: () => void;
  /** Returns the text for the clipboard; undefined if no node is selected. */
  onCopy: () => string | undefined;
  onCut: () => void;
  /** Returns whether the text contained nodes. */
  onPaste: (text: string) => boolean;
}

/** Whether the event belongs to a text field, or a dialog is open. */
const isElsewhere = (target: EventTarget | null): boolean =>
  (target instanceof Element &&
    target.closest("input, textarea, select, [contenteditable], .cm-editor") !== null) ||
  document.querySelector("[role=dialog]") !== null;

export function useCanvasKeys(keys: CanvasKeys): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || isElsewhere(event.target)) return;
      const { onUndo, onRedo, onSelectAll, onFind } = latest.current;
      const key = event.key.toLowerCase();
      const handler =
        key === "z"
          ? event.shiftKey
            ? onRedo
            : onUndo
          : { y: onRedo, a: onSelectAll, f: onFind }[key];
      if (!handler) return;
      event.preventDefault();
      handler();
    };
    const onCopy = (event: ClipboardEvent) => {
      if (isElsewhere(event.target) || document.getSelection()?.toString()) return;
      const text = latest.current.onCopy();
      if (text === undefined) return;
      event.clipboardData?.setData("text/plain", text);
      event.preventDefault();
      if (event.type === "cut") latest.current.onCut();
    };
    const onPaste = (event: ClipboardEvent) => {
      if (isElsewhere(event.target)) return;
      if (latest.current.onPaste(event.clipboardData?.getData("text/plain") ?? ""))
        event.preventDefault();
    };
    window.addEventListener("keydown", onKey);
    document.addEventListener("copy", onCopy);
    document.addEventListener("cut", onCopy);
    document.addEventListener("paste", onPaste);
    return () => {
      window.removeEventListener("keydown", onKey);
      document.removeEventListener("copy", onCopy);
      document.removeEventListener("cut", onCopy);
      document.removeEventListener("paste", onPaste);
    };
  }, []);
}
