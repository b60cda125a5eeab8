/** The keys of the canvas that need Ctrl or ⌘, and the clipboard. Single keys: see the editor. */
import { useEffect, useRef } from "react";

export interface CanvasKeys {
  onUndo: () => void;
  onRedo: () => void;
  onSelectAll: () => void;
  onFind: () => void;
  /** The text for the clipboard; undefined if nothing is selected. */
  onCopy: () => string | undefined;
  onCut: () => void;
  /** Whether the text was nodes. */
  onPaste: (text: string) => boolean;
}

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
      const act =
        key === "z"
          ? event.shiftKey
            ? onRedo
            : onUndo
          : { y: onRedo, a: onSelectAll, f: onFind }[key];
      if (!act) return;
      event.preventDefault();
      act();
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
